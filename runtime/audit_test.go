package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	fsmworker "github.com/fsmgen/fsmgen/runtime/worker"
)

// TestAuditFindsPlantedFaults plants one fault at a time and expects exactly the
// checks that see it.
func TestAuditFindsPlantedFaults(t *testing.T) {
	t.Parallel()
	resum := func(e *fsm.Event) bool {
		e.Sum = driver.Checksum(e)
		return true
	}
	for _, c := range []struct {
		name  string
		fault tampered
		want  []string
	}{
		{"none", tampered{}, nil},
		{"an altered actor", tampered{event: func(e *fsm.Event) bool {
			if e.Rev == 2 {
				e.Actor = "eve"
			}
			return true
		}}, []string{audit.CheckSum}},
		{"an altered label", tampered{event: func(e *fsm.Event) bool {
			if e.Rev == 2 {
				e.Labels = map[string]string{"a": "b"}
			}
			return true
		}}, []string{audit.CheckSum}},
		{"an erasure that no redaction tells of", tampered{event: func(e *fsm.Event) bool {
			if e.Rev == 2 {
				e.Fingerprint = "redacted"
			}
			return resum(e)
		}}, []string{audit.CheckHistory}},
		{"a redaction that moves", tampered{event: func(e *fsm.Event) bool {
			if e.Rev == 4 && e.N == 0 {
				e.Operation, e.Name, e.RequestID = "__redact", "__redact", "sys:__redact:4"
			}
			return resum(e)
		}}, []string{audit.CheckEdge}},
		{"a missing revision", tampered{event: func(e *fsm.Event) bool { return e.Rev != 3 }},
			[]string{audit.CheckRevision}},
		{"a missing record-only event", tampered{event: func(e *fsm.Event) bool { return e.N != 1 }},
			[]string{audit.CheckNumber}},
		{"a record-only event of another state", tampered{event: func(e *fsm.Event) bool {
			if e.N == 1 {
				e.From, e.To = "waiting", "waiting"
			}
			return resum(e)
		}}, []string{audit.CheckChain}},
		{"a broken chain", tampered{event: func(e *fsm.Event) bool {
			if e.Rev == 3 && e.N == 0 {
				e.From = "held"
			}
			return resum(e)
		}}, []string{audit.CheckChain}},
		{"another request with the same id", tampered{event: func(e *fsm.Event) bool {
			if e.Rev == 3 {
				e.RequestID = "two"
			}
			return resum(e)
		}}, []string{audit.CheckRequest}},
		{"a request twice in the machine", tampered{request: func(events []fsm.Event) []fsm.Event {
			return append(events, events...)
		}}, []string{audit.CheckRequest}},
		{"an operation that there is not", tampered{event: func(e *fsm.Event) bool {
			if e.Rev == 3 && e.N == 0 {
				e.Operation = "vanish"
			}
			return resum(e)
		}}, []string{audit.CheckEdge}},
		{"an operation that does not move so", tampered{event: func(e *fsm.Event) bool {
			if e.Rev == 4 && e.N == 0 {
				e.Operation, e.Name = "shelve", "shelve"
			}
			return resum(e)
		}}, []string{audit.CheckEdge}},
		{"another name of the event", tampered{event: func(e *fsm.Event) bool {
			if e.Rev == 3 && e.N == 0 {
				e.Name = "renamed"
			}
			return resum(e)
		}}, []string{audit.CheckEdge}},
		{"a record-only event that no operation makes", tampered{event: func(e *fsm.Event) bool {
			if e.N == 1 {
				e.Operation, e.Name = "bill", "bill"
			}
			return resum(e)
		}}, []string{audit.CheckEdge}},
		{"a forged migration", tampered{event: func(e *fsm.Event) bool {
			if e.Rev == 4 && e.N == 0 {
				e.Operation, e.Name, e.Actor, e.RequestID = "migrate", "migrate", "system", "sys:migrate:4"
			}
			return resum(e)
		}}, []string{audit.CheckEdge}},
		{"an import of a record that is there", tampered{event: func(e *fsm.Event) bool {
			if e.Rev == 4 && e.N == 0 {
				e.Operation, e.Name = "__import", "__import"
			}
			return resum(e)
		}}, []string{audit.CheckEdge}},
		{"an import without an image", tampered{event: func(e *fsm.Event) bool {
			if e.Rev == 1 {
				e.Operation, e.Name, e.Image = "__import", "__import", fsm.JSON{}
			}
			return resum(e)
		}}, []string{audit.CheckEdge}},
		{"an import of other times", tampered{event: func(e *fsm.Event) bool {
			if e.Rev == 1 {
				e.Operation, e.Name = "__import", "__import"
				e.Image = fsm.MustJSON(strings.Replace(e.Image.String(), `"created_at":"20`, `"created_at":"19`, 1))
			}
			return resum(e)
		}}, []string{audit.CheckFold}},
		{"the log goes on", tampered{row: func(r *driver.Row) { r.Rev-- }}, []string{audit.CheckBeyond}},
		{"a revision below 1", tampered{row: func(r *driver.Row) { r.Rev = -1 }}, []string{audit.CheckDecode}},
		{"a counter below 0", tampered{row: func(r *driver.Row) { r.Values[10] = int64(-1) }}, []string{audit.CheckDecode}},
		{"a row that breaks a rule", tampered{row: func(r *driver.Row) { r.Values[2] = "slot" }}, []string{audit.CheckRule}},
		{"another change", tampered{event: func(e *fsm.Event) bool {
			if e.Rev == 3 && e.N == 0 {
				e.Changes = fsm.MustJSON(`{"size":"large"}`)
			}
			return resum(e)
		}}, []string{audit.CheckFold}},
		{"an unknown field", tampered{event: func(e *fsm.Event) bool {
			if e.Rev == 3 && e.N == 0 {
				e.Changes = fsm.MustJSON(`{"colour":"red"}`)
			}
			return resum(e)
		}}, []string{audit.CheckFold}},
		{"another image", tampered{event: func(e *fsm.Event) bool {
			if e.Rev == 1 {
				e.Image = fsm.MustJSON(`{"created_at":"2026-05-04T03:02:01Z","updated_at":"2026-05-04T03:02:01Z","lane":"b","tags":[],"moves":0}`)
			}
			return resum(e)
		}}, []string{audit.CheckFold}},
		{"an altered row", tampered{row: func(r *driver.Row) { r.Values[1] = "b" }}, []string{audit.CheckFold}},
		{"another revision in the row", tampered{row: func(r *driver.Row) { r.Rev++ }}, []string{audit.CheckFold}},
		{"an unknown state", tampered{row: func(r *driver.Row) { r.State = "gone" }}, []string{audit.CheckDecode}},
		{"a broken rule", tampered{
			row: func(r *driver.Row) { r.Values[2] = "slot" },
			event: func(e *fsm.Event) bool {
				if e.Rev == 3 && e.N == 0 {
					e.Changes = fsm.MustJSON(`{"slot":"slot","size":"small","fragile":true}`)
				}
				return resum(e)
			},
		}, []string{audit.CheckRule}},
		{"no log", tampered{event: func(*fsm.Event) bool { return false }}, []string{audit.CheckFold}},
		{"a log without record", tampered{orphans: []string{"gone"}}, []string{audit.CheckOrphan}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store := &wrapped{Store: newStore()}
			m := open(t, store, storetest.Schema(), fixed())
			out := must(t)(m.Create(t.Context(), storetest.Register(meta("one"), in("p1"))))
			out = must(t)(m.Apply(t.Context(), out, note("two", "")))
			out = must(t)(m.Apply(t.Context(), out, note("three", "x")))
			out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta("four"), "a", start)))
			for _, rid := range []string{"five", "six"} {
				must(t)(m.Apply(t.Context(), out, storetest.Touch(storetest.Meta{RequestID: rid, Actor: "bob"}, start)))
			}
			must(t)(m.Apply(t.Context(), out, storetest.Expel(meta("seven"))))
			store.view = func(table driver.Table, ctx context.Context, f func(driver.Reader) error) error {
				return table.View(ctx, func(r driver.Reader) error {
					fault := c.fault
					fault.Reader = r
					return f(&fault)
				})
			}
			got := slices.Compact(findings(t, m))
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestAuditProbes(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema())
	must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p2"))))
	all := func(*storetest.Parcel) bool { return true }
	probe := fsmimpl.Probe[storetest.Parcel]{Name: "in the depot", In: all, Ask: func(_ context.Context, p storetest.Parcel) (bool, error) {
		return p.ID != "p2", nil
	}}
	if got := findings(t, m, probe); !slices.Equal(got, []string{audit.CheckProbe}) {
		t.Errorf("got %v, want one finding of the probe", got)
	}
}

// A probe that fails is a finding of each record, and the other probes and records are
// checked. Only the end of the audit's context ends it.
func TestAuditProbeFails(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema())
	for _, id := range []string{"p1", "p2", "p3"} {
		must(t)(m.Create(t.Context(), storetest.Register(meta(""), in(id))))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in := func(id string) func(*storetest.Parcel) bool {
		return func(p *storetest.Parcel) bool { return id == "" || p.ID == id }
	}
	probes := []fsmimpl.Probe[storetest.Parcel]{
		{Name: "fails", In: in(""), Ask: func(context.Context, storetest.Parcel) (bool, error) { return true, errLost }},
		{Name: "panics", In: in("p2"), Ask: func(context.Context, storetest.Parcel) (bool, error) { panic("no depot") }},
		{Name: "no", Message: "it is not here", In: in("p3"), Ask: func(context.Context, storetest.Parcel) (bool, error) { return false, nil }},
		{Name: "yes", In: in(""), Ask: func(context.Context, storetest.Parcel) (bool, error) { return true, nil }},
	}
	var got []string
	for f, err := range audit.Run(ctx, m, probes...) {
		if err != nil || f.Check != audit.CheckProbe || !f.Must {
			t.Errorf("%+v, %v", f, err)
		}
		got = append(got, f.ID+" "+f.Message)
	}
	lost := "fails (must): the probe failed: " + errLost.Error()
	want := []string{"p1 " + lost, "p2 " + lost, "p2 panics (must): the probe failed: it panicked: no depot", "p3 " + lost, "p3 no (must): it is not here"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	hangs := fsmimpl.Probe[storetest.Parcel]{Name: "hangs", In: in(""), Ask: func(ctx context.Context, _ storetest.Parcel) (bool, error) {
		cancel()
		<-ctx.Done()
		return false, ctx.Err()
	}}
	for f, err := range audit.Run(ctx, m, hangs) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v; want the end of the context", f, err)
		}
	}
}

// A deadline that a wrong clock has set is told: until then nothing fires.
func TestAuditFarAhead(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema(), fixed())
	for id, due := range map[string]time.Time{"p1": start.AddDate(10, 0, 0), "p2": start.AddDate(1, 0, 0)} {
		p := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in(id))))
		must(t)(m.Apply(t.Context(), p, storetest.Hold(meta(""), "a", due)))
	}
	var got []string
	for f, err := range audit.Run(t.Context(), m) {
		if err != nil || f.Must {
			t.Errorf("%v, %v", f, err)
		}
		got = append(got, f.String())
	}
	if len(got) != 1 || !strings.HasPrefix(got[0], `far: "p1" at revision 2: due is 20`) {
		t.Errorf("got %q", got)
	}
}

// Audits are made again and again. The observer is told of each, with the number of
// findings of every check.
func TestAuditEvery(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var began []fsm.Observed
	var ended []fsm.Observation
	observe := fsm.WithObserver(func(ctx context.Context, o fsm.Observed) (context.Context, func(fsm.Observation)) {
		if !o.Audit {
			return ctx, nil
		}
		return ctx, func(end fsm.Observation) {
			mu.Lock()
			defer mu.Unlock()
			began, ended = append(began, o), append(ended, end)
		}
	})
	m := open(t, newStore(), storetest.Schema(), observe)
	must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	here := atomic.Bool{}
	probe := fsmimpl.Probe[storetest.Parcel]{Name: "here", In: func(*storetest.Parcel) bool { return true },
		Ask: func(context.Context, storetest.Parcel) (bool, error) { return here.Load(), nil }}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(&out, nil))
	counted := func(ctx context.Context, log *slog.Logger) error {
		err := audit.Logged(m, probe)(ctx, log)
		here.Store(true)
		if mu.Lock(); len(ended) == 2 {
			cancel()
		}
		mu.Unlock()
		return err
	}
	if err := fsmworker.Run(ctx, m, fsmworker.Upkeep{Audit: counted, AuditEvery: time.Millisecond, Log: log}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Count(text, "level=ERROR msg=audit machine=parcel id=p1 check=probe") != 1 || strings.Count(text, "msg=audit") != 1 {
		t.Errorf("logged:\n%s", text)
	}
	if len(began) != 2 || began[0] != (fsm.Observed{Machine: "parcel", Audit: true}) {
		t.Errorf("began: %+v", began)
	}
	for i, n := range []int64{1, 0} {
		if got := ended[i]; got.Err != nil || got.Findings[audit.CheckProbe] != n || len(got.Findings) < 10 || len(got.Events) != 0 {
			t.Errorf("audit %d: %+v", i, got)
		}
	}
	if h := audit.HealthOf(m); !h.Sound() {
		t.Errorf("health: %+v", h)
	}
	here.Store(false)
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	var told []string
	report := func(f audit.Finding, err error) {
		told = append(told, fmt.Sprint(f.Check, " ", err))
		if len(told) == 2 {
			cancel()
		}
	}
	err := audit.Every(ctx, time.Millisecond, m, report, probe)
	if !errors.Is(err, context.Canceled) || !slices.Equal(told, []string{"probe <nil>", "probe <nil>"}) {
		t.Errorf("each millisecond: %v, %q", err, told)
	}
	if err := audit.Every(ctx, 0, m, nil); err == nil || !strings.Contains(err.Error(), "at least 1ms") {
		t.Errorf("each 0: %v", err)
	}
}

// A record that breaks a MUST rule can be read, but nothing can be done with it.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	store := &wrapped{Store: newStore()}
	m := open(t, store, storetest.Schema(), fixed())
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	held := must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	good := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p2"))))
	bad := out.Record
	bad.State, bad.Rev = "waiting", 3 // with the holder of before: it should be absent
	bad.Holder, bad.Due = held.Record.Holder, held.Record.Due
	row := storetest.Encode(&bad)
	table, err := store.Store.Table(storetest.Schema())
	if err != nil {
		t.Fatal(err)
	}
	w := &driver.Write{Prev: held.Ref(), PrevState: "held", Row: &row, Event: held.Events[0]}
	w.Event.Rev, w.Event.RequestID = 3, ""
	if err := table.Commit(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	p, err := m.Record(t.Context(), "p1")
	if !errors.Is(err, fsm.ErrQuarantined) || p.ID != "p1" {
		t.Errorf("Record: %v, %v, want the record and ErrQuarantined", p.Ref(), err)
	}
	n := 0
	for p, err := range m.List(t.Context(), driver.Query{}) {
		n++
		if errors.Is(err, fsm.ErrQuarantined) != (p.ID == "p1") {
			t.Errorf("List: %s, %v", p.ID, err)
		}
	}
	if n != 2 {
		t.Errorf("listed %d records, want 2", n)
	}
	page, _, err := m.Page(t.Context(), &storetest.InLane, []any{"a"}, fsm.Page{Size: 5})
	var refused *fsm.Refusal
	if !errors.As(err, &refused) || refused.Code != fsm.ErrQuarantined || refused.ID != "p1" || len(page) != 1 || page[0].ID != good.Record.ID {
		t.Errorf("a page has %d records beside %v, want the good one and ErrQuarantined of the other", len(page), err)
	}
	if _, err := m.Apply(t.Context(), fsm.Ref{ID: "p1"}, note("", "")); !errors.Is(err, fsm.ErrQuarantined) {
		t.Errorf("Apply: %v, want ErrQuarantined", err)
	}
	outs, err := m.Pick(t.Context(), 5, storetest.Hold(meta(""), "a", start))
	if err != nil || len(outs) != 1 || outs[0].Record.ID != good.Record.ID {
		t.Errorf("Pick: %v, %v, want the good record only", outs, err)
	}
}

// astray is a reader of a store with a wrong key, whose record cannot be read from
// some time on.
type astray struct {
	failing
	left *int
}

func (r *astray) Misindexed(string) ([]driver.Misindexed, string, error) {
	return []driver.Misindexed{{ID: "p1", Key: "k", Problem: "is wrong"}}, "", nil
}

func (r *astray) Row(id string) (driver.Row, error) {
	if *r.left--; *r.left < 0 {
		return driver.Row{}, errLost
	}
	return r.Reader.Row(id)
}

// An error while the audit asks what a wrong key follows from ends it.
func TestAuditOfAWrongKeyThatFails(t *testing.T) {
	t.Parallel()
	store := &wrapped{Store: newStore()}
	m := open(t, store, storetest.Schema(), fixed())
	must(t)(m.Create(t.Context(), storetest.Register(meta("1"), storetest.RegisterInput{ID: "p1", Lane: "a", Label: fsm.Some("l")})))
	for rows := range 4 { // the record, then for its key the record again, and what it shares
		reads(store, func(r driver.Reader) driver.Reader { return &astray{failing{Reader: r, counted: 2}, &rows} })
		var last error
		for _, err := range audit.Run(t.Context(), m) {
			last = err
		}
		if ends := rows < 0; errors.Is(last, errLost) != ends {
			t.Errorf("the audit ended with %v, rows left: %d", last, rows)
		}
	}
}
