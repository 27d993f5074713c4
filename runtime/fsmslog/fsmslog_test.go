package fsmslog_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/fsmslog"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// shorter leaves out what each line has: it stands for " machine=parcel" and " duration=some".
var shorter = strings.NewReplacer("level=", "", "msg=", "", " machine=parcel", ":", " duration=some", ".", " event=", " ",
	`parcel \"p1\" at revision 2: `, "")

// logLines are what a handler of a level got, without times.
func logLines(level slog.Level) (*slog.Logger, func() []string) {
	var b bytes.Buffer
	h := slog.NewTextHandler(&b, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch {
		case a.Key == slog.TimeKey:
			return slog.Attr{}
		case a.Key == "duration" && a.Value.Kind() == slog.KindDuration && a.Value.Duration() >= 0:
			return slog.String("duration", "some")
		}
		return a
	}})
	return slog.New(h), func() []string {
		text := strings.TrimSuffix(b.String(), "\n")
		b.Reset()
		return strings.Split(shorter.Replace(text), "\n")
	}
}

// Each event is a line, refusals are quiet, faults are loud, and no value of a record or of a call stands there.
func TestObserver(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	broke := func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error {
		return errors.New("no money")
	}
	effects := map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": broke, "carry": broke, "notify": broke}
	meta := func(request string) storetest.Meta {
		return storetest.Meta{RequestID: request, Actor: "ann", Reason: "why"}
	}
	for _, c := range []struct {
		level slog.Level
		o     fsmslog.Options
		want  []string
	}{
		{slog.LevelDebug, fsmslog.Options{}, []string{
			`INFO transition: id=p1 operation=register register from="" to=waiting rev=1 actor=ann reason=why request_id=c1.`,
			`INFO replayed: operation=register id=p1 request_id=c1 calls=1.`,
			`DEBUG refused: operation=send id=p1 actor=ann request_id=s1 code=wrong_state.`,
			`WARN "effect failed": operation=bill effect=charge id=p1 actor=ann request_id=a code=error error="no money".`,
			`ERROR fault: operation=bill id=p1 actor=ann request_id=b1 code=effect error="effect charge (key \"a\"): no money".`,
			`INFO recorded: id=p1 operation=verify verify from=waiting to=waiting rev=1 actor=ann reason=why guard=same_weight request_id=n1.`,
			`DEBUG cancelled: operation=bill id=p1 actor=ann request_id=b2 code=error.`,
		}},
		{slog.LevelInfo, fsmslog.Options{NoActor: true, NoReason: true}, []string{
			`INFO transition: id=p1 operation=register register from="" to=waiting rev=1 request_id=c1.`,
			`INFO replayed: operation=register id=p1 request_id=c1 calls=1.`,
			`WARN "effect failed": operation=bill effect=charge id=p1 request_id=a code=error error="no money".`,
			`ERROR fault: operation=bill id=p1 request_id=b1 code=effect error="effect charge (key \"a\"): no money".`,
			`INFO recorded: id=p1 operation=verify verify from=waiting to=waiting rev=1 guard=same_weight request_id=n1.`,
		}},
		{slog.LevelError + 1, fsmslog.Options{}, []string{""}},
	} {
		l, lines := logLines(c.level)
		store, schema := memstore.New(), storetest.Schema()
		if err := fsmimpl.Migrate(ctx, store, schema); err != nil {
			t.Fatal(err)
		}
		m, err := fsm.NewMachine(ctx, store, storetest.Descriptor(schema), effects,
			fsm.WithObserver(fsmslog.Observer(l, c.o)))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := m.Create(ctx, storetest.Register(meta("c1"), storetest.RegisterInput{ID: "p1", Lane: "a"})); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := m.Apply(ctx, fsm.Ref{ID: "p1"}, storetest.Send(meta("s1"))); !errors.Is(err, fsm.ErrWrongState) {
			t.Fatal(err)
		}
		if _, err := m.Apply(ctx, fsm.Ref{ID: "p1"}, storetest.Bill(meta("b1"))); !errors.Is(err, fsm.ErrEffect) {
			t.Fatal(err)
		}
		if _, err := m.Apply(ctx, fsm.Ref{ID: "p1"}, storetest.Verify(meta("n1"), 4711, 1)); err != nil {
			t.Fatal(err)
		}
		gone, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := m.Apply(gone, fsm.Ref{ID: "p1"}, storetest.Bill(meta("b2"))); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, lines()); diff != "" {
			t.Errorf("at %v (-want +got):\n%s", c.level, diff)
		}
	}
}

// A handler that takes nothing is asked, and nothing else happens.
func TestCostsNothing(t *testing.T) {
	o := fsmslog.Observer(slog.New(slog.DiscardHandler), fsmslog.Options{})
	ctx, call := t.Context(), fsm.Observed{Machine: "m", Operation: "op", Calls: 1}
	if n := testing.AllocsPerRun(100, func() {
		if _, end := o(ctx, call); end != nil {
			t.Error("it wants to hear how the call ends")
		}
	}); n != 0 {
		t.Errorf("%v allocations for each call", n)
	}
}
