// Command program fills a database through the old version of the ticket, and
// opens it with the new one.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"

	v2 "example.com/desk/v2/ticket"

	v1 "example.com/desk/v1/ticket"
)

func main() {
	ctx := context.Background()
	store, err := open(ctx, os.Args[2])
	check(err)
	defer store.Close()
	switch os.Args[1] {
	case "fill":
		fill(ctx, store)
	case "early":
		early(ctx, store)
	case "dump":
		dump(ctx, store)
	case "audit":
		judge(ctx, store)
	default:
		log.Fatalf("unknown command %q", os.Args[1])
	}
}

// open opens a file, or a database on a server.
func open(ctx context.Context, place string) (*sqlstore.Store, error) {
	if strings.HasPrefix(place, "postgres://") {
		return postgres.Open(ctx, place)
	}
	return sqlite.Open(place)
}

// clock is the same at each run.
func clock() fsm.Option {
	now := time.Date(2030, 1, 1, 0, 0, 0, 123456000, time.UTC)
	return fsm.WithClock(func() time.Time { now = now.Add(time.Second); return now })
}

// early is the new version on the old database: it is refused, and cannot make the
// tables its own.
func early(ctx context.Context, store fsm.Store) {
	if _, err := v2.Open(ctx, store); !errors.Is(err, fsm.ErrSchemaMismatch) {
		log.Fatalf("opened by version 2: %v", err)
	}
	err := v2.Migrate(ctx, store)
	if !errors.Is(err, fsm.ErrSchemaMismatch) {
		log.Fatalf("migrated by version 2: %v", err)
	}
	fmt.Println(err)
}

// dump prints every record and event of the migrated database; of what the
// migration did, not when.
func dump(ctx context.Context, store fsm.Store) {
	check(v2.Migrate(ctx, store)) // there is nothing left to do
	m, err := v2.Open(ctx, store)
	check(err)
	for rec, err := range m.List(ctx) {
		check(err)
		for e, err := range m.History(ctx, rec.ID) {
			check(err)
			if e.Operation == "migrate" {
				e.At, e.Sum, e.Chain, rec.UpdatedAt = time.Time{}, 0, 0, time.Time{}
			}
			fmt.Printf("%+v\n", e)
		}
		fmt.Printf("%+v\n", rec)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// longID is longer than a length of one byte can say.
var longID = strings.Repeat("sehr-lange-№-", 12)

// fill makes records in every state, some with many revisions, and one whose
// next revision is one that usually holds the whole record.
func fill(ctx context.Context, store fsm.Store) {
	check(v1.Migrate(ctx, store))
	m, err := v1.Open(ctx, store, clock())
	check(err)
	n := 0
	request := func() string { n++; return fmt.Sprint("r", n) }
	for i := range 60 {
		id := fmt.Sprintf("t%02d", i)
		switch i {
		case 3:
			id = longID
		case 7:
			id = `"quoted" \ 'id' ünï`
		}
		place := fsm.Some(fmt.Sprint("desk ", i%4))
		out, err := m.Submit(ctx, id, v1.SubmitInput{Queue: fmt.Sprint("q", i%3), Priority: v1.PriorityLow, Place: place, Colour: fsm.Some("red")}, fsm.Call{RequestID: request()})
		check(err)
		do := func(out2 v1.Outcome, err error) {
			check(err)
			out = out2
		}
		for k := range i % 5 {
			do(m.Tag(ctx, out, v1.TagInput{Tag: fmt.Sprint("tag", k)}, fsm.Call{RequestID: request()}))
		}
		if i%4 == 0 {
			continue
		}
		do(m.Take(ctx, out, fsm.Call{RequestID: request(), Actor: fmt.Sprint("ann", i)}))
		if i == 11 { // the migration writes revision 64
			for out.Record.Rev < 62 {
				do(m.Tag(ctx, out, v1.TagInput{Tag: fmt.Sprint("tag", out.Record.Rev)}, fsm.Call{RequestID: request()}))
			}
		}
		if i%4 == 1 {
			continue
		}
		if i%4 == 2 {
			do(m.Solve(ctx, out, v1.SolveInput{Note: "done"}, fsm.Call{RequestID: request()}))
			do(m.Tag(ctx, out, v1.TagInput{Tag: "late"}, fsm.Call{RequestID: request()}))
			continue
		}
		do(m.Hold(ctx, out, fsm.Call{RequestID: request(), Actor: "ann", Reason: "waiting"}))
	}
	counts, err := m.Count(ctx)
	check(err)
	fmt.Println(counts[v1.StateOpen], counts[v1.StateTaken], counts[v1.StateOnHold], counts[v1.StateSolved])
}

// judge opens the database with the new version, looks for anything wrong, and
// goes on with the work.
func judge(ctx context.Context, store fsm.Store) {
	m, err := v2.Open(ctx, store)
	check(err)
	findings := func(when string) {
		for f, err := range audit.Run(ctx, m) {
			check(err)
			log.Fatalf("%s: %s", when, f)
		}
	}
	findings("after the migration")
	counts, err := m.Count(ctx)
	check(err)
	fmt.Println(counts[v2.StateOpen], counts[v2.StateHeld], counts[v2.StateSolved])

	// A record that was moved: its log goes on, and its owner is gone.
	rec, err := m.Record(ctx, longID)
	check(err)
	var last fsm.Event
	for e, err := range m.History(ctx, longID) {
		check(err)
		last = e
	}
	if rec.State != v2.StateOpen || rec.Owner.Present() || rec.Due.Present() || last.Operation != "migrate" || last.Rev != rec.Rev ||
		last.From != "on_hold" || last.To != "open" || last.Version != 2 || last.RequestID != fmt.Sprint("sys:migrate:", rec.Rev) {
		log.Fatalf("the moved record is %+v, its last event %+v", rec, last)
	}
	// Fields that came with version 2 are at their defaults, in the row and in the log.
	since := time.Date(2026, 1, 31, 11, 0, 0, 5e8, time.UTC)
	if rec.Weight != 5 || !rec.Loud || rec.Kind != v2.KindQuestion || rec.Desk != `it's "the" desk` || !rec.Since.Equal(since) || rec.Extra.String() != `{"a":["'",null]}` {
		log.Fatalf("not at the defaults: %+v", rec)
	}
	if _, repaired, err := audit.Repair(ctx, m, longID, "op", "nothing to do"); err != nil || repaired {
		log.Fatalf("repair: %v, %v", repaired, err)
	}
	// A retry of an old request is answered from the log, over the moved revision.
	out, err := m.Take(ctx, rec, fsm.Call{RequestID: "again", Actor: "bob"})
	check(err)
	again, err := m.Take(ctx, rec, fsm.Call{RequestID: "again", Actor: "bob"})
	check(err)
	if !again.Replayed || out.Record.State != v2.StateHeld {
		log.Fatalf("taken: %+v, again: %+v", out.Record, again)
	}
	// The record whose move took a revision that usually holds an image.
	rec, err = m.Record(ctx, "t11")
	check(err)
	if rec.Rev != 64 {
		log.Fatalf("t11 is at revision %d, want 64", rec.Rev)
	}
	for i := range 3 {
		in, call := v2.FollowInput{Who: fmt.Sprint("w", i)}, fsm.Call{RequestID: fmt.Sprint("follow", i)}
		out, err := m.Follow(ctx, rec, in, call)
		check(err)
		replayed, err := m.Follow(ctx, rec, in, call)
		check(err)
		if !replayed.Replayed || replayed.Record.Watchers.Len() != i+1 {
			log.Fatalf("replayed: %+v", replayed)
		}
		rec = out.Record
	}
	// The sequence goes on where it was.
	made, err := m.Submit(ctx, "fresh", v2.SubmitInput{Queue: "q0", Priority: v2.PriorityUrgent, Place: "desk"}, fsm.Call{RequestID: "fresh"})
	check(err)
	if made.Record.Count != 21 {
		log.Fatalf("the next number is %d, want 21", made.Record.Count)
	}
	// The new rules hold in the database, not only in the program.
	held, err := m.Take(ctx, made, fsm.Call{RequestID: "take fresh", Actor: "bob"})
	check(err)
	for i := range 3 {
		held, err = m.Remind(ctx, held, fsm.Call{RequestID: fmt.Sprint("remind", i)})
		check(err)
	}
	if _, err = m.Remind(ctx, held, fsm.Call{RequestID: "remind once more"}); !errors.Is(err, v2.ErrTooManyReminders) {
		log.Fatalf("a fourth reminder: %v", err)
	}
	weighed, err := m.Weigh(ctx, made, v2.WeighInput{Weight: 9, Kind: v2.KindFault, Desk: "d", Since: since, Extra: fsm.MustJSON("1")}, fsm.Call{RequestID: "weigh"})
	if !errors.Is(err, fsm.ErrStale) {
		log.Fatalf("weighed at an old revision: %+v, %v", weighed, err)
	}
	_, err = m.Weigh(ctx, held, v2.WeighInput{Weight: 9, Kind: v2.KindFault, Desk: "d", Since: since, Extra: fsm.MustJSON("1")}, fsm.Call{RequestID: "weigh"})
	check(err)
	findings("after more work")
}
