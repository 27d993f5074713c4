package answers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// session is the body of a request to play steps.
func session(now string, steps ...string) string {
	return fmt.Sprintf(`{"now": %q, "steps": [%s]}`, now, strings.Join(steps, ","))
}

func step(operation, record string, rev int, at, rest string) string {
	if rest != "" {
		rest = ", " + rest
	}
	return fmt.Sprintf(`{"operation": %q, "record": %q, "rev": %d, "at": "2026-01-01T09:%sZ"%s}`, operation, record, rev, at, rest)
}

var (
	enqueue = step("enqueue", "r1", 0, "00:00", `"request": "a"`)
	claim   = step("claim_next", "", 0, "00:01", `"request": "b", "actor": "w1", "inputs": {"lease": "2026-01-01T09:01:01Z"}`)
	start   = step("start", "r1", 2, "00:02", `"request": "c", "actor": "w1"`)
)

func outcomes(v playView) []string {
	var list []string
	for _, s := range v.Steps {
		o := s.Outcome
		if s.Refusal != nil {
			o += " " + s.Refusal.Code
		}
		list = append(list, o)
	}
	return list
}

func TestPlay(t *testing.T) {
	t.Parallel()
	h := page(t, "../../../specs/lifecycle.yaml")
	v := get[playView](t, h, "0/play", session("2026-01-01T09:01:00Z", enqueue, claim))
	if diff := cmp.Diff([]string{"accepted", "accepted"}, outcomes(v)); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	second := v.Steps[1]
	if second.Record != "r1" || second.From != "queued" || second.To != "claimed" || second.RevBefore != 1 || second.RevAfter != 2 {
		t.Errorf("the claim: %+v", second)
	}
	want := []changeView{
		{"owner", valueView{Absent: true}, valueView{Kind: "string", Text: "w1"}},
		{"lease", valueView{Absent: true}, valueView{Kind: "time", Text: "2026-01-01T09:01:01Z"}},
		{"queued_at", valueView{Kind: "time", Text: "2026-01-01T09:00:00Z"}, valueView{Absent: true}},
		{"attempt", valueView{Kind: "int", Text: "0"}, valueView{Kind: "int", Text: "1"}},
	}
	if diff := cmp.Diff(want, second.Changes); diff != "" {
		t.Errorf("changes, -want +got:\n%s", diff)
	}
	if e := second.Events[0]; e.Event != "claimed" || e.Actor != "w1" || e.Request != "b" || len(e.Inputs) != 1 || len(e.Changes) != 4 {
		t.Errorf("the event: %+v", e)
	}
	if d := v.Deadlines; len(d) != 1 || d[0] != (deadlineView{"r1", "stall", "lease", "2026-01-01T09:01:01Z", false}) {
		t.Errorf("deadlines: %+v", d)
	}
	// One second later it is due; an earlier session is a shorter list.
	v = get[playView](t, h, "0/play", session("2026-01-01T09:01:01Z", enqueue, claim))
	if len(v.Deadlines) != 1 || !v.Deadlines[0].Due {
		t.Errorf("at the deadline: %+v", v.Deadlines)
	}
	v = get[playView](t, h, "0/play", session("", enqueue))
	if v.Records[0].State != "queued" || v.Records[0].Cells["claim_next"] != "transition" || v.Records[0].Cells["start"] != "reject" {
		t.Errorf("after the undo: %+v", v.Records)
	}
}

func TestRefusalsAreExplained(t *testing.T) {
	t.Parallel()
	h := page(t, "../../../specs/lifecycle.yaml", "../../../specs/execution.yaml")
	lines := get[File](t, h, "0/machine", "").Lines
	at := func(p *Place) string {
		if p == nil {
			return ""
		}
		return string([]rune(lines[p.Line-1])[p.Column-1 : p.Column-1+p.Length])
	}
	for name, c := range map[string]struct {
		steps  []string
		code   string
		place  string
		needed []string
	}{
		"a guard": {
			[]string{enqueue, claim, step("start", "r1", 2, "00:02", `"request": "c", "actor": "w2"`)}, "guard", "owner_only",
			[]string{`actor would have to be "w1", not "w2"`},
		},
		"a state": {
			[]string{enqueue, step("complete", "r1", 1, "00:02", `"request": "c", "actor": "w2", "inputs": {"result": "{}"}`)}, "wrong_state", "complete",
			[]string{"complete needs the state running; the record is queued", "from queued, claim_next leads to claimed, then start leads to running"},
		},
		"a late worker": {
			[]string{enqueue, claim, step("start", "r1", 1, "00:02", `"request": "c", "actor": "w1"`)}, "stale", "start",
			[]string{"the record is at revision 2, but the call expects revision 1: read the record again"},
		},
		"nothing to do": {
			[]string{enqueue, claim, step("claim_next", "", 0, "00:02", `"request": "c", "actor": "w2", "inputs": {"lease": "2026-01-01T09:01:01Z"}`)}, "nothing_to_do", "claim_next",
			[]string{"r1: it is claimed"},
		},
		"the end": {
			[]string{enqueue, claim, start, step("complete", "r1", 3, "00:03", `"request": "d", "actor": "w1", "inputs": {"result": "{}"}`), step("start", "r1", 4, "00:04", `"request": "e", "actor": "w1"`)},
			"terminal", "start", []string{"succeeded is terminal: nothing leaves it; create another record"},
		},
		"an input": {
			[]string{enqueue, step("claim_next", "", 0, "00:02", `"request": "c", "actor": "w2"`)}, "invalid_input", "input",
			[]string{"lease: it is required and was not sent"},
		},
		"nobody": {
			[]string{enqueue, step("claim_next", "", 0, "00:02", `"request": "c", "inputs": {"lease": "2026-01-01T09:01:01Z"}`)}, "actor_missing", "claim_next",
			[]string{"name an actor: the operation needs one"},
		},
		"the request id again": {
			[]string{enqueue, step("enqueue", "r2", 0, "00:02", `"request": "a"`)}, "request_reused", "enqueue",
			[]string{"a request id belongs to one call: use a new one for another operation, actor or input"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := get[playView](t, h, "0/play", session("", c.steps...))
			last := v.Steps[len(v.Steps)-1]
			if last.Outcome != "refused" || last.Refusal.Code != c.code {
				t.Fatalf("%s: %+v", last.Outcome, last.Refusal)
			}
			if got := at(last.Refusal.Place); got != c.place {
				t.Errorf("it points at %q, want %q", got, c.place)
			}
			if diff := cmp.Diff(c.needed, last.Refusal.Needed); diff != "" {
				t.Errorf("needed, -want +got:\n%s", diff)
			}
			if g := last.Refusal.Guard; g != nil && *last.Refusal.Place != g.Place {
				t.Errorf("it points at %+v, the guard is at %+v", last.Refusal.Place, g.Place)
			}
			if last.Refusal.Title == "" || len(last.Changes)+len(last.Events) > 0 {
				t.Errorf("a refused step: %+v", last)
			}
		})
	}
}

// What was not sent is explained as the interpreter takes it: an int is 0.
func TestInputsThatWereNotSent(t *testing.T) {
	t.Parallel()
	h := page(t, write(t, `fsm: 1
machine: box
entity: Box
otherwise: reject
requests: {request_id: none, expected_rev: none}
fields: {size: int}
states:
  open: {}
  shut: {terminal: true}
guards:
  fits: {when: size == input.wanted, error: too_small}
operations:
  make: {creates: open, set: {size: input}}
  close: {from: open, to: shut, require: [fits], input: {wanted: int}}
`))
	v := get[playView](t, h, "0/play", session("", step("make", "a", 0, "00:00", `"inputs": {"size": 2}`), step("close", "a", 0, "00:01", "")))
	want := &refusalView{
		Causes: []causeView{{Fact: "size == input.wanted", Left: "size is 2", Right: "input.wanted is 0", Place: Place{11, 16, 20}}},
		Needed: []string{"input.wanted would have to be 2, not 0"},
	}
	if got := v.Steps[1].Refusal; !cmp.Equal(got.Causes, want.Causes) || !cmp.Equal(got.Needed, want.Needed) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Records of a group see each other: the guard names those that are in the way.
func TestGroups(t *testing.T) {
	t.Parallel()
	h := page(t, write(t, `fsm: 1
machine: seat
entity: Seat
otherwise: reject
requests: {request_id: none, expected_rev: none}
fields: {room: string, number: int 1..9}
states:
  free: {}
  taken: {}
  gone: {terminal: true}
guards:
  alone: {none: {same: room, in: [taken]}, error: room_taken, message: one at a time}
unique:
  number_once: {fields: [room, number], in: [free, taken], error: number_taken}
operations:
  add: {creates: free, set: {room: input, number: input}}
  take: {from: free, to: taken, require: [alone]}
  leave: {from: [free, taken], to: gone}
`))
	add := func(id, room, n string) string {
		return step("add", id, 0, "00:00", fmt.Sprintf(`"inputs": {"room": %q, "number": %q}`, room, n))
	}
	v := get[playView](t, h, "0/play", session("", add("a", "x", "1"), add("b", "x", "2"), add("c", "y", "1"), step("take", "a", 0, "00:01", ""),
		step("take", "c", 0, "00:01", ""), step("take", "b", 0, "00:01", ""), add("d", "x", "1"), add("e", "x", "10")))
	want := []string{"accepted", "accepted", "accepted", "accepted", "accepted", "refused guard", "refused not_unique", "refused invalid_input"}
	if diff := cmp.Diff(want, outcomes(v)); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	for i, want := range map[int]*refusalView{
		5: {Error: "room_taken", Records: []string{"a"}, Needed: []string{"no other record with the same room in taken; there are 1"}},
		6: {Error: "number_taken", Records: []string{"a"}, Needed: []string{"no other record may have the same room, number in free, taken"}},
	} {
		got := v.Steps[i].Refusal
		if got.Error != want.Error || !cmp.Equal(got.Records, want.Records) || !cmp.Equal(got.Needed, want.Needed) {
			t.Errorf("step %d: %+v, want %+v", i+1, got, want)
		}
	}
	if v.Records[1].State != "free" || len(v.Records) != 3 {
		t.Errorf("records: %+v", v.Records)
	}
}

// An effect outside the transaction waits until the person says that it was
// performed; the operation that follows it cannot be called.
func TestEffects(t *testing.T) {
	t.Parallel()
	h := page(t, "../../../specs/task.yaml")
	m := get[File](t, h, "0/machine", "").Machine
	var internal string
	for _, o := range m.Operations {
		if o.Internal {
			internal = o.Name
		}
	}
	if internal == "" {
		t.Fatal("the machine has no operation that follows an effect")
	}
	v := get[playView](t, h, "0/play", session("", step(internal, "r1", 1, "00:00", "")))
	if len(v.Steps) != 0 || !strings.Contains(v.Stopped, "follows an effect") {
		t.Errorf("%s was called: %+v", internal, v)
	}
	v = get[playView](t, h, "0/play", session("", `{"deliver": true, "operation": "`+internal+`", "record": "r1", "rev": 1, "at": "2026-01-01T09:00:00Z"}`))
	if !strings.Contains(v.Stopped, "waits for record") {
		t.Errorf("an effect that nobody asked for was performed: %+v", v)
	}
}

// A person may say as well that an effect gave up; the Go test of the session does the same.
func TestEffectGivesUp(t *testing.T) {
	t.Parallel()
	h := page(t, "../../../gen/testdata/scenarios/givesup.yaml")
	steps := []string{
		step("ask", "r1", 0, "00:00", `"inputs": {"amount": "5"}`), step("charge", "r1", 1, "00:01", ""),
		step("charge", "r1", 2, "00:02", `"deliver": true, "gaveUp": "no money"`),
	}
	v := get[playView](t, h, "0/play", session("2026-01-01T09:01:00Z", steps[:2]...))
	if len(v.Waiting) != 1 || v.Waiting[0].Failed != "declined" || v.Waiting[0].Then != "charged" {
		t.Errorf("there waits %+v", v.Waiting)
	}
	v = get[playView](t, h, "0/play", session("2026-01-01T09:01:00Z", steps...))
	if len(v.Steps) != 3 || v.Steps[2].To != "refused" || v.Steps[2].Outcome != "accepted" || len(v.Waiting) != 0 {
		t.Errorf("after it gave up: %+v", v)
	}
	told := get[goTestView](t, h, "0/gotest", session("2026-01-01T09:01:00Z", steps...))
	want := `GivesUp: "charge_card: no money", Leads: "delivered", Is: map[string]string{"r1": "refused@3"}`
	if !strings.Contains(told.GoTest, want) {
		t.Errorf("the test lacks %s:\n%s", want, told.GoTest)
	}
	h = page(t, "../../../specs/task.yaml")
	v = get[playView](t, h, "0/play", session("2026-01-01T09:01:00Z", step("submit", "r1", 0, "00:00", ""),
		step("start", "r1", 1, "00:01", ""), step("start", "r1", 2, "00:02", `"deliver": true, "gaveUp": "no money"`)))
	if len(v.Steps) != 2 || !strings.Contains(v.Stopped, "does not give up") {
		t.Errorf("without failed: %+v", v)
	}
}

func TestSessionsThatCannotBePlayed(t *testing.T) {
	t.Parallel()
	h := page(t, "../../../specs/lifecycle.yaml")
	for name, c := range map[string]struct{ step, want string }{
		"operation":    {step("fly", "r1", 1, "00:00", ""), `no operation "fly"`},
		"input":        {step("start", "r1", 1, "00:00", `"inputs": {"wing": "2"}`), `start has no input "wing"`},
		"time":         {step("claim_next", "", 0, "00:00", `"inputs": {"lease": "soon"}`), `"soon" is not a time`},
		"kind":         {step("claim_next", "", 0, "00:00", `"inputs": {"lease": ["x"]}`), "expected a string"},
		"its own time": {`{"operation": "start", "at": "tomorrow"}`, `"tomorrow" is not a time`},
	} {
		v := get[playView](t, h, "0/play", session("", enqueue, c.step, claim))
		if len(v.Steps) != 1 || !strings.Contains(v.Stopped, "step 2: ") || !strings.Contains(v.Stopped, c.want) {
			t.Errorf("%s: %d steps, %q; want %q", name, len(v.Steps), v.Stopped, c.want)
		}
	}
	many := session("", strings.Split(strings.Repeat(enqueue+"\n", maxSteps+1), "\n")[:maxSteps+1]...)
	for body, want := range map[string]int{
		"{": 400, `{"steps": [], "more": 1}`: 400, `{"steps": []} {}`: 400, session("noon"): 400, many: 413,
	} {
		if w := ask(t, h, "0/play", body); w.Code != want {
			t.Errorf("%.40s: %d %s, want %d", body, w.Code, w.Body, want)
		}
	}
}

// Playing is repeatable: a step more changes nothing of what was before.
func TestPrefixes(t *testing.T) {
	t.Parallel()
	h := page(t, "../../../specs/lifecycle.yaml")
	all := []string{enqueue, claim, start, step("stall", "r1", 3, "05:00", `"request": "s"`), step("requeue_stalled", "r1", 4, "05:01", `"request": "d", "actor": "ann"`)}
	whole := get[playView](t, h, "0/play", session("", all...))
	for n := range all {
		part := get[playView](t, h, "0/play", session("", all[:n]...))
		if diff := cmp.Diff(whole.Steps[:n], part.Steps, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%d steps, -whole +part:\n%s", n, diff)
		}
	}
	if whole.Records[0].State != "queued" || whole.Records[0].Rev != 5 {
		t.Errorf("at the end: %+v", whole.Records)
	}
}

// Whatever a browser sends, there is an answer.
func FuzzPlay(f *testing.F) {
	f.Add(session("", enqueue, claim, start))
	f.Add(session("2026-01-01T09:00:00Z", step("complete", "r1", -1, "00:00", `"inputs": {"result": "{"}`)))
	f.Add(`{"steps": [{"deliver": true, "operation": "claim_next", "at": "0000-01-01T00:00:00Z"}]}`)
	f.Add(`{"steps": [null], "now": "9999-12-31T23:59:59.999999999+23:59"}`)
	h := page(f, "../../../specs/lifecycle.yaml")
	f.Fuzz(func(t *testing.T, body string) {
		if body == "" {
			return
		}
		w := ask(t, h, "0/play", body)
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest && w.Code != http.StatusRequestEntityTooLarge || !json.Valid([]byte(w.Body)) {
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		}
	})
}
