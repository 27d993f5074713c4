package worker

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// job is a record that a worker works on.
type job[R any] struct {
	w     *Worker[R]
	h     *fsm.Held[R] // as it was claimed
	id    string
	asked time.Time // the claim; its lease counts from then
	began time.Time
	ctx   context.Context // without an end, for what the worker writes and reads

	mu    sync.Mutex
	end   context.CancelCauseFunc // of the work's context; nil before it begins
	letGo func()                  // of the store's bell
	over  bool                    // the work has returned: from then on the record cannot be lost
	gone  *LostError              // why it was lost; nil while it is the worker's
	hangs bool                    // Stuck was told
}

func (w *Worker[R]) job(h *fsm.Held[R], asked time.Time) *job[R] {
	return &job[R]{w: w, h: h, id: h.Ref().ID, asked: asked}
}

func (j *job[R]) log() *slog.Logger { return j.w.opt.Log.With("id", j.id) }

// tell tells what happened to the record.
func (j *job[R]) tell(kind Kind, err error) {
	j.w.observe(Event{Kind: kind, ID: j.id, Took: time.Since(j.began), Err: err})
}

// lose tells the work, and everybody else, that the record is lost. It does nothing once
// the work has returned, or when it was told before.
func (j *job[R]) lose(e *LostError) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e == nil || j.over || j.gone != nil {
		return
	}
	j.gone = e
	j.end(e)
	j.tellLost(e)
	j.letGo()
}

func (j *job[R]) tellLost(e *LostError) {
	kind := e.kind()
	if kind == Cancelled {
		j.log().InfoContext(j.ctx, "moved"+e.by(), "state", e.State)
	} else {
		j.log().WarnContext(j.ctx, "the record was lost while it was worked on", "cause", e)
	}
	j.tell(kind, e)
}

// lost returns why the record was lost, or nil.
func (j *job[R]) lost() *LostError {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.gone
}

// stuck tells that the work still runs though its context has ended.
func (j *job[R]) stuck(cause error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over || j.hangs || j.end == nil {
		return
	}
	j.hangs = true
	j.log().WarnContext(j.ctx, "the work still runs though its context has ended", "cause", cause)
	j.tell(Stuck, cause)
}

// returned notes that the work has returned.
func (j *job[R]) returned() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.over = true
	if j.hangs {
		j.tell(Returned, nil)
	}
}

// work works on the record.
func (j *job[R]) work(ctx context.Context) {
	w := j.w
	working, end := context.WithCancelCause(ctx)
	defer end(nil)
	j.mu.Lock()
	j.began, j.ctx, j.end = time.Now(), context.WithoutCancel(ctx), end
	j.letGo = w.bell.Hold(w.queue, j.id, func() { w.hear(j) })
	j.mu.Unlock()
	defer j.letGo() // what follows the work is the worker's own
	if w.do.Beat == nil {
		w.hear(j) // it may have been moved since the claim, and no heartbeat would find that
	}
	w.observe(Event{Kind: Claimed, ID: j.id})

	back := make(chan struct{})
	forget := context.AfterFunc(working, func() {
		late := time.NewTimer(patience)
		defer late.Stop()
		select {
		case <-back:
		case <-late.C:
			j.stuck(context.Cause(working))
		}
	})
	still := func() {}
	switch {
	case w.do.Beat != nil:
		still = j.beats()
	case w.opt.Lease > 0:
		over := time.AfterFunc(time.Until(j.asked.Add(w.opt.Lease)), func() { j.lose(w.leaseOver(j.id, nil)) })
		still = func() { over.Stop() }
	}
	after := sync.OnceFunc(func() {
		j.returned()
		close(back)
		still()
		forget()
	})
	defer after() // also when the work ends its goroutine
	err := j.guarded(working)
	after()
	j.finish(context.Cause(working), err)
}

// guarded runs the work and makes an error of a panic.
func (j *job[R]) guarded(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &fsm.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return j.w.do.Work(ctx, j.h)
}

// finish tells how the work ended that returned err, and writes down what is to be
// written. Whether the record is still the worker's is what the store says, not the
// handle: the work may have ended its stay by other means, or without an answer.
func (j *job[R]) finish(cause, err error) {
	w := j.w
	last := j.h.EngineNewest()
	rec := last.Record()
	ours := w.do.Holds(&rec)
	switch lost := j.lost(); {
	case lost != nil && err == nil && !ours: // its lease was over, but nobody had taken it
		j.log().InfoContext(j.ctx, "the work on a lost record has ended well")
		return
	case lost != nil:
		j.log().DebugContext(j.ctx, "the work on a lost record has returned", "error", err)
		return
	}
	doubtful := err == nil || errors.Is(err, fsm.ErrAmbiguous) // the record may be where the work wanted it
	if ours {
		f, unknown := j.ask(last, doubtful)
		switch {
		case unknown != nil && doubtful:
			j.tellLost(w.leaseOver(j.id, errors.Join(unknown, err)))
			return
		case unknown != nil: // what is written next is compared in the store
		case f.lost != nil:
			f.lost.Err = err
			j.tellLost(f.lost)
			return
		default:
			last, ours = f.h, !f.ended
		}
	}
	switch {
	case !ours && doubtful:
		j.tell(Done, nil)
	case errors.Is(cause, ErrStopping) && ours && err != nil:
		j.log().InfoContext(j.ctx, "stopped before the work was done", "error", err)
		if w.do.Release != nil {
			w.release(j.ctx, last)
		}
		j.tell(Released, err)
	default:
		if err == nil {
			err = ErrUnfinished
		}
		if ours && !j.failed(last, err) {
			return
		}
		j.log().WarnContext(j.ctx, "the work failed", "error", err)
		j.tell(Failed, err)
	}
}

// failed writes down that the work failed. It returns false where the record turned out
// not to be the worker's any more, which it has told.
func (j *job[R]) failed(h *fsm.Held[R], err error) bool {
	failed := j.w.do.Failed(j.ctx, h, err)
	if failed == nil {
		return true
	}
	if refusedForGood(failed) {
		switch f, unknown := j.w.fate(j.ctx, h.EngineNewest()); {
		case unknown != nil:
		case f.ended && errors.Is(err, fsm.ErrAmbiguous): // it landed meanwhile
			j.tell(Done, nil)
			return false
		case f.lost != nil:
			f.lost.Err = failed
			j.tellLost(f.lost)
			return false
		}
	}
	j.log().ErrorContext(j.ctx, "the failure was not recorded", "error", failed)
	return true
}

// ask reads what became of the record. Where only the store can know, it asks until there
// is an answer, as long as the lease may last.
func (j *job[R]) ask(h *fsm.Held[R], again bool) (fate[R], error) {
	begun := time.Now()
	for {
		f, err := j.w.fate(j.ctx, h)
		if err == nil || !again || forGood(err) || j.w.opt.Lease > 0 && time.Since(begun) >= j.w.opt.Lease {
			return f, err
		}
		time.Sleep(min(j.w.pause(), time.Second))
	}
}

// moment is the time between two looks at what has moved: it takes several together, and
// mostly the worker itself has moved it and has told nobody yet.
const moment = 100 * time.Millisecond

// hear notes that a record may have been moved; a moment later the worker looks.
func (w *Worker[R]) hear(j *job[R]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moved = append(w.moved, j)
	if !w.looking {
		w.looking = true
		time.AfterFunc(moment, w.look)
	}
}

// look looks at what may have been moved, one record after the other.
func (w *Worker[R]) look() {
	w.mu.Lock()
	list := w.moved
	w.moved = nil
	w.mu.Unlock()
	seen := map[*job[R]]bool{}
	var again []*job[R]
	for _, j := range list {
		if !seen[j] && !j.look() {
			again = append(again, j)
		}
		seen[j] = true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moved = append(w.moved, again...)
	if w.looking = len(w.moved) > 0; w.looking {
		time.AfterFunc(moment, w.look)
	}
}

// look loses the record if somebody has moved it. It returns false where that is not known.
func (j *job[R]) look() bool {
	j.mu.Lock()
	past := j.over || j.gone != nil
	j.mu.Unlock()
	if past {
		return true
	}
	last := j.h.EngineNewest()
	at, rec := last.Ref(), last.Record()
	if !j.w.do.Holds(&rec) {
		return true
	}
	f, err := j.w.fate(j.ctx, last)
	if err != nil {
		return forGood(err)
	}
	if j.h.EngineNewest() != last || last.Ref() != at {
		return false // the work went on meanwhile
	}
	j.lose(f.lost)
	return true
}

// beats lets a goroutine extend the lease from the first beat on: most work is over before.
// still ends it, and waits for a beat that has begun.
func (j *job[R]) beats() (still func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	first := time.AfterFunc(time.Until(j.asked.Add(j.w.opt.Beat)), func() {
		defer close(ended)
		j.beat(stop)
	})
	return func() {
		close(stop)
		if !first.Stop() {
			<-ended
		}
	}
}

// beat extends the lease, which was asked for at a time, until stop is closed, or
// loses the record. An answer that did not come is no refusal: as long as the lease
// may last it is asked for again.
func (j *job[R]) beat(stop <-chan struct{}) {
	w, asked := j.w, j.asked
	until := asked.Add(w.opt.Lease)
	for {
		next := asked.Add(w.opt.Beat)
		if next.After(until) { // the last beat failed: at the end of the lease the work is told
			next = until
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-stop:
			timer.Stop()
			return
		case <-timer.C:
		}
		last := j.h.EngineNewest()
		rec := last.Record()
		if !w.do.Holds(&rec) || j.lost() != nil {
			return // it has come to its end
		}
		asked = time.Now()
		if !w.do.Beats(&rec) { // the work has yet to bring it to where it is kept alive
			until = asked.Add(w.opt.Lease)
			continue
		}
		bounded, cancel := context.WithDeadline(j.ctx, until)
		over := context.AfterFunc(bounded, func() { j.lose(w.leaseOver(j.id, nil)) })
		err := w.do.Beat(bounded, last, w.now().Add(w.opt.Lease))
		over()
		cancel()
		switch {
		case err == nil:
			until = asked.Add(w.opt.Lease)
		case j.h.EngineNewest() != last: // the work went on meanwhile; its handle beats at once
			asked = asked.Add(-w.opt.Beat)
		case refusedForGood(err):
			j.lose(w.lost(j.ctx, last, err))
			return
		case !time.Now().Before(until):
			j.lose(w.leaseOver(j.id, err))
			return
		}
	}
}
