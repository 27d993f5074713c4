package fsm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// A store that cannot say whether a request is known decides nothing, and none
// is asked for a request without an id.
func TestRequestLookUps(t *testing.T) {
	t.Parallel()
	failed := errors.New("the index is broken")
	fail := false
	store := hooking(func(tx fsm.Tx) fsm.Tx {
		return &hooked{Tx: tx, request: func(id, requestID string) ([]fsm.Event, error) {
			if requestID == "" {
				t.Error("asked for a request without an id")
			}
			if fail {
				return nil, failed
			}
			return tx.Request(id, requestID)
		}}
	})
	m := open(t, store, storetest.Schema(), fixed())
	must(t)(m.Create(t.Context(), storetest.Register(meta("c"), in("p1"))))
	must(t)(m.Apply(t.Context(), fsm.Ref{ID: "p1"}, storetest.Discard())) // its id is made of the revision, which is not known yet
	must(t)(m.Create(t.Context(), storetest.Register(meta("d"), in("p2"))))
	fail = true
	if _, err := m.Apply(t.Context(), fsm.Ref{ID: "p2", Rev: 1}, locked(note("r", "x"))); !errors.Is(err, failed) {
		t.Errorf("got %v, want the store's error", err)
	}
	if n := len(log(t, m, "p2")); n != 1 {
		t.Errorf("the log has %d events, want one", n)
	}
}

// The refusal of a used id says by what it was used, in the words of the
// specification where it still has them.
func TestReusedRequestSaysWhere(t *testing.T) {
	t.Parallel()
	store := newStore()
	open(t, store, storetest.Schema())
	d, ops := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
		"hold": func(op *fsmimpl.Operation[storetest.Parcel]) { op.Stored = "h" },
	})
	m, err := fsm.NewMachine(t.Context(), store, d, effects(nil), fixed())
	if err != nil {
		t.Fatal(err)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	call := storetest.Hold(meta("r"), "a", start)
	call.Operation = ops["hold"]
	must(t)(m.Apply(t.Context(), out, call))
	for _, c := range []struct {
		m    *machine
		want string
	}{
		{m, `"r" stands at revision 2 for operation hold`},
		{open(t, store, storetest.Schema(), fixed()), `"r" stands at revision 2 for operation h`}, // which knows no h
	} {
		_, err = c.m.Apply(t.Context(), fsm.Ref{ID: "p1"}, note("r", "x"))
		var r *fsm.Refusal
		if !errors.As(err, &r) || r.Code != fsm.ErrRequestReused || r.Message != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// An outcome that cannot be read any more is refused, and the refusal holds why.
func TestReplayOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	store := newStore()
	open(t, store, storetest.Schema())
	d := storetest.Descriptor(storetest.Schema())
	odd := errors.New("odd")
	unreadable := false
	decode := d.Decode
	d.Decode = func(row driver.Row) (storetest.Parcel, error) {
		if unreadable {
			return storetest.Parcel{}, odd
		}
		return decode(row)
	}
	m, err := fsm.NewMachine(t.Context(), store, d, effects(nil), fixed())
	if err != nil {
		t.Fatal(err)
	}
	must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	must(t)(m.Apply(t.Context(), fsm.Ref{ID: "p1"}, note("r", "x")))
	unreadable = true
	if _, err := m.Apply(t.Context(), fsm.Ref{ID: "p1"}, note("r", "x")); !errors.Is(err, fsm.ErrQuarantined) || !errors.Is(err, odd) {
		t.Errorf("got %v, want ErrQuarantined because of %v", err, odd)
	}
}

// A log without images behind its begin is folded from its begin; one with a gap
// is an error that says where it ends.
func TestReplayOfOddLogs(t *testing.T) {
	t.Parallel()
	var show func(e *fsm.Event) bool
	store := &wrapped{Store: newStore()}
	store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		return table.Update(ctx, func(tx fsm.Tx) error {
			if show == nil {
				return f(tx)
			}
			return f(&readBy{tx, &tampered{Reader: tx, event: show}})
		})
	}
	m := open(t, store, storetest.Schema(), fixed())
	must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	var outs []outcome
	for i := 2; i <= 70; i++ {
		outs = append(outs, must(t)(m.Apply(t.Context(), fsm.Ref{ID: "p1"}, note(fmt.Sprint("r", i), []string{"x", "y"}[i%2]))))
	}
	show = func(e *fsm.Event) bool {
		if e.Rev > 1 {
			e.Image = fsm.JSON{}
		}
		return true
	}
	for _, i := range []int{63, 64, 66, 70} {
		again := must(t)(m.Apply(t.Context(), fsm.Ref{ID: "p1"}, note(fmt.Sprint("r", i), []string{"x", "y"}[i%2])))
		if first := outs[i-2]; !again.Replayed || cmp.Diff(storetest.Encode(&first.Record), storetest.Encode(&again.Record)) != "" || again.Current.Rev != 70 {
			t.Errorf("revision %d: got %+v, want %+v", i, again, first)
		}
	}
	for want, hidden := range map[string]func(e *fsm.Event) bool{
		"starts without an image":                    func(e *fsm.Event) bool { return e.Rev != 1 && e.Rev < 64 || e.Rev == 66 },
		"the log ends at revision 65, before 66":     func(e *fsm.Event) bool { return e.Rev < 66 },
		"at revision 66: the revision follows 64":    func(e *fsm.Event) bool { return e.Rev != 65 },
		"the log ends at revision 0, before 66: the": func(*fsm.Event) bool { return false },
	} {
		show = nil
		tx := &readBy{}
		store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
			return table.Update(ctx, func(inner fsm.Tx) error {
				*tx = readBy{inner, &tampered{Reader: inner, event: hidden}}
				return f(&hooked{Tx: tx, request: inner.Request})
			})
		}
		if _, err := m.Apply(t.Context(), fsm.Ref{ID: "p1"}, note("r66", "x")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

// The state as of a revision is folded from the image before it, and from the
// begin where a program of an older version, which is open beside this one, wrote
// that image and did not know all fields.
func TestReplayBesideAnOlderVersion(t *testing.T) {
	t.Parallel()
	var show func(e *fsm.Event)
	var reads []int64
	schema := storetest.Schema()
	schema.Version = 2
	store := &wrapped{Store: newStore()}
	m := open(t, store, schema, fixed())
	must(t)(m.Create(t.Context(), storetest.Register(meta("r1"), storetest.RegisterInput{ID: "p1", Lane: "a", Label: fsm.Some("l")})))
	for i := 2; i <= 70; i++ {
		must(t)(m.Apply(t.Context(), fsm.Ref{ID: "p1"}, note(fmt.Sprint("r", i), []string{"x", "y"}[i%2])))
	}
	store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		return table.Update(ctx, func(tx fsm.Tx) error {
			return f(&following{Tx: tx, show: show, reads: &reads})
		})
	}
	lacking := func(e *fsm.Event) {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(e.Image.String()), &members); err != nil {
			t.Error(err)
		}
		delete(members, "label")
		text, err := json.Marshal(members)
		if err != nil {
			t.Error(err)
		}
		e.Image = fsm.MustJSON(string(text))
	}
	none := fsm.Optional[string]{}
	for _, tt := range []struct {
		name    string
		at      int64 // the revision of the event that another program wrote
		version int   // of that program
		lacks   bool
		rev     int64 // that is asked for
		reads   []int64
		label   fsm.Optional[string]
	}{
		{"none", 64, 2, false, 66, []int64{64}, fsm.Some("l")},
		{"an older image that lacks a field", 64, 1, true, 66, []int64{64, 1}, fsm.Some("l")},
		{"and is the newest event", 64, 1, true, 64, []int64{64, 1}, fsm.Some("l")},
		{"an older image that holds all fields", 64, 1, false, 66, []int64{64}, fsm.Some("l")},
		{"an older event behind the image", 65, 1, false, 66, []int64{64}, fsm.Some("l")},
		{"an older image at the begin", 1, 1, true, 10, []int64{1}, none},
		{"an image of this version that lacks a field", 64, 2, true, 66, []int64{64}, none},
		{"a later image that lacks a field", 64, 3, true, 66, []int64{64}, none},
	} {
		reads = nil
		show = func(e *fsm.Event) {
			if e.Rev == tt.at {
				e.Version = tt.version
				if tt.lacks {
					lacking(e)
				}
			}
		}
		out, err := m.Apply(t.Context(), fsm.Ref{ID: "p1"}, note(fmt.Sprint("r", tt.rev), []string{"x", "y"}[tt.rev%2]))
		if err != nil || !out.Replayed || out.Record.Rev != tt.rev || out.Record.Label != tt.label {
			t.Errorf("%s: got %+v, %v; want revision %d with the label %v", tt.name, out.Record, err, tt.rev, tt.label)
		}
		if diff := cmp.Diff(tt.reads, reads); diff != "" {
			t.Errorf("%s: the log was read from (-want +got)\n%s", tt.name, diff)
		}
	}
}

// following is a transaction that notes from where logs are read, and shows other
// events than the store holds.
type following struct {
	fsm.Tx
	show  func(e *fsm.Event)
	reads *[]int64
}

func (c *following) Events(id string, from int64) iter.Seq2[fsm.Event, error] {
	*c.reads = append(*c.reads, from)
	return func(yield func(fsm.Event, error) bool) {
		for e, err := range c.Tx.Events(id, from) {
			c.show(&e)
			if !yield(e, err) {
				return
			}
		}
	}
}

// readBy is a transaction that reads through another reader.
type readBy struct {
	fsm.Tx
	tampered *tampered
}

func (r *readBy) Events(id string, from int64) iter.Seq2[fsm.Event, error] {
	return r.tampered.Events(id, from)
}

// A step of `then` that is only recorded belongs to the outcome as well, also
// when it is replayed.
func TestReplayOfAThenThatIsRecordedOnly(t *testing.T) {
	t.Parallel()
	store := newStore()
	open(t, store, storetest.Schema())
	d, _ := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
		"discard": func(op *fsmimpl.Operation[storetest.Parcel]) {
			op.System = func(*storetest.Parcel, time.Time) (fsmimpl.Call[storetest.Parcel], error) {
				c := storetest.Discard()
				c.Decide = func(p *storetest.Parcel, _ string, _ []int64, _ time.Time) (fsmimpl.Step, error) {
					return fsmimpl.Step{From: p.State, To: p.State, RecordOnly: true, Guard: "light"}, nil
				}
				return c, nil
			}
		},
	})
	m, err := fsm.NewMachine(t.Context(), store, d, effects(nil), fixed())
	if err != nil {
		t.Fatal(err)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	first := must(t)(m.Apply(t.Context(), out, storetest.Expel(meta("r"))))
	must(t)(m.Apply(t.Context(), first, note("", "x")))
	again := must(t)(m.Apply(t.Context(), out, storetest.Expel(meta("r"))))
	if len(first.Events) != 2 || len(again.Events) != 2 || again.Events[1].Guard != "light" || !again.Replayed || cmp.Diff(storetest.Encode(&first.Record), storetest.Encode(&again.Record)) != "" {
		t.Errorf("got %d events (%+v), and %d of the replay (%+v), want both to have two", len(first.Events), first, len(again.Events), again)
	}
}

// A record as of a revision does not go on beyond it, also where the log came
// from somewhere without request ids.
func TestEffectInALogWithoutRequests(t *testing.T) {
	t.Parallel()
	store := &wrapped{Store: newStore()}
	open(t, store, storetest.Schema())
	d, ops := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
		"dispatch": noFollower,
	})
	var seen []int64
	m, err := fsm.NewMachine(t.Context(), store, d, effects(
		func(_ context.Context, _ fsm.Tx, p storetest.Parcel, _ string, _ fsm.Event) error {
			seen = append(seen, p.Rev)
			return nil
		}), fixed())
	if err != nil {
		t.Fatal(err)
	}
	dispatched(t, m, ops["dispatch"]) // at revision 4, and annotated at 5
	store.view = func(table driver.Table, ctx context.Context, f func(driver.Reader) error) error {
		return table.View(ctx, func(r driver.Reader) error {
			return f(&tampered{Reader: r, event: func(e *fsm.Event) bool { e.RequestID = ""; return true }})
		})
	}
	if n, err := m.Deliver(t.Context()); n != 1 || err != nil || len(seen) != 1 || seen[0] != 4 {
		t.Errorf("delivered %d, %v with the records %v, want the one of revision 4", n, err, seen)
	}
}
