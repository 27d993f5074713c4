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
	since := now - last // less than 0: the clock was set back
	if last != 0 && since >= 0 && since < tidyEvery.Microseconds() || !h.tidied.CompareAndSwap(last, now) {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), tidyTime)
		defer cancel()
		_ = h.forgetRuns(ctx) // what is left is tried an hour later
	}()
}

// forgetRuns stops what nobody has gone on with, and removes the runs that ended long enough ago: all pieces of a run, or
// none. A run that stays keeps no other one from being removed.
func (h *Handler) forgetRuns(ctx context.Context) error {
	keep := h.o.KeepRuns
	if keep == 0 {
		keep = keepRuns
	}
	core := h.o.Runs.Core()
	before := core.Engine().Now().Add(-keep)
	old := driver.Cond{Column: "updated_at", Op: driver.OpLt, Value: driver.Time(before)}
	var failed []error
	left := tidyMost
	rest := map[string]bool{} // by run: nobody has gone on with any piece of it
	for piece, err := range core.List(ctx, driver.Query{
		States: []string{run.StateDrafted.String(), run.StateWaiting.String()}, Where: []driver.Cond{old},
	}) {
		if err == nil {
			err = h.stopOld(ctx, &piece, before, keep, rest, &left)
		}
		if failed = append(failed, err); ctx.Err() != nil || left == 0 {
			break
		}
	}
	first := driver.Cond{Column: "number", Op: driver.OpEq, Value: int64(0)}
	left = tidyMost
	for piece, err := range core.List(ctx, driver.Query{
		States: []string{run.StateDone.String(), run.StateStopped.String()}, Where: []driver.Cond{old, first},
	}) {
		removed := false
		if err == nil {
			removed, err = h.forgetRun(ctx, piece.Run, before, keep)
		}
		if removed {
			left--
		}
		if failed = append(failed, err); ctx.Err() != nil || left == 0 {
			break
		}
	}
	return errors.Join(failed...)
}

// stopOld stops a piece, unless somebody has gone on with its run.
func (h *Handler) stopOld(
	ctx context.Context, piece *run.Piece, before time.Time, keep time.Duration, rest map[string]bool, left *int,
) error {
	rests, known := rest[piece.Run]
	if !known {
		list, err := piecesOf(ctx, h.o.Runs, piece.Run)
		if err != nil {
			return err
		}
		rests = !slices.ContainsFunc(list, func(p run.Piece) bool { return !p.UpdatedAt.Before(before) })
		rest[piece.Run] = rests
	}
	if !rests {
		return nil
	}
	*left--
	why := fmt.Sprintf("nobody has gone on with it for %s", length(keep))
	c := fsm.Call{RequestID: "forget " + piece.ID, Actor: tidyActor, Reason: why}
	if _, err := h.o.Runs.Stop(ctx, *piece, c); err != nil && !wrongState(err) && !errors.Is(err, fsm.ErrStale) {
		return err
	}
	return nil
}

// forgetRun removes a run, unless a piece of it has not ended, or not long enough ago, or another process has removed it. The
// piece by which it is found goes last.
func (h *Handler) forgetRun(ctx context.Context, id string, before time.Time, keep time.Duration) (removed bool, err error) {
	list, err := piecesOf(ctx, h.o.Runs, id)
	if err != nil || len(list) == 0 {
		return false, err
	}
	var ids []string
	for i := range list {
		if ended := list[i].State == run.StateDone || list[i].State == run.StateStopped; !ended || !list[i].UpdatedAt.Before(before) {
			return false, nil
		}
		ids = append(ids, list[i].ID)
	}
	o := audit.PurgeOptions{Before: before, Actor: tidyActor, Reason: fmt.Sprintf("it ended more than %s ago", length(keep))}
	for _, some := range [][]string{ids[1:], ids[:1]} { // they come by number
		for part := range slices.Chunk(some, pieceMost) {
			o.IDs = part
			if _, err := audit.Purge(ctx, h.o.Runs, o); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}
