// Command program rolls a machine out: programs of two versions work on the same
// records, before, during and after the migration.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"iter"
	"log"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	v1 "example.com/desk/v1/errand"
	v2 "example.com/desk/v2/errand"
	v3 "example.com/desk/v3/errand"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

const (
	records = 6
	workers = 3 // of each version
	patient = 2 * time.Minute
)

func check(err error) {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
}

// place is where the tables are.
type place struct {
	one, two fsm.Store // of the programs of version 1, and of the later ones
	to2, to3 func()    // migrate
}

func open(ctx context.Context) place {
	if os.Args[1] == "sqlite" {
		var stores [3]fsm.Store // as programs of their own have them
		for i := range stores {
			var err error
			stores[i], err = sqlite.Open(os.Args[2])
			check(err)
		}
		return place{stores[0], stores[1], func() { check(v2.Migrate(ctx, stores[1])) }, func() { check(v3.Migrate(ctx, stores[2])) }}
	}
	one, err := postgres.Open(ctx, os.Args[2])
	check(err)
	two, err := postgres.Open(ctx, os.Args[2])
	check(err)
	db, err := sql.Open("pgx", os.Args[2])
	check(err)
	run := func(path string) func() {
		return func() {
			script, err := os.ReadFile(path)
			check(err)
			conn, err := db.Conn(ctx)
			check(err)
			defer conn.Close()
			_, err = conn.ExecContext(ctx, string(script))
			check(err)
		}
	}
	return place{one, two, run(os.Args[3]), run(os.Args[4])}
}

// load is workers of both versions, and what they came to.
type load struct {
	ctx     context.Context
	over    chan struct{}
	wg      sync.WaitGroup
	done    [3]atomic.Int64 // transitions of a version
	after   atomic.Int64    // transitions of version 1 since the migration
	foreign atomic.Int64    // calls of version 1 that found a record in a state it does not know
	images  atomic.Int64    // whole records that version 1 put into the log, of records with a note
	noted   [records]atomic.Bool
	moved   atomic.Bool // the migration is over

	mu    sync.Mutex
	asked []asked
}

// asked is a request of version 1, to be repeated to version 2.
type asked struct {
	id, request, word string
	rev               int64
}

func id(i int) string { return fmt.Sprint("errand", i) }

// fits ends the program unless an error is one that such a call may get.
func (l *load) fits(err error, more ...error) bool {
	for _, may := range append(more, fsm.ErrStale, fsm.ErrWrongState, fsm.ErrNotUnique, fsm.ErrBusy, fsm.ErrAmbiguous) {
		if errors.Is(err, may) {
			return false
		}
	}
	check(err)
	return true
}

func (l *load) begin(work func(w, n int)) {
	for w := range workers {
		l.wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-l.over:
					return
				default:
					work(w, n)
				}
			}
		})
	}
}

// old works with version 1.
func (l *load) old(m *v1.Machine) func(w, n int) {
	return func(w, n int) {
		i, request, word := rand.IntN(records), fmt.Sprintf("one.%d.%d", w, n), fmt.Sprint("w", rand.IntN(8))
		rec, err := m.Record(l.ctx, id(i))
		if errors.Is(err, fsm.ErrQuarantined) {
			// Known as one that is not to be touched: a call says so, too.
			_, err := m.Tag(l.ctx, fsm.Ref{ID: id(i)}, v1.TagInput{Word: word}, fsm.Call{RequestID: request})
			if errors.Is(err, fsm.ErrQuarantined) {
				l.foreign.Add(1)
			} else {
				l.fits(err) // it may have left that state meanwhile
			}
			return
		}
		check(err)
		var out v1.Outcome
		switch moved := l.moved.Load(); {
		case rand.IntN(6) > 0:
			out, err = m.Tag(l.ctx, rec, v1.TagInput{Word: word}, fsm.Call{RequestID: request})
			if err == nil && moved && n%5 == 0 {
				l.mu.Lock()
				l.asked = append(l.asked, asked{id(i), request, word, out.Record.Rev})
				l.mu.Unlock()
			}
		case rec.State == v1.StateOpen:
			out, err = m.Take(l.ctx, rec, fsm.Call{RequestID: request, Actor: fmt.Sprint("old", w)})
		default:
			out, err = m.GiveBack(l.ctx, rec, fsm.Call{RequestID: request})
		}
		if !l.fits(err, fsm.ErrQuarantined) {
			return
		}
		l.done[1].Add(1)
		if l.moved.Load() {
			l.after.Add(1)
			if out.Record.Rev%64 == 0 && l.noted[i].Load() {
				l.images.Add(1)
			}
		}
	}
}

// next works with version 2.
func (l *load) next(m *v2.Machine) func(w, n int) {
	return func(w, n int) {
		i, request := rand.IntN(records), fmt.Sprintf("two.%d.%d", w, n)
		rec, err := m.Record(l.ctx, id(i))
		check(err)
		switch {
		case rec.State == v2.StateWaiting:
			time.Sleep(time.Millisecond) // for version 1 to find it so
			_, err = m.Resume(l.ctx, rec, fsm.Call{RequestID: request})
		case rand.IntN(3) == 0:
			if _, err = m.Remark(l.ctx, rec, v2.RemarkInput{Note: fmt.Sprint("note ", n)}, fsm.Call{RequestID: request}); err == nil {
				l.noted[i].Store(true)
			}
		case rec.State == v2.StateTaken:
			_, err = m.GiveBack(l.ctx, rec, fsm.Call{RequestID: request})
		case rand.IntN(3) == 0:
			_, err = m.Wait(l.ctx, rec, fsm.Call{RequestID: request})
		default:
			_, err = m.Take(l.ctx, rec, fsm.Call{RequestID: request, Actor: fmt.Sprint("new", w)})
		}
		if l.fits(err) {
			l.done[2].Add(1)
		}
	}
}

// until waits for something to have happened often enough.
func until(what string, happened func() bool) {
	for end := time.Now().Add(patient); !happened(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			log.Fatal("not in time: ", what)
		}
	}
}

// refused demands that a program of one version is refused for another.
func refused(err error, program, store int) {
	var retired *driver.RetiredError
	if !errors.As(err, &retired) || !errors.Is(err, fsm.ErrSchemaMismatch) || retired.Program.Version != program || retired.Store.Version != store {
		log.Output(2, fmt.Sprintf("got %v, want that version %d was retired for version %d", err, program, store))
		os.Exit(1)
	}
}

// ranked demands that a mandatory field which only version 2 has is at its default
// in the records of version 1, those made before it and those made beside it, and
// that their requests and logs say the same.
func ranked(ctx context.Context, one *v1.Machine, two *v2.Machine) {
	_, err := one.Post(ctx, "beside", v1.PostInput{Street: "besides"}, fsm.Call{RequestID: "beside"})
	check(err)
	again, err := two.Post(ctx, "beside", v2.PostInput{Street: "besides"}, fsm.Call{RequestID: "beside"})
	check(err)
	if !again.Replayed || again.Record.Urgency != 5 {
		log.Fatalf("a creation of version 1, repeated: %+v", again)
	}
	for _, id := range []string{id(0), "beside"} {
		rec, err := two.Record(ctx, id)
		check(err)
		if rec.Urgency != 5 {
			log.Fatalf("%q is at urgency %d, want the default", id, rec.Urgency)
		}
		if _, repaired, err := audit.Repair(ctx, two, id, "op", "nothing to do"); err != nil || repaired {
			log.Fatalf("repair of %q: %v, %v", id, repaired, err)
		}
	}
	out, err := two.Rank(ctx, fsm.Ref{ID: id(0)}, v2.RankInput{Urgency: 9}, fsm.Call{RequestID: "rank"})
	check(err)
	_, err = one.Tag(ctx, fsm.Ref{ID: id(0)}, v1.TagInput{Word: "w"}, fsm.Call{RequestID: "tag a ranked one"})
	check(err)
	rec, err := two.Record(ctx, id(0))
	check(err)
	if rec.Urgency != 9 || rec.Rev != out.Record.Rev+1 {
		log.Fatalf("ranked, and tagged by version 1: %+v", rec)
	}
}

// What a process of its own does: it is told what, the database, and where that is.
var processes = map[string]func(ctx context.Context){
	"write1": func(ctx context.Context) {
		m, err := v1.Open(ctx, reached(ctx))
		check(err)
		write(func(id string) (int64, error) {
			out, err := m.Post(ctx, id, v1.PostInput{Street: id}, fsm.Call{RequestID: "post " + id})
			return out.Record.Rev, err
		}, func(id, word string) (int64, error) {
			out, err := m.Tag(ctx, fsm.Ref{ID: id}, v1.TagInput{Word: word}, fsm.Call{RequestID: "tag " + word})
			return out.Record.Rev, err
		})
	},
	"write2": func(ctx context.Context) {
		m, err := v2.Open(ctx, reached(ctx))
		check(err)
		write(func(id string) (int64, error) {
			out, err := m.Post(ctx, id, v2.PostInput{Street: id}, fsm.Call{RequestID: "post " + id})
			return out.Record.Rev, err
		}, func(id, word string) (int64, error) {
			out, err := m.Tag(ctx, fsm.Ref{ID: id}, v2.TagInput{Word: word}, fsm.Call{RequestID: "tag " + word})
			return out.Record.Rev, err
		})
	},
	"migrate1": func(ctx context.Context) { migrate(ctx, v1.Migrate) },
	"migrate2": func(ctx context.Context) { migrate(ctx, v2.Migrate) },
	"migrate3": func(ctx context.Context) { migrate(ctx, v3.Migrate) },
	"check2": func(ctx context.Context) {
		m, err := v2.Open(ctx, reached(ctx))
		check(err)
		verify(audit.Run(ctx, m), func(id string) iter.Seq2[fsm.Event, error] { return m.History(ctx, id) })
	},
	"check3": func(ctx context.Context) {
		m, err := v3.Open(ctx, reached(ctx))
		check(err)
		verify(audit.Run(ctx, m), func(id string) iter.Seq2[fsm.Event, error] { return m.History(ctx, id) })
	},
}

func reached(ctx context.Context) (store fsm.Store) {
	var err error
	if os.Args[2] == "sqlite" {
		store, err = sqlite.Open(os.Args[3])
	} else {
		store, err = postgres.Open(ctx, os.Args[3])
	}
	check(err)
	return store
}

// migrate says when it begins and when it is done. A script migrates a server's tables.
func migrate(ctx context.Context, by func(context.Context, fsm.Store) error) {
	if len(os.Args) < 5 {
		store := reached(ctx)
		fmt.Println("begin")
		check(by(ctx, store))
		fmt.Println("done")
		return
	}
	script, err := os.ReadFile(os.Args[4])
	check(err)
	db, err := sql.Open("pgx", os.Args[3])
	check(err)
	conn, err := db.Conn(ctx)
	check(err)
	fmt.Println("begin")
	_, err = conn.ExecContext(ctx, string(script))
	check(err)
	fmt.Println("done")
}

// write makes errands and tags them until its input ends, and says what was acknowledged
// under which request. A call whose end it does not know it makes again. It ends with
// "stopped" when it is told that its version is over.
func write(post func(id string) (int64, error), tag func(id, word string) (int64, error)) {
	over := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(over)
	}()
	call := func(id, request string, make func() (int64, error)) bool {
		for {
			select {
			case <-over:
				return false
			default:
			}
			rev, err := make()
			switch {
			case err == nil:
				fmt.Println("ack", id, rev, request)
				return true
			case errors.Is(err, fsm.ErrSchemaMismatch):
				fmt.Println("stopped")
				return false
			case errors.Is(err, fsm.ErrBusy), errors.Is(err, fsm.ErrAmbiguous):
			default:
				check(err)
			}
		}
	}
	for n := 0; ; n++ {
		id := fmt.Sprintf("e-%d-%d", os.Getpid(), n)
		if !call(id, "post "+id, func() (int64, error) { return post(id) }) {
			return
		}
		for i := range 2 {
			word := fmt.Sprintf("%s-%d", id, i)
			if !call(id, "tag "+word, func() (int64, error) { return tag(id, word) }) {
				return
			}
		}
	}
}

// verify reads what was acknowledged, looks for each of it, and audits.
func verify(audit iter.Seq2[audit.Finding, error], history func(id string) iter.Seq2[fsm.Event, error]) {
	lines, n := bufio.NewScanner(os.Stdin), 0
	for lines.Scan() {
		word := strings.SplitN(lines.Text(), " ", 4)
		found := 0
		for e, err := range history(word[1]) {
			check(err)
			if e.RequestID == word[3] && fmt.Sprint(e.Rev) == word[2] {
				found++
			}
		}
		if found != 1 {
			log.Fatalf("%q was acknowledged and is there %d times", lines.Text(), found)
		}
		n++
	}
	for f, err := range audit {
		check(err)
		log.Fatalf("the audit finds %s", f)
	}
	fmt.Println("ok", n)
}

func main() {
	ctx := context.Background()
	if len(os.Args) > 1 && processes[os.Args[1]] != nil {
		processes[os.Args[1]](ctx)
		return
	}
	p := open(ctx)
	check(v1.Migrate(ctx, p.one))
	one, err := v1.Open(ctx, p.one)
	check(err)
	for i := range records {
		_, err := one.Post(ctx, id(i), v1.PostInput{Street: fmt.Sprint("street ", i%4)}, fsm.Call{RequestID: "post" + id(i)})
		check(err)
	}
	if _, err := v2.Open(ctx, p.two); !errors.Is(err, fsm.ErrSchemaMismatch) || errors.As(err, new(*driver.RetiredError)) {
		log.Fatal("version 2 before its migration: ", err)
	}
	l := &load{ctx: ctx, over: make(chan struct{})}
	l.begin(l.old(one))
	until("work of version 1", func() bool { return l.done[1].Load() > 200 })

	p.to2() // while version 1 works
	l.moved.Store(true)
	check(v2.Migrate(ctx, p.two)) // as every program does when it starts
	two, err := v2.Open(ctx, p.two)
	check(err)
	l.begin(l.next(two))
	check(v1.Migrate(ctx, p.one)) // another program of version 1 starts
	other, err := v1.Open(ctx, p.one)
	check(err)
	until("work of both versions", func() bool {
		return l.after.Load() > 500 && l.done[2].Load() > 500 && l.foreign.Load() > 0 && l.images.Load() >= 3
	})
	close(l.over)
	l.wg.Wait()
	for i := range records {
		if rec, err := two.Record(ctx, id(i)); err == nil && rec.State == v2.StateWaiting {
			_, err = two.Resume(ctx, rec, fsm.Call{RequestID: "at last"})
			check(err)
		}
	}
	ranked(ctx, one, two)
	for f, err := range audit.Run(ctx, two) {
		check(err)
		log.Fatalf("version 2 finds: %s", f)
	}
	for f, err := range audit.Run(ctx, other) {
		check(err)
		log.Fatalf("version 1 finds: %s", f)
	}
	for _, a := range l.asked { // what version 1 was told, version 2 says again
		out, err := two.Tag(ctx, fsm.Ref{ID: a.id, Rev: a.rev - 1}, v2.TagInput{Word: a.word}, fsm.Call{RequestID: a.request})
		check(err)
		if !out.Replayed || out.Record.Rev != a.rev {
			log.Fatalf("request %q of %q was told revision %d, and now %d, replayed %v", a.request, a.id, a.rev, out.Record.Rev, out.Replayed)
		}
		var events []fsm.Event
		for e, err := range two.History(ctx, a.id) {
			check(err)
			if e.Rev <= a.rev {
				events = append(events, e)
			}
		}
		if want, err := v2.Fold(events); err != nil || !out.Record.Equal(want) {
			log.Fatalf("request %q of %q: got %v, the log says %v, %v", a.request, a.id, out.Record, want, err)
		}
	}

	check(v2.EndRollOut(ctx, p.two))
	refused(v1.Migrate(ctx, p.one), 1, 2)
	_, err = v1.Open(ctx, p.one)
	refused(err, 1, 2)
	check(v2.Migrate(ctx, p.two))
	if _, err = v2.Open(ctx, p.two); err != nil {
		log.Fatal(err)
	}

	// Version 3 does not go beside version 2.
	p.to3()
	_, err = v2.Open(ctx, p.two)
	refused(err, 2, 3)
	refused(v2.Migrate(ctx, p.two), 2, 3)
	if os.Args[1] == "sqlite" { // programs that should have been stopped write nothing more
		_, err = one.Post(ctx, "late1", v1.PostInput{Street: "late"}, fsm.Call{RequestID: "late1"})
		refused(err, 1, 3)
		_, err = two.Post(ctx, "late2", v2.PostInput{Street: "late"}, fsm.Call{RequestID: "late2"})
		refused(err, 2, 3)
	}
	_, err = v1.Open(ctx, p.one)
	refused(err, 1, 3)
	three, err := v3.Open(ctx, p.two)
	check(err)
	for f, err := range audit.Run(ctx, three) {
		check(err)
		log.Fatalf("version 3 finds: %s", f)
	}
	fmt.Printf("version 1: %d, %d of them beside version 2 with %d; %d states unknown, %d images, %d repeated\n",
		l.done[1].Load(), l.after.Load(), l.done[2].Load(), l.foreign.Load(), l.images.Load(), len(l.asked))
}
