package sqlstore

import (
	"context"
	"errors"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/internal/call"
)

// Those who wait share an alarm. It rings for the earliest of them.
func TestAlarms(t *testing.T) {
	t.Parallel()
	var a alarms
	late, early := call.Begin(t.Context(), time.Hour), call.Begin(t.Context(), 3*time.Second)
	first := a.of(late)
	if a.of(call.Begin(t.Context(), 2*time.Hour)) != first {
		t.Error("who may wait longer has an alarm of its own")
	}
	next := a.of(early)
	if next == first || a.of(late) != next {
		t.Error("who may wait less long has no alarm of its own, or the others do not share it")
	}
	<-next
	if !errors.Is(call.Err(early), call.ErrOver) || call.Err(late) != nil {
		t.Errorf("after the alarm the early one has %v and the late one %v", call.Err(early), call.Err(late))
	}
	select {
	case <-a.of(late):
		t.Error("the alarm that rang is given again")
	default:
	}
	if a.of(t.Context()) != nil {
		t.Error("a call without a limit has an alarm")
	}
}

// Who may wait no longer leaves the queue, and nobody else does.
func TestAlarmOfOne(t *testing.T) {
	t.Parallel()
	started, hold := make(chan struct{}), make(chan struct{})
	d := newDesk(t, func(batch []*job) bool {
		if batch[0].w.Prev.ID == "leader" {
			close(started)
			<-hold
		}
		for _, j := range batch {
			j.answer(nil)
		}
		return false
	})
	answers := make(chan error, 2)
	go func() { answers <- d.ask(context.Background(), "leader") }()
	<-started
	stays := make(chan error, 1)
	go func() { stays <- d.ask(call.Begin(context.Background(), time.Hour), "stays") }()
	d.waiting(t, 1)
	if err := d.ask(call.Begin(context.Background(), 50*time.Millisecond), "goes"); !errors.Is(err, fsm.ErrBusy) {
		t.Errorf("who may wait no longer gets %v, want a refusal", err)
	}
	d.waiting(t, 1)
	close(hold)
	if err := errors.Join(<-answers, <-stays); err != nil {
		t.Error(err)
	}
}
