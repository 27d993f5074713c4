package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/storetest"
)

// What the write of a pick without a lock meets, and what the caller hears of it.
func TestWhatAPickAheadMeets(t *testing.T) {
	t.Parallel()
	busy := &fsm.Refusal{Ground: &fsm.Ground{Code: fsm.CodeBusy, Machine: "parcel"}}
	rule := &fsm.Refusal{Ground: &fsm.Ground{Code: fsm.CodeInvariant, Machine: "parcel"}}
	for name, c := range map[string]struct {
		err    error
		lands  bool
		want   string
		seen   string
		locked bool // the next pick goes the locked way
	}{
		"moved":            {err: fsm.ErrMoved, want: "p1", seen: "looks [1] writes [p1] locks 1", locked: true},
		"not unique":       {err: &fsm.ConflictError{Rule: "one_per_slot"}, want: "p1", seen: "looks [1] writes [p1] locks 1"},
		"request known":    {err: fsm.ErrRequestTaken, want: "p1", seen: "looks [1] writes [p1] locks 1"},
		"against a rule":   {err: rule, want: "p1", seen: "looks [1] writes [p1] locks 1"},
		"busy":             {err: busy, want: "p1", seen: "looks [1] writes [p1] locks 1"},
		"lost":             {err: &fsm.AmbiguousError{Err: errLost}, want: "p1", seen: "looks [1] writes [p1] locks 1"},
		"lost, and landed": {err: &fsm.AmbiguousError{Err: errLost}, lands: true, want: "p1", seen: "looks [1] writes [p1] locks 0"},
		"any other":        {err: errLost, want: "p1", seen: "looks [1] writes [p1] locks 1"},
		"closed":           {err: fsm.ErrClosed, want: fsm.ErrClosed.Error(), seen: "looks [1] writes [p1] locks 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ahead(t, 2, func(t *testing.T, s *scouted, m *machine, a *asks) {
				s.write = func(_ *fsm.Write, do func() error) error {
					s.write = nil
					if c.lands {
						if err := do(); err != nil {
							t.Error(err)
						}
					}
					return c.err
				}
				a.pick("r1", c.want)
				a.all.Wait()
				s.check(t, "it", c.seen)
				next, seen := "p2", "looks [1] writes [p2] locks 0"
				if c.locked {
					seen = "looks [] writes [] locks 1"
				}
				if c.want != "p1" {
					next, seen = "p1", "looks [1] writes [p1] locks 0"
				}
				a.pick("r2", next)
				s.check(t, "the next", seen)
			})
		})
	}
}

// meeting returns a function that makes a pick, which may meet another program that
// was faster, and says whether it locked nothing at first; and one that makes picks
// that meet nobody until one locks nothing, and counts the others.
func meeting(t *testing.T) (pick func(meets bool) (ahead bool), locked func() int) {
	s, m := scouting(t)
	made := 0
	pick = func(meets bool) (ahead bool) {
		t.Helper()
		made++
		id := fmt.Sprintf("p%05d", made)
		must(t)(m.Create(t.Context(), storetest.Register(meta(""), in(id))))
		s.seen()
		if meets {
			s.write = func(*fsm.Write, func() error) error { s.write = nil; return fsm.ErrMoved }
		}
		outs, err := m.Pick(t.Context(), 1, storetest.Hold(meta(""), "a", start))
		if err != nil || len(outs) != 1 || outs[0].Record.ID != id {
			t.Fatalf("got %v, %v, want %s", outs, err, id)
		}
		s.write = nil
		return len(s.limits) > 0
	}
	locked = func() (n int) {
		t.Helper()
		for !pick(false) {
			n++
		}
		return n
	}
	return pick, locked
}

// One that was faster makes the next picks lock, and more of them each time; those
// that meet nobody make it fewer again.
func TestPicksLockAfterOneThatWasFaster(t *testing.T) {
	t.Parallel()
	pick, locked := meeting(t)
	if !pick(true) {
		t.Fatal("the first pick locked")
	}
	for i, want := range []int{16, 32, 64} {
		if got := locked(); got != want {
			t.Errorf("after %d that met another: %d locked, want %d", i+1, got, want)
		}
		if !pick(true) {
			t.Fatal("a pick locked too long")
		}
	}
	if got := locked(); got != 128 {
		t.Errorf("%d locked, want 128", got)
	}
	for range 127 + 64 { // one of 128 was the last of locked
		if !pick(false) {
			t.Fatal("a pick locked although none was met")
		}
	}
	if pick(true); locked() != 64 { // twice the half of the half
		t.Error("those that met nobody did not make it fewer")
	}
}

// Those that meet nobody count from the last one that met another.
func TestPicksAreCountedAnew(t *testing.T) {
	t.Parallel()
	pick, locked := meeting(t)
	pick(true)
	locked()
	for range 10 {
		pick(false)
	}
	pick(true) // 32 from now on
	locked()
	for range 25 { // too few for half of it
		pick(false)
	}
	if pick(true); locked() != 64 {
		t.Error("those that met nobody before count still")
	}
}

// Of several that are on their way and meet another program, one makes picks lock.
func TestSeveralThatMeetAnotherAtOnce(t *testing.T) {
	t.Parallel()
	ahead(t, 20, func(t *testing.T, s *scouted, m *machine, a *asks) {
		one := s.stop("p1")
		two := s.stop("p2")
		a.pick("r1", "p1")
		a.pick("r2", "p2")
		one <- fsm.ErrMoved
		synctest.Wait()
		two <- fsm.ErrMoved
		a.all.Wait()
		s.seen()
		for i := range 16 {
			a.pick(fmt.Sprint("r", i+3), fmt.Sprint("p", i+3))
		}
		s.check(t, "afterwards", "looks [] writes [] locks 16")
		a.pick("r19", "p19")
		s.check(t, "at last", "looks [1] writes [p19] locks 0")
	})
}

// The number of picks that lock is bounded, whatever happens.
func TestPicksThatLockAreBounded(t *testing.T) {
	t.Parallel()
	s, m := scouting(t, "p1")
	s.look = func(fsm.Query, func() ([]fsm.Glimpse, error)) ([]fsm.Glimpse, error) {
		p := storetest.Parcel{ID: "gone", State: "waiting", Rev: 1, Lane: "a", CreatedAt: start, UpdatedAt: start}
		return []fsm.Glimpse{{Row: storetest.Encode(&p)}}, nil // another program took it
	}
	must(t)(m.Apply(t.Context(), fsm.Ref{ID: "p1", Rev: 1}, storetest.Hold(meta(""), "a", start)))
	most, n := 0, 0
	for range 20000 {
		s.seen()
		if _, err := m.Pick(t.Context(), 1, storetest.Hold(meta(""), "a", start)); !errors.Is(err, fsm.ErrNothingToDo) {
			t.Fatal(err)
		}
		if n++; len(s.limits) > 0 {
			most, n = max(most, n-1), 0
		}
	}
	if most != 4096 {
		t.Errorf("%d locked in a row, want 4096", most)
	}
}

// A record that another writer has locked is left to the locked way, which waits for
// nobody; nobody is told to lock because of it.
func TestPickOfAHeldRecord(t *testing.T) {
	t.Parallel()
	ahead(t, 3, func(t *testing.T, s *scouted, m *machine, a *asks) {
		s.look = func(q fsm.Query, ask func() ([]fsm.Glimpse, error)) ([]fsm.Glimpse, error) {
			seen, err := ask()
			for i := range seen {
				seen[i].Held = seen[i].Row.ID == "p2"
			}
			return seen, err
		}
		a.pick("r1", "p1")
		s.check(t, "before it", "looks [1] writes [p1] locks 0")
		a.pick("r2", "p2") // this one's lock is gone by now
		s.check(t, "it", "looks [1] writes [] locks 1")
		a.pick("r3", "p3")
		s.check(t, "behind it", "looks [1] writes [p3] locks 0")
	})
}

// What an old look shows of a record that was taken meanwhile is not believed.
func TestLookThatIsTooOld(t *testing.T) {
	t.Parallel()
	ahead(t, 1, func(t *testing.T, s *scouted, m *machine, a *asks) {
		taken, on := s.stop("p1"), make(chan bool)
		a.pick("r1", "p1")
		s.look = func(_ fsm.Query, ask func() ([]fsm.Glimpse, error)) ([]fsm.Glimpse, error) {
			seen, err := ask()
			s.mu.Lock()
			s.look = nil
			s.mu.Unlock()
			<-on
			return seen, err
		}
		a.pick("r2", "nothing")
		close(taken)
		synctest.Wait()
		s.check(t, "the first", "looks [1 2] writes [p1] locks 0")
		close(on)
		a.all.Wait()
		s.check(t, "the second", "looks [1] writes [] locks 1")
	})
}

// Of two that look at the same time for different things and decide on the same
// record, one is first; the other looks again.
func TestTwoLooksDecideOnOneRecord(t *testing.T) {
	t.Parallel()
	ahead(t, 2, func(t *testing.T, s *scouted, m *machine, a *asks) {
		first, end := make(chan bool), s.stop("p1")
		slow := storetest.Hold(meta("r1"), "a", start)
		decide, asked := slow.Decide, 0
		slow.Decide = func(p *storetest.Parcel, id string, peers []int64, now time.Time) (fsm.Step, error) {
			if asked++; asked == 1 {
				<-first
			}
			return decide(p, id, peers, now)
		}
		a.call(t.Context(), 1, slow, "p2")
		other := storetest.Hold(meta("r2"), "a", start)
		other.Where = nil
		a.call(t.Context(), 1, other, "p1")
		close(first)
		synctest.Wait()
		s.check(t, "both", "looks [1 1] writes [p1] locks 0")
		close(end)
		a.all.Wait()
		s.check(t, "again", "looks [1] writes [p2] locks 0")
	})
}

// The same call twice at the same time: the second waits for the first, and replays.
func TestOnePickAheadTwice(t *testing.T) {
	t.Parallel()
	ahead(t, 3, func(t *testing.T, s *scouted, m *machine, a *asks) {
		end := s.stop("p1")
		a.pick("r1", "p1")
		a.pick("r1", "p1")
		s.check(t, "at the same time", "looks [1 2] writes [p1] locks 0")
		close(end)
		a.all.Wait()
		s.check(t, "afterwards", "looks [1] writes [p2] locks 1")
		a.pick("r2", "p2")
		a.pick("r1", "p1")
	})
}

// A panic is that of its caller, and leaves nothing on its way.
func TestPickAheadThatPanics(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"look", "decision", "write"} {
		ahead(t, 1, func(t *testing.T, s *scouted, m *machine, a *asks) {
			call := storetest.Hold(meta("r1"), "a", start)
			switch where {
			case "look":
				s.look = func(fsm.Query, func() ([]fsm.Glimpse, error)) ([]fsm.Glimpse, error) { panic("planted") }
			case "decision":
				call.Decide = func(*storetest.Parcel, string, []int64, time.Time) (fsm.Step, error) { panic("planted") }
			case "write":
				s.write = func(*fsm.Write, func() error) error { panic("planted") }
			}
			func() {
				defer func() {
					if recover() != "planted" {
						t.Errorf("%s: no panic came", where)
					}
				}()
				_, _ = m.Pick(t.Context(), 1, call)
			}()
			s.look, s.write = nil, nil
			s.seen()
			a.pick("r2", "p1")
			s.check(t, where, "looks [1] writes [p1] locks 0")
		})
	}
}

// A panic of one who is served together with others does not stop them, and what
// they were about to take is free again.
func TestSharedLookThatPanics(t *testing.T) {
	t.Parallel()
	ahead(t, 4, func(t *testing.T, s *scouted, m *machine, a *asks) {
		look := make(chan bool)
		s.look = func(_ fsm.Query, ask func() ([]fsm.Glimpse, error)) ([]fsm.Glimpse, error) {
			<-look
			return ask()
		}
		a.pick("r1", "p1")
		bad := storetest.Hold(meta("r3"), "a", start)
		decide, asked := bad.Decide, 0
		bad.Decide = func(p *storetest.Parcel, id string, peers []int64, now time.Time) (fsm.Step, error) {
			if asked++; asked == 1 {
				panic("planted")
			}
			return decide(p, id, peers, now)
		}
		var others []string
		var both sync.WaitGroup
		for _, c := range []fsm.Call[storetest.Parcel]{storetest.Hold(meta("r2"), "a", start), bad} {
			both.Go(func() {
				outs, err := m.Pick(t.Context(), 1, c)
				s.mu.Lock()
				defer s.mu.Unlock()
				if err != nil || len(outs) != 1 {
					t.Errorf("%s: got %v, %v", c.RequestID, outs, err)
					return
				}
				others = append(others, outs[0].Record.ID)
			})
			synctest.Wait()
		}
		close(look)
		both.Wait()
		a.all.Wait()
		if slices.Sort(others); !slices.Equal(others, []string{"p2", "p3"}) {
			t.Errorf("got %v, want p2 and p3", others)
		}
		s.seen()
		a.pick("r4", "p4")
		s.check(t, "the next", "looks [1] writes [p4] locks 0")
	})
}

// What a look cannot answer, another way does.
func TestLookWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	ahead(t, 3, func(t *testing.T, s *scouted, m *machine, a *asks) {
		s.look = func(fsm.Query, func() ([]fsm.Glimpse, error)) ([]fsm.Glimpse, error) { return nil, errLost }
		a.pick("r1", "p1")
		s.check(t, "an error", "looks [1] writes [] locks 1")
		s.look = nil
		call := storetest.Hold(meta("r2"), "a", start)
		call.Fits = func(p *storetest.Parcel, _ time.Time) bool { return p.ID == "p3" }
		a.call(t.Context(), 1, call, "p3")
		s.check(t, "one behind those that were looked at", "looks [1] writes [] locks 1")
		wrong := storetest.Hold(meta("r3"), "a", start)
		wrong.Decide = func(*storetest.Parcel, string, []int64, time.Time) (fsm.Step, error) {
			return fsm.Step{}, &fsm.Refusal{Ground: &fsm.Ground{Code: fsm.CodeInvalidInput, Name: "due"}}
		}
		a.call(t.Context(), 1, wrong, ": the input cannot be taken: due")
		s.check(t, "a refusal of the call", "looks [1] writes [] locks 1")
	})
}

// A record that is not sound is never handed out.
func TestLookThatShowsAnUnsoundRecord(t *testing.T) {
	t.Parallel()
	ahead(t, 2, func(t *testing.T, s *scouted, m *machine, a *asks) {
		s.look = func(_ fsm.Query, ask func() ([]fsm.Glimpse, error)) ([]fsm.Glimpse, error) {
			seen, err := ask()
			if seen[0].Row.ID == "p1" {
				seen[0].Row.State = "nowhere"
			}
			return seen, err
		}
		a.call(t.Context(), 2, storetest.Hold(meta("r1"), "a", start), "p1 p2") // by the locked way, which sees them as they are
		s.check(t, "it", "looks [2] writes [] locks 1")
	})
}

// Several records whose write meets something are taken by the locked way, all of
// them or none.
func TestPickOfSeveralMeetsAnother(t *testing.T) {
	t.Parallel()
	ahead(t, 3, func(t *testing.T, s *scouted, m *machine, a *asks) {
		base := s.update
		tries := 0
		s.update = func(table fsm.Table, ctx context.Context, f func(fsm.Tx) error) error {
			if tries++; tries == 1 { // another program is faster
				if err := table.Update(ctx, func(tx fsm.Tx) error { return f(full{tx, fsm.ErrMoved}) }); err != nil {
					return err
				}
			}
			return base(table, ctx, f)
		}
		a.call(t.Context(), 2, storetest.Hold(meta("r1"), "a", start), "p1 p2")
		s.check(t, "it", "looks [2] writes [] locks 1")
		a.pick("r2", "p3")
		s.check(t, "the next", "looks [] writes [] locks 1")
	})
}

// Whose context ends before its write has taken nothing.
func TestPickAheadWhoseContextEnds(t *testing.T) {
	t.Parallel()
	ahead(t, 1, func(t *testing.T, s *scouted, m *machine, a *asks) {
		ctx, leave := context.WithCancel(t.Context())
		s.look = func(_ fsm.Query, ask func() ([]fsm.Glimpse, error)) ([]fsm.Glimpse, error) {
			defer leave()
			return ask()
		}
		s.write = func(_ *fsm.Write, do func() error) error { return ctx.Err() }
		a.call(ctx, 1, storetest.Hold(meta("r1"), "a", start), context.Canceled.Error())
		s.look, s.write = nil, nil
		synctest.Wait()
		s.check(t, "it", "looks [1] writes [p1] locks 0")
		a.pick("r2", "p1")
	})
}
