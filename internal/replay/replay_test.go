package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/examples/events/jobstate"
	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/live/livetest"
	"github.com/fsmgen/fsmgen/internal/replay"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/spec"
)

func parse(t testing.TB, name, text string) *spec.Machine {
	t.Helper()
	m, found := spec.Parse(name, []byte(text))
	if found.HasErrors() {
		t.Fatal(found)
	}
	return m
}

func machine(t testing.TB, name string) *spec.Machine {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "specs", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, name+".yaml", string(text))
}

// check returns what is wrong with the lines, one text each.
func check(t testing.TB, m *spec.Machine, lines ...string) []string {
	t.Helper()
	var found []string
	if _, err := replay.Check(m, strings.NewReader(strings.Join(lines, "\n")), func(f replay.Finding) {
		found = append(found, fmt.Sprintf("%d %s %s: %s", f.Line, f.ID, f.Rule, f.Message))
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

// TestWhatProgramsWrote finds nothing in the logs that generated packages wrote, in
// any of the forms that encoders give them.
func TestWhatProgramsWrote(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fill func(context.Context, fsm.Store) error
		log  func(context.Context, fsm.Store) ([]fsm.Entry, error)
	}{
		"lifecycle": {livetest.Jobs, func(ctx context.Context, s fsm.Store) ([]fsm.Entry, error) {
			m, err := lifecycle.Open(ctx, s)
			if err != nil {
				return nil, err
			}
			return collect(m.Log(ctx, ""))
		}},
		"jobstate": {livetest.Plans, func(ctx context.Context, s fsm.Store) ([]fsm.Entry, error) {
			m, err := jobstate.Open(ctx, s)
			if err != nil {
				return nil, err
			}
			return collect(m.Log(ctx, ""))
		}},
	} {
		store := memstore.New()
		if err := c.fill(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		entries, err := c.log(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) < 8 {
			t.Fatalf("%s: a log of %d events", name, len(entries))
		}
		var exact, html, bare bytes.Buffer
		for _, e := range entries {
			enc := json.NewEncoder(&exact)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(e); err != nil { // with its cursor
				t.Fatal(err)
			}
			if err := json.NewEncoder(&html).Encode(e.Event); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&bare, "{\"id\":%q,\"rev\":%d,\"n\":%d,\"operation\":%q,\"from\":%q,\"to\":%q,\"at\":%q}\n\n",
				e.ID, e.Rev, e.N, e.Operation, e.From, e.To, e.At.Format("2006-01-02T15:04:05Z07:00"))
		}
		for form, text := range map[string]string{"exact": exact.String(), "html": html.String(), "bare": bare.String()} {
			result, err := replay.Check(machine(t, name), strings.NewReader(text), func(f replay.Finding) {
				if form != "html" || !strings.HasSuffix(f.Message, `rewritten < as \u003c`) {
					t.Errorf("%s, %s: %+v", name, form, f)
				}
			})
			if err != nil || result.Events != int64(len(entries)) || result.Older != 0 {
				t.Errorf("%s, %s: %+v, %v", name, form, result, err)
			}
		}
	}
}

func collect(list func(func(fsm.Entry, error) bool)) ([]fsm.Entry, error) {
	var all []fsm.Entry
	for e, err := range list {
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

const desk = `fsm: 1
machine: desk
entity: Ticket
otherwise: reject
fields:
  queue: string
  number: {type: sequence, per: queue}
  seat: optional string
  kind: easy|hard
  tries: counter
states:
  waiting: {absent: [seat]}
  served: {present: [seat]}
  checked: {present: [seat]}
  gone: {terminal: true}
guards:
  room: {fewer: {than: 2, same: queue, in: [served, checked]}, error: full}
  mine: {when: seat == actor, error: not_yours}
unique:
  one_seat: {fields: [seat], in: [served, checked], error: seat_taken}
operations:
  draw: {creates: waiting, set: {queue: input, kind: input}}
  serve: {from: waiting, to: served, require: [room], set: {seat: actor}, increment: [tries], then: inspect}
  inspect: {by: system, from: served, to: checked}
  back: {from: checked, to: waiting, require: [mine], on_refusal: record_only, clear: [seat]}
  leave: {from: [waiting, checked], to: gone, choose: []}
`

// TestFindings breaks one rule at a time.
func TestFindings(t *testing.T) {
	t.Parallel()
	m := parse(t, "desk.yaml", strings.Replace(desk, ", choose: []", "", 1))
	draw := func(id, queue string, number int) string {
		return fmt.Sprintf(`{"id":%q,"rev":1,"operation":"draw","to":"waiting","at":"2026-01-01T00:00:00Z","inputs":{"queue":%q,"kind":"easy"},"changes":{"queue":%q,"number":%d,"kind":"easy"}}`, id, queue, queue, number)
	}
	serve := func(id, seat string) string {
		return fmt.Sprintf(`{"id":%q,"rev":2,"operation":"serve","from":"waiting","to":"served","at":"2026-01-01T00:01:00Z","actor":%q,"inputs":{},"changes":{"seat":%q,"tries":1}}`, id, seat, seat)
	}
	inspect := func(id string) string {
		return fmt.Sprintf(`{"id":%q,"rev":3,"operation":"inspect","from":"served","to":"checked","at":"2026-01-01T00:01:00Z","actor":"system","cause":"serve","inputs":{},"changes":{}}`, id)
	}
	with := func(line, old, next string) string {
		if !strings.Contains(line, old) {
			t.Fatalf("%s lacks %s", line, old)
		}
		return strings.Replace(line, old, next, 1)
	}
	back := `{"id":"a","rev":4,"operation":"back","from":"checked","to":"waiting","at":"2026-01-01T00:02:00Z","actor":"s1","inputs":{},"changes":{"seat":null}}`
	noted := `{"id":"a","rev":3,"n":1,"operation":"back","from":"checked","to":"checked","at":"2026-01-01T00:02:00Z","actor":"s2","inputs":{},"guard":"mine","changes":{}}`
	a := []string{draw("a", "q", 1), serve("a", "s1"), inspect("a")}
	erased := `{"id":"a","rev":4,"operation":"__redact","from":"checked","to":"checked","at":"2026-01-01T00:02:00Z","actor":"root","reason":"asked","inputs":{"fields":["seat"]},"changes":{"seat":null}}`
	imp := `{"id":"a","rev":1,"operation":"__import","to":"checked","at":"2026-01-01T00:00:00Z","actor":"ann","reason":"moves in","inputs":{},"changes":{"queue":"q","number":7,"seat":"s1","kind":"easy","tries":4},"image":{"created_at":"2025-01-01T00:00:00Z","updated_at":"2025-02-01T00:00:00Z"}}`
	for _, c := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"an import", []string{imp, with(back, `"rev":4`, `"rev":2`), draw("b", "q", 8)}, nil},
		{"an import that breaks a rule", []string{with(imp, `"seat":"s1",`, "")}, []string{"1 a rule: the record breaks a rule of checked: seat is present"}},
		{"an import into no state", []string{with(imp, `"checked"`, `"chcked"`)}, []string{`1 a word: no state is stored as "chcked"; did you mean "checked"?`}},
		{"an import of a record that is there", []string{draw("a", "q", 1), with(with(imp, `"rev":1`, `"rev":2`), `"to"`, `"from":"waiting","to"`)}, []string{"2 a edge: a record is imported once, at revision 1; this is revision 2"}},
		{"an import without its times", []string{with(imp, `"created_at":"2025-01-01T00:00:00Z",`, "")}, []string{`1 a json: the image of an import tells created_at and updated_at; this one is {"updated_at":"2025-02-01T00:00:00Z"}`}},
		{"an import of a seat that is taken", append(a[:3:3], with(imp, `"a"`, `"b"`)), []string{`4 b unique: the unique rule one_seat allows one record, and "a" has the same values since line 3`}},
		{"nothing", append(a[:3:3], noted, back), nil},
		{"another number", []string{draw("a", "q", 1), draw("b", "q", 3), draw("c", "p", 1)}, []string{"2 b decision: the event leaves number 3, the machine 2"}},
		{"a gap", []string{a[0], with(serve("a", "s1"), `"rev":2`, `"rev":3`)}, []string{"2 a revision: revision 3 follows 1; expected 2", "2 a then: serve is followed by inspect in the same transaction; the log ends without it"}},
		{"no creation", []string{serve("a", "s1"), inspect("a")}, []string{"1 a revision: revision 2 follows 0; expected 1"}},
		{"another state before", []string{a[0], with(with(inspect("a"), `"rev":3`, `"rev":2`), `,"cause":"serve"`, "")}, []string{`2 a chain: it starts in state "served", the step before it ended in "waiting"`}},
		{"a step that there is not", []string{a[0], with(serve("a", "s1"), `"to":"served"`, `"to":"gone"`), ""}, []string{
			`2 a edge: operation serve makes no move from "waiting" to "gone"; from there it leads to served`,
			"2 a then: serve is followed by inspect in the same transaction; the log ends without it"}},
		{"two creations", []string{a[0], with(a[0], `"rev":1`, `"rev":2`)}, []string{`2 a chain: it starts in state "", the step before it ended in "waiting"`}},
		{"not recorded there", append(a[:3:3], with(with(noted, `"operation":"back"`, `"operation":"leave"`), `,"guard":"mine"`, "")), []string{`4 a edge: operation leave is never recorded only in state "checked"`}},
		{"recorded though it is right", append(a[:3:3], with(noted, `"s2"`, `"s1"`)), []string{"4 a decision: it was recorded only, but the machine moves the record to waiting"}},
		{"recorded for another guard", append(a[:3:3], with(noted, `"guard":"mine"`, `"guard":"room"`)), []string{`4 a decision: the event says that the guard "room" failed, the machine says "mine"`}},
		{"recorded twice under one number", append(a[:3:3], noted, noted), []string{"5 a number: record-only event 3.1 follows 3.1; expected 3.2"}},
		{"moved though it is only recorded", append(a[:3:3], with(back, `"s1"`, `"s2"`)), []string{"4 a decision: the machine records the call only, since the guard mine does not hold"}},
		{"a guard across records", []string{draw("a", "q", 1), serve("a", "s1"), inspect("a"), draw("b", "q", 2), serve("b", "s2"), inspect("b"), draw("c", "q", 3), serve("c", "s3"), inspect("c")},
			[]string{"8 c decision: the machine refuses the call: the guard room does not hold"}},
		{"a seat taken twice", []string{draw("a", "q", 1), serve("a", "s1"), inspect("a"), draw("b", "p", 1), serve("b", "s1")},
			[]string{`5 b unique: the unique rule one_seat allows one record, and "a" has the same values since line 3`, "5 b then: serve is followed by inspect in the same transaction; the log ends without it"}},
		{"without what follows", []string{a[0], a[1], `{"id":"a","rev":3,"operation":"leave","from":"served","to":"gone","at":"2026-01-01T00:03:00Z"}`}, []string{
			`3 a then: serve of line 2 is followed by inspect in the same transaction, but this is "leave"`}},
		{"the end without what follows", a[:2], []string{"2 a then: serve is followed by inspect in the same transaction; the log ends without it"}},
		{"a cause that was not", append(a[:3:3], with(back, `"inputs"`, `"cause":"serve","inputs"`)), []string{`4 a then: its cause is "serve", which is not the step before it`}},
		{"somebody instead of the system", []string{a[0], a[1], with(a[2], `"system"`, `"eve"`)}, []string{`3 a decision: operation inspect is the system's, but the event names "eve"`}},
		{"a field that it leaves alone", []string{a[0], with(with(a[1], `"tries":1`, `"tries":1,"kind":"hard"`), "", ""), a[2]}, []string{"2 a decision: the event leaves kind hard, the machine easy"}},
		{"no inputs, but a rule", []string{with(a[0], `"inputs":{"queue":"q","kind":"easy"},`, ""), with(with(a[1], `"inputs":{},`, ""), `"seat":"s1",`, "")}, []string{
			"2 a decision: the event leaves seat absent, the machine \"s1\"", "2 a then: serve is followed by inspect in the same transaction; the log ends without it"}},
		{"no changes", []string{`{"id":"a","rev":1,"operation":"draw","to":"waiting","at":"2026-01-01T00:00:00Z"}`, with(with(a[1], `"inputs":{},`, ""), `"changes":{"seat":"s1","tries":1}`, `"reason":"r"`), a[2]}, nil},
		{"unknown words", []string{with(a[0], `"draw"`, `"drow"`), with(draw("b", "q", 1), `"to":"waiting"`, `"to":"wating"`)}, []string{
			`1 a word: no operation is stored as "drow"; did you mean "draw"?`, `2 b word: no state is stored as "wating"; did you mean "waiting"?`}},
		{"an unknown input", []string{with(a[0], `"inputs":{`, `"inputs":{"queu":"x",`)}, []string{`1 a word: operation draw has no input "queu"; did you mean "queue"?`}},
		{"an unknown field", []string{with(a[0], `"changes":{`, `"changes":{"sea":"x",`)}, []string{`1 a word: no field is stored as "sea"; did you mean "seat"?`}},
		{"a value of another type", []string{with(a[0], `"number":1`, `"number":"1"`)}, []string{`1 a json: changes: number: "1" is not a value of its type`}},
		{"an unknown word of an enum", []string{with(a[0], `"kind":"easy"}}`, `"kind":"mild"}}`)}, []string{`1 a json: changes: kind: no word is stored as "mild"`}},
		{"a later version", []string{with(a[0], `"id"`, `"version":2,"id"`)}, []string{"1 a version: the event was written under version 2 of the specification, this is version 1; name the later one"}},
		{"another event name", []string{with(a[0], `"id"`, `"name":"drawn","id"`)}, []string{`1 a word: operation draw is logged as "draw", this event says "drawn"`}},
		{"a wrong checksum", []string{with(a[0], `"id"`, `"sum":7,"id"`)}, []string{"1 a checksum: the event's checksum is SUM, but the event says 7"}},
		{"a wrong chain", []string{with(a[0], `"id"`, `"chain":7,"id"`)}, []string{"1 a history: the chain of checksums is 0 here, but the event says 7: an event was altered and given a new checksum"}},
		{"what is not UTF-8", []string{with(a[0], `"id":"a"`, "\"id\":\"a\xff\""), with(a[0], `"id":"a"`, "\"id\":\"a\xfe\"")}, []string{
			"1  json: the line is not UTF-8; expected one event per line, as JSON in UTF-8", "2  json: the line is not UTF-8; expected one event per line, as JSON in UTF-8"}},
		{"a mark before the first line", append([]string{"\ufeff" + a[0]}, a[1:]...), nil},
		{"after a redaction", []string{with(with(a[0], `"id"`, `"fingerprint":"redacted","id"`), `"queue":"q"`, `"queue":null`), a[1], a[2], erased, with(back, `"rev":4`, `"rev":5`)}, nil},
		{"a redacted step and what follows it", []string{a[0], with(a[1], `"id"`, `"fingerprint":"redacted","id"`), a[2], with(noted, `"id"`, `"fingerprint":"redacted","id"`), erased}, nil},
		{"a redaction after a gap", []string{a[0], a[1], a[2], with(erased, `"rev":4`, `"rev":5`)}, []string{"4 a revision: revision 5 follows 3; expected 4"}},
		{"a redaction of another state", []string{a[0], a[1], a[2], strings.ReplaceAll(erased, `"checked"`, `"waiting"`)}, []string{`4 a chain: it starts in state "waiting", the step before it ended in "checked"`}},
		{"a redacted call under another number", []string{a[0], a[1], a[2], with(with(noted, `"n":1`, `"n":2`), `"id"`, `"fingerprint":"redacted","id"`)}, []string{"4 a number: record-only event 3.2 follows 3.0; expected 3.1"}},
		{"after a purge", []string{`{"id":"a","rev":3,"n":1,"operation":"__purge","from":"gone","to":"gone","at":"2026-01-01T00:00:00Z"}`, a[0]}, []string{"2 a revision: the record was purged; nothing follows that"}},
		{"members", []string{`{"id":"a","rev":"1","operation":"draw","to":"waiting","at":"2026-01-01T00:00:00Z"}`, `{"id":"a","operaton":"draw"}`, `7`, `{"id":"","rev":1,"operation":"draw","to":"waiting","at":"2026-01-01T00:00:00Z"}`, `{"id":"a","rev":0,"operation":"draw","to":"waiting","at":"2026-01-01T00:00:00Z"}`},
			[]string{
				`1 a json: the member "rev" is a string; expected a whole number`, `2 a json: unknown member "operaton"; did you mean "operation"?`,
				`2 a json: the member "rev" is missing`, `2 a json: the member "operation" is missing`, `2 a json: the member "to" is missing`, `2 a json: the member "at" is missing`,
				"3  json: the line is not a JSON object; expected one event per line, like {\"id\":…,\"rev\":1,…}",
				"4  json: the id \"\" is invalid: it is empty, not UTF-8, contains NUL or is longer than 255 bytes",
				"5 a json: rev is 0 and n is 0; revisions count from 1, and n from 0",
			}},
	} {
		got := check(t, m, c.lines...)
		for i := range got {
			if i < len(c.want) && strings.Contains(c.want[i], "SUM") {
				var e fsm.Event
				if err := json.Unmarshal([]byte(c.lines[0]), &e); err != nil {
					t.Fatal(err)
				}
				e.Name, e.Version = "draw", 1
				c.want[i] = strings.Replace(c.want[i], "SUM", fmt.Sprint(driver.Checksum(&e)), 1)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestImportedRecords finds nothing in the log of records that came from elsewhere.
func TestImportedRecords(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store := memstore.New()
	if err := lifecycle.Migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	m, err := lifecycle.Open(ctx, store)
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now().Add(-time.Hour)
	for _, job := range []lifecycle.Job{
		{ID: "a", State: lifecycle.StateQueued, CreatedAt: since, UpdatedAt: since, QueuedAt: fsm.Some(since)},
		{ID: "b", State: lifecycle.StateRunning, CreatedAt: since, Owner: fsm.Some("w1"), Lease: fsm.Some(since), Attempt: 2},
		{ID: "c", State: lifecycle.StateSucceeded, Result: fsm.Some(fsm.MustJSON(`{"ok":true}`))},
	} {
		if _, err := m.Core().Import(ctx, job, fsm.Call{RequestID: "import " + job.ID, Actor: "ann", Reason: "moves in"}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := m.Core().Sweep(ctx); n != 1 || err != nil { // the lease of b is over
		t.Fatalf("swept %d, %v", n, err)
	}
	entries, err := collect(m.Log(ctx, ""))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range entries {
		line, err := json.Marshal(e.Event)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	if got := check(t, machine(t, "lifecycle"), lines...); len(lines) != 4 || got != nil {
		t.Errorf("%d events: %q", len(lines), got)
	}
}

// TestLongLogs reads many events of a few records.
func TestLongLogs(t *testing.T) {
	t.Parallel()
	m := parse(t, "lamp.yaml", "fsm: 1\nmachine: lamp\nentity: Lamp\notherwise: reject\nstates: {dark: {}, lit: {}}\noperations: {make: {creates: dark}, press: {from: dark, to: lit}, release: {from: lit, to: dark}}\n")
	var b bytes.Buffer
	fmt.Fprintln(&b, `{"id":"a","rev":1,"operation":"make","to":"dark","at":"2026-01-01T00:00:00Z"}`)
	const n = 20_000
	for i := 2; i <= n; i++ {
		words := [][3]string{{"press", "dark", "lit"}, {"release", "lit", "dark"}}[i%2]
		fmt.Fprintf(&b, `{"id":"a","rev":%d,"operation":%q,"from":%q,"to":%q,"at":"2026-01-01T00:00:00Z"}`+"\n", i, words[0], words[1], words[2])
	}
	result, err := replay.Check(m, &b, func(f replay.Finding) { t.Errorf("%+v", f) })
	if want := (replay.Result{Events: n, Records: 1}); err != nil || result != want {
		t.Errorf("%+v, %v, want %+v", result, err, want)
	}
	if _, err := replay.Check(m, strings.NewReader(strings.Repeat("x", 65<<20)), func(replay.Finding) {}); err == nil || !strings.Contains(err.Error(), "line 1: the line is longer than 64 MiB") {
		t.Errorf("a line without an end: %v", err)
	}
}

// FuzzCheck holds that no line makes it panic.
func FuzzCheck(f *testing.F) {
	m := parse(f, "desk.yaml", strings.Replace(desk, ", choose: []", "", 1))
	f.Add(`{"id":"a","rev":1,"operation":"draw","to":"waiting","at":"2026-01-01T00:00:00Z","inputs":{"queue":"q","kind":"easy"},"changes":{"queue":"q","number":1,"kind":"easy"}}` + "\n" +
		`{"id":"a","rev":2,"n":0,"operation":"serve","from":"waiting","to":"served","at":"2026-01-01T00:01:00Z","actor":"s","inputs":{},"changes":{"seat":"s","tries":1}}`)
	f.Add(`{"id":"a","rev":2,"n":1,"operation":"__repair","from":"x","to":"x","at":"2026-01-01T00:01:00Z","changes":{"seat":null},"version":0}`)
	f.Fuzz(func(t *testing.T, text string) {
		last := int64(0)
		result, err := replay.Check(m, strings.NewReader(text), func(replay.Finding) { last++ })
		if err == nil && result.Findings != last {
			t.Errorf("%d findings were reported, %d are counted", last, result.Findings)
		}
	})
}
