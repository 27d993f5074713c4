package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/console/run"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// How runs are removed that nobody needs any more.
const (
	keepRuns  = 90 * 24 * time.Hour // after their last change, unless Options.KeepRuns says otherwise
	tidyEvery = time.Hour
	tidyTime  = time.Minute
	tidyMost  = 200 // runs at once
	tidyActor = "console"
)

// tidy removes runs that are not to be kept, beside the request, once in a while.
func (h *Handler) tidy() {
	if h.o.KeepRuns < 0 {
		return
	}
	now, last := h.o.Runs.Core().Engine().Now().UnixMicro(), h.tidied.Load()
	if last != 0 && now-last < tidyEvery.Microseconds() || !h.tidied.CompareAndSwap(last, now) {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), tidyTime)
		defer cancel()
		_ = h.forgetRuns(ctx) // what is left is tried an hour later
	}()
}

// forgetRuns stops what nobody has gone on with, and removes the runs that ended long enough ago: all pieces of a run, or
// none.
func (h *Handler) forgetRuns(ctx context.Context) error {
	keep := h.o.KeepRuns
	if keep == 0 {
		keep = keepRuns
	}
	core := h.o.Runs.Core()
	before := core.Engine().Now().Add(-keep)
	old := driver.Cond{Column: "updated_at", Op: driver.OpLt, Value: driver.Time(before)}
	for piece, err := range core.List(ctx, driver.Query{
		States: []string{run.StateDrafted.String(), run.StateWaiting.String()}, Where: []driver.Cond{old}, Limit: tidyMost,
	}) {
		if err != nil {
			return err
		}
		why := fmt.Sprintf("nobody has gone on with it for %s", length(keep))
		c := fsm.Call{RequestID: "forget " + piece.ID, Actor: tidyActor, Reason: why}
		if _, err := h.o.Runs.Stop(ctx, piece, c); err != nil && !wrongState(err) && !errors.Is(err, fsm.ErrStale) {
			return err
		}
	}
	first := driver.Cond{Column: "number", Op: driver.OpEq, Value: int64(0)}
	var ids []string
	for piece, err := range core.List(ctx, driver.Query{
		States: []string{run.StateDone.String(), run.StateStopped.String()}, Where: []driver.Cond{old, first}, Limit: tidyMost,
	}) {
		if err != nil {
			return err
		}
		ids = append(ids, piece.Run)
	}
	for _, id := range ids {
		if err := h.forgetRun(ctx, id, before, keep); err != nil {
			return err
		}
	}
	return nil
}

// forgetRun removes a run, unless a piece of it has not ended, or not long enough ago. The piece by which it is found goes last.
func (h *Handler) forgetRun(ctx context.Context, id string, before time.Time, keep time.Duration) error {
	list, err := piecesOf(ctx, h.o.Runs, id)
	if err != nil {
		return err
	}
	var ids []string
	for i := range list {
		if ended := list[i].State == run.StateDone || list[i].State == run.StateStopped; !ended || !list[i].UpdatedAt.Before(before) {
			return nil
		}
		ids = append(ids, list[i].ID)
	}
	o := audit.PurgeOptions{Before: before, Actor: tidyActor, Reason: fmt.Sprintf("it ended more than %s ago", length(keep))}
	for _, some := range [][]string{ids[1:], ids[:1]} { // they come by number
		for part := range slices.Chunk(some, pieceMost) {
			o.IDs = part
			if _, err := audit.Purge(ctx, h.o.Runs, o); err != nil {
				return err
			}
		}
	}
	return nil
}
