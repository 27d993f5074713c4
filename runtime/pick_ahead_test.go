package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/storetest"
)

// scouted is a store in which picks look without a lock, and of which a test sees
// and changes every step.
type scouted struct {
	wrapped
	// look replaces the query; ask makes it.
	look func(q fsm.Query, ask func() ([]fsm.Glimpse, error)) ([]fsm.Glimpse, error)
	// write replaces the write of a pick; do makes it.
	write func(w *fsm.Write, do func() error) error

	mu      sync.Mutex
	limits  []int // of the queries without a lock
	written []*fsm.Write
	locks   int // transactions
}

type scoutedTable struct {
	wrappedBulk
	s *scouted
}

func (s *scouted) Table(schema *fsm.Schema) (fsm.Table, error) {
	t, err := s.wrapped.Table(schema)
	return &scoutedTable{*t.(*wrappedBulk), s}, err
}

func (t *scoutedTable) Glance(ctx context.Context, q fsm.Query) (seen []fsm.Glimpse, err error) {
	t.s.mu.Lock()
	t.s.limits = append(t.s.limits, q.Limit)
	look := t.s.look
	t.s.mu.Unlock()
	ask := func() ([]fsm.Glimpse, error) {
		var seen []fsm.Glimpse
		err := t.Table.View(ctx, func(r fsm.Reader) error {
			for row, err := range r.Rows(q) {
				if err != nil {
					return err
				}
				seen = append(seen, fsm.Glimpse{Row: row})
			}
			return nil
		})
		return seen, err
	}
	if look != nil {
		return look(q, ask)
	}
	return ask()
}

// seen returns what has happened since the last time: the limits of queries without
// a lock, the records that were written by themselves, and how many transactions
// there were.
func (s *scouted) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, w := range s.written {
		ids = append(ids, w.Prev.ID)
	}
	text := fmt.Sprintf("looks %v writes %v locks %d", s.limits, ids, s.locks)
	s.limits, s.written, s.locks = nil, nil, 0
	return text
}

// scouting opens a machine over such a store, with these parcels.
func scouting(t *testing.T, ids ...string) (*scouted, *machine) {
	t.Helper()
	s := &scouted{wrapped: wrapped{Store: newStore()}}
	m := open(t, s, storetest.Schema(), fixed())
	waiting(t, m, ids...)
	s.update = func(table fsm.Table, ctx context.Context, f func(fsm.Tx) error) error {
		s.mu.Lock()
		s.locks++
		s.mu.Unlock()
		return table.Update(ctx, f)
	}
	s.commit = func(table fsm.Table, ctx context.Context, w *fsm.Write) error {
		s.mu.Lock()
		s.written = append(s.written, w)
		write := s.write
		s.mu.Unlock()
		if write != nil {
			return write(w, func() error { return table.Commit(ctx, w) })
		}
		return table.Commit(ctx, w)
	}
	return s, m
}

// stop makes the write of a record wait, and returns what lets it go on with an
// error that wrote nothing, or nil.
func (s *scouted) stop(id string) chan<- error {
	end, before := make(chan error, 1), s.write
	s.write = func(w *fsm.Write, do func() error) error {
		if w.Prev.ID == id {
			if err := <-end; err != nil {
				return err
			}
		} else if before != nil {
			return before(w, do)
		}
		return do()
	}
	return end
}

// asks makes picks one after the other, without waiting for their ends.
type asks struct {
	t   *testing.T
	m   *machine
	all sync.WaitGroup
}

// pick makes a pick of one record that is to get one of them; none: nothing to do.
func (a *asks) pick(rid, want string) {
	a.call(a.t.Context(), 1, storetest.Hold(meta(rid), "a", start), want)
}

func (a *asks) call(ctx context.Context, n int, c fsm.Call[storetest.Parcel], want string) {
	a.all.Go(func() {
		outs, err := a.m.Pick(ctx, n, c)
		got := ""
		for i, out := range outs {
			if got += out.Record.ID; i < len(outs)-1 {
				got += " "
			}
		}
		switch {
		case errors.Is(err, fsm.ErrNothingToDo) && !errors.Is(err, fsm.ErrAmbiguous):
			got = "nothing"
		case err != nil:
			got = err.Error()
		}
		if got != want {
			a.t.Errorf("%s: got %q, want %q", c.RequestID, got, want)
		}
	})
	synctest.Wait()
}

func (s *scouted) check(t *testing.T, what, want string) {
	t.Helper()
	if got := s.seen(); got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// ahead runs f over parcels p1 to pn.
func ahead(t *testing.T, n int, f func(t *testing.T, s *scouted, m *machine, a *asks)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var ids []string
		for i := range n {
			ids = append(ids, fmt.Sprint("p", i+1))
		}
		s, m := scouting(t, ids...)
		a := &asks{t: t, m: m}
		f(t, s, m, a)
		a.all.Wait()
		if n := m.Aloft(); n != 0 {
			t.Errorf("%d things are kept of picks that have ended", n)
		}
		if list := findings(t, m); list != nil {
			t.Errorf("audit: %v", list)
		}
	})
}

// A pick is a look and a write that compares the whole row it was decided on; n of
// them are one transaction.
func TestPickAhead(t *testing.T) {
	t.Parallel()
	ahead(t, 6, func(t *testing.T, s *scouted, m *machine, a *asks) {
		var old *fsm.Row
		s.write = func(w *fsm.Write, do func() error) error { old = w.Old; return do() }
		a.pick("r1", "p1")
		s.check(t, "one", "looks [1] writes [p1] locks 0")
		if old == nil || old.ID != "p1" || old.Rev != 1 || old.State != "waiting" || old.Values[0] == nil && len(old.Values) == 0 {
			t.Errorf("compared with %v, want the row as it was seen", old)
		}
		a.call(t.Context(), 2, storetest.Hold(meta("r2"), "a", start), "p2 p3")
		s.check(t, "two", "looks [2] writes [] locks 1")
		a.call(t.Context(), 7, storetest.Hold(meta("r3"), "a", start), "p4 p5 p6")
		s.check(t, "more than there are", "looks [7] writes [] locks 1")
		a.pick("r4", "nothing")
		s.check(t, "none", "looks [1] writes [] locks 1")
	})
}

// What another pick is about to take is left to it, and seen past.
func TestPickPastThoseOnTheirWay(t *testing.T) {
	t.Parallel()
	ahead(t, 5, func(t *testing.T, s *scouted, m *machine, a *asks) {
		one := s.stop("p1")
		two := s.stop("p2")
		a.pick("r1", "p1")
		a.pick("r2", "p2")
		a.call(t.Context(), 2, storetest.Hold(meta("r3"), "a", start), "p3 p4")
		s.check(t, "while two are on their way", "looks [1 2 4] writes [p1 p2] locks 1")
		close(one)
		close(two)
		synctest.Wait()
		a.pick("r4", "p5")
		s.check(t, "when they have landed", "looks [1] writes [p5] locks 0")
	})
}

// Those who come while one looks are served by the next look, all of them.
func TestLooksAreShared(t *testing.T) {
	t.Parallel()
	ahead(t, 4, func(t *testing.T, s *scouted, m *machine, a *asks) {
		look := make(chan bool)
		s.look = func(_ fsm.Query, ask func() ([]fsm.Glimpse, error)) ([]fsm.Glimpse, error) {
			<-look
			return ask()
		}
		for i := range 4 {
			a.pick(fmt.Sprint("r", i), fmt.Sprint("p", i+1))
		}
		close(look)
		a.all.Wait()
		if got := s.seen(); got != "looks [1 4] writes [p1 p2 p3 p4] locks 0" && len(s.limits) != 0 {
			t.Errorf("got %s", got)
		}
	})
}

// Who sees only records that are on their way waits: when the write of one fails, it
// gets that record; when all are taken, there is nothing to do.
func TestPickWaitsForThoseOnTheirWay(t *testing.T) {
	t.Parallel()
	for _, fails := range []bool{true, false} {
		ahead(t, 1, func(t *testing.T, s *scouted, m *machine, a *asks) {
			end := s.stop("p1")
			ctx, leave := context.WithCancel(t.Context())
			first, want := "p1", "nothing"
			if fails {
				first, want = context.Canceled.Error(), "p1"
			}
			a.call(ctx, 1, storetest.Hold(meta("r1"), "a", start), first)
			a.pick("r2", want)
			s.check(t, "on its way", "looks [1 2] writes [p1] locks 0")
			s.mu.Lock()
			s.write = nil
			s.mu.Unlock()
			if fails {
				leave()
				end <- ctx.Err()
			} else {
				end <- nil
			}
			a.all.Wait()
			want = "looks [1] writes [] locks 1"
			if fails {
				want = "looks [1] writes [p1] locks 0"
			}
			s.check(t, "afterwards", want)
			leave()
		})
	}
}

// A wish that cannot be met in full waits as well, for what may come back.
func TestPickOfSeveralWaits(t *testing.T) {
	t.Parallel()
	ahead(t, 2, func(t *testing.T, s *scouted, m *machine, a *asks) {
		end := s.stop("p1")
		a.pick("r1", "p1")
		a.call(t.Context(), 2, storetest.Hold(meta("r2"), "a", start), "p2")
		s.check(t, "on its way", "looks [1 3] writes [p1] locks 0")
		close(end)
		a.all.Wait()
		s.check(t, "afterwards", "looks [2] writes [p2] locks 0")
	})
}

// Who waits may leave.
func TestWhoWaitsForThoseOnTheirWayLeaves(t *testing.T) {
	t.Parallel()
	ahead(t, 1, func(t *testing.T, s *scouted, m *machine, a *asks) {
		end := s.stop("p1")
		a.pick("r1", "p1")
		ctx, leave := context.WithCancel(t.Context())
		a.call(ctx, 1, storetest.Hold(meta("r2"), "a", start), context.Canceled.Error())
		leave()
		synctest.Wait()
		close(end)
		a.all.Wait()
		s.check(t, "all", "looks [1 2] writes [p1] locks 0")
	})
}

// Who always sees one that is on its way goes the locked way in the end, which has
// an answer; the other one finds out that it came too late.
func TestPickWaitsABoundedNumberOfTimes(t *testing.T) {
	t.Parallel()
	const most = 8
	ahead(t, most+1, func(t *testing.T, s *scouted, m *machine, a *asks) {
		end := s.stop("p1")
		a.pick("r0", "nothing")
		looks := 0
		s.look = func(q fsm.Query, ask func() ([]fsm.Glimpse, error)) ([]fsm.Glimpse, error) {
			if len(q.Where) == 1 && q.Where[0].Column == "weight" {
				looks++
			}
			return ask()
		}
		only := storetest.Hold(meta("only"), "a", start)
		only.Where = []fsm.Cond{{Column: "weight", Op: fsm.OpGe, Value: int64(99)}}
		a.call(t.Context(), 1, only, "p1")
		for i := range most {
			if looks != i+1 {
				t.Errorf("%d looks after %d others have landed", looks, i)
			}
			a.pick(fmt.Sprint("r", i+1), fmt.Sprint("p", i+2))
		}
		close(end)
		a.all.Wait()
		if looks != most {
			t.Errorf("%d looks, want %d", looks, most)
		}
	})
}
