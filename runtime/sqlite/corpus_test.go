package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// The corpus: in each database one fault is planted past the engine, past the
// triggers and past the CHECKs, and the audit reports it by exactly its check.

type parcels = fsm.Machine[storetest.Parcel]

func parcelSchema(t testing.TB) *driver.Schema {
	t.Helper()
	s := storetest.Schema()
	s.SQL = generated(t, "parcel")
	return s
}

func parcelEffects() map[string]fsmimpl.EffectFunc[storetest.Parcel] {
	none := func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error { return nil }
	return map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": none, "carry": none, "notify": none}
}

func openParcels(t testing.TB, store fsm.Store, opts ...fsm.Option) (*parcels, error) {
	t.Helper()
	s := parcelSchema(t)
	if err := fsmimpl.Migrate(context.Background(), store, s); err != nil {
		t.Fatal(err)
	}
	return joinParcels(t, store, opts...)
}

// joinParcels opens the machine as the database is: Migrate would not take indexes
// that were taken out of the way for a fault.
func joinParcels(t testing.TB, store fsm.Store, opts ...fsm.Option) (*parcels, error) {
	t.Helper()
	d := storetest.Descriptor(parcelSchema(t))
	d.Projection = storetest.Lanes()
	return fsm.NewMachine(context.Background(), store, d, parcelEffects(), opts...)
}

var corpusTime = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// filled makes a database of parcels: p1 with a long life, p2 and p3 shelved,
// p4 waiting, p5 sent.
func filled(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	fill.Do(func() {
		original := filepath.Join(t.TempDir(), "store.db")
		fillParcels(t, original)
		var err error
		if fillData, err = os.ReadFile(original); err != nil {
			t.Fatal(err)
		}
	})
	if err := os.WriteFile(path, fillData, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var (
	fill     sync.Once
	fillData []byte
)

func fillParcels(t testing.TB, path string) {
	t.Helper()
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	m, err := openParcels(t, store, fsm.WithClock(func() time.Time { return corpusTime }))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	must := func(out fsm.Outcome[storetest.Parcel], err error) fsm.Outcome[storetest.Parcel] {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	meta := func(request string) storetest.Meta {
		return storetest.Meta{RequestID: request, Actor: "ann", Reason: "why"}
	}
	register := func(id, label string) fsm.Outcome[storetest.Parcel] {
		return must(m.Create(ctx, storetest.Register(meta("new-"+id), storetest.RegisterInput{ID: id, Lane: "a", Label: fsm.Some(label)})))
	}
	p := register("p1", "one")
	for i := range 70 { // past the first image
		p = must(m.Apply(ctx, p, storetest.Annotate(meta(fmt.Sprintf("note-%d", i)), fsm.Optional[fsm.JSON]{}, fsm.Some("small"), fsm.Some(i%2 == 0))))
	}
	p = must(m.Apply(ctx, p, storetest.Hold(meta("hold-1"), "a", corpusTime.Add(time.Hour))))
	for i := range 3 { // recorded only: somebody else touches it
		must(m.Apply(ctx, p, storetest.Touch(storetest.Meta{RequestID: fmt.Sprintf("touch-%d", i), Actor: "bob"}, corpusTime)))
	}
	must(m.Apply(ctx, p, storetest.Touch(meta("touch"), corpusTime.Add(2*time.Hour))))
	for _, id := range []string{"p2", "p3"} {
		p := register(id, id)
		p = must(m.Apply(ctx, p, storetest.Hold(meta("hold-"+id), "a", corpusTime)))
		must(m.Apply(ctx, p, storetest.Shelve(meta("shelve-"+id), "slot-"+id, "t")))
	}
	register("p4", "four")
	p = register("p5", "five")
	p = must(m.Apply(ctx, p, storetest.Hold(meta("hold-5"), "a", corpusTime)))
	p = must(m.Apply(ctx, p, storetest.Shelve(meta("shelve-5"), "slot-5", "t")))
	must(m.Apply(ctx, p, storetest.Send(meta("send-5"))))
}

// hand edits the database with every trigger out of the way and every CHECK off,
// and leaves the schema as it was.
func hand(t testing.TB, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=ignore_check_constraints(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	rows, err := db.Query(`SELECT "name", "sql" FROM sqlite_master WHERE "type" = 'trigger'`)
	if err != nil {
		t.Fatal(err)
	}
	var drop, again []string
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			t.Fatal(err)
		}
		drop, again = append(drop, fmt.Sprintf("DROP TRIGGER %q", name)), append(again, text)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	for _, s := range slices.Concat(drop, statements, again) {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%v\n%s", err, s)
		}
	}
}

// resummed makes the checksum of an event right for what it says now, and with
// chain set the chain of its log too.
func resummed(t testing.TB, path, id string, rev, n int64, chain bool) {
	t.Helper()
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := store.Table(parcelSchema(t))
	if err != nil {
		t.Fatal(err)
	}
	var edits []string
	err = tab.View(t.Context(), func(r driver.Reader) error {
		var steps, last uint32
		for e, err := range r.Events(id, 0) {
			if err != nil {
				return err
			}
			if e.Rev == rev && e.N == n {
				e.Sum = driver.Checksum(&e)
				edits = append(edits, event(fmt.Sprintf(`"checksum" = %d`, e.Sum), id, rev, n))
			}
			if e.RecordOnly() {
				last = driver.Chained(last, &e)
			} else {
				steps = driver.Chained(steps, &e)
				last = steps
			}
			if chain {
				edits = append(edits, event(fmt.Sprintf(`"chain" = %d`, last), id, e.Rev, e.N))
			}
		}
		return nil
	})
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	hand(t, path, edits...)
}

// event is the text of an edit of one event.
func event(set, id string, rev, n int64) string {
	return fmt.Sprintf(`UPDATE "parcel_events" SET %s WHERE "id" = '%s' AND "rev" = %d AND "n" = %d`, set, id, rev, n)
}

func row(set, id string) string {
	return fmt.Sprintf(`UPDATE "parcel" SET %s WHERE "id" = '%s'`, set, id)
}

// loosened replaces a unique index by one that is not.
func loosened(name, keys string) string {
	return fmt.Sprintf(`DROP INDEX %[1]q; CREATE INDEX %[1]q ON %[2]s`, name, keys)
}

// crammed puts one parcel more into lane a than its guard lets in, as a program
// would that does not ask: the record and its log are sound.
func crammed(t testing.TB, path string) {
	t.Helper()
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	m, err := openParcels(t, store, fsm.WithClock(func() time.Time { return corpusTime }))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"p6", "p7"} {
		p, err := m.Create(t.Context(), storetest.Register(storetest.Meta{}, storetest.RegisterInput{ID: id, Lane: "a"}))
		if err == nil {
			p, err = m.Apply(t.Context(), p, storetest.Hold(storetest.Meta{Actor: "ann"}, "a", corpusTime))
		}
		if err == nil {
			_, err = m.Apply(t.Context(), p, storetest.Unasked(storetest.Shelve(storetest.Meta{}, "slot-"+id, "t")))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

type fault struct {
	name  string
	edits []string
	resum *fsm.Event // the event whose checksum is made right afterwards
	want  string     // check and id
	open  string     // what the check at open counts; "refused": it does not open
	keep  bool       // with resum: the chain is left as it was
}

func at(id string, rev, n int64) *fsm.Event { return &fsm.Event{ID: id, Rev: rev, N: n} }

var corpus = []fault{
	{"nothing", nil, nil, "", "", false},
	{"C01 an unknown state", []string{row(`"state" = 'LIMBO'`, "p4")}, nil, "decode p4", "decode", false},
	{"C01 an unknown word", []string{row(`"size" = 'huge'`, "p1")}, nil, "decode p1", "decode", false},
	{"C02 a revision below 1", []string{row(`"rev" = 0`, "p4")}, nil, "decode p4", "decode", false},
	{"C02 a counter below 0", []string{row(`"moves" = -3`, "p2")}, nil, "decode p2", "decode", false},
	{"C03 a missing field", []string{row(`"holder" = NULL`, "p1")}, nil, "rule p1", "rule", false},
	{"C03 a field too many", []string{row(`"slot" = 'x'`, "p4")}, nil, "rule p4", "rule", false},
	{"C04 a place held twice", []string{
		loosened("parcel_unique_one_per_slot", `"parcel" ("slot") WHERE "state" IN ('shelved')`),
		row(`"slot" = 'slot-p2'`, "p3"), event(`"changes" = replace("changes", 'slot-p3', 'slot-p2')`, "p3", 3, 0),
	}, at("p3", 3, 0), "unique p2", "refused", false},
	{"C04 a key used twice", []string{
		loosened("parcel_unique_dedupe_register", `"parcel" ("label")`),
		row(`"label" = 'p3'`, "p4"), event(`"changes" = replace("changes", 'four', 'p3'), "image" = replace("image", 'four', 'p3')`, "p4", 1, 0),
	}, at("p4", 1, 0), "unique p3", "refused", false},
	{"C05 a missing revision", []string{`DELETE FROM "parcel_events" WHERE "id" = 'p1' AND "rev" = 40`}, nil, "revision p1", "", false},
	{"C05 a missing record-only event", []string{`DELETE FROM "parcel_events" WHERE "id" = 'p1' AND "n" = 2`}, nil, "number p1", "", false},
	{"C06 a broken chain", []string{event(`"from_state" = 'shelved'`, "p1", 72, 0)}, at("p1", 72, 0), "chain p1", "", false},
	{"C07 an unknown operation", []string{event(`"operation" = 'teleport', "name" = 'teleport'`, "p1", 50, 0)}, at("p1", 50, 0), "edge p1", "", false},
	{"C07 an illegal move", []string{event(`"operation" = 'send', "name" = 'send'`, "p2", 2, 0)}, at("p2", 2, 0), "edge p2", "", false},
	{"C08 another state", []string{row(`"state" = 'waiting', "holder" = NULL, "due" = NULL`, "p1")}, nil, "fold p1", "fold", false},
	{"C08 another value", []string{row(`"lane" = 'z'`, "p4")}, nil, "fold p4", "", false},
	{"C08 another time", []string{row(`"updated_at" = "updated_at" + 1`, "p5")}, nil, "fold p5", "", false},
	{"C08 a terminal record taken up again", []string{row(`"state" = 'waiting'`, "p5")}, nil, "fold p5", "fold", false},
	{"C08 a revision too many", []string{row(`"rev" = "rev" + 1`, "p2")}, nil, "fold p2", "fold", false},
	{"C08 a record without a log", []string{`DELETE FROM "parcel_events" WHERE "id" = 'p4'`}, nil, "fold p4", "fold", false},
	{"C09 events beyond the record", []string{row(`"rev" = 2, "state" = 'held', "slot" = NULL, "moves" = 0, "tags" = '[]', "holder" = 'ann', "due" = 1`, "p2")},
		nil, "beyond p2", "fold", false},
	{"C10 a log without its record", []string{`DELETE FROM "parcel" WHERE "id" = 'p3'`}, nil, "orphan p3", "", false},
	{"C11 a request twice in a record", []string{
		loosened("parcel_events_request", `"parcel_events" ("id", "request_id") WHERE "request_id" IS NOT NULL`),
		event(`"request_id" = 'note-3'`, "p1", 30, 0)}, at("p1", 30, 0), "request p1", "", false},
	{"C11 a request twice in the machine", []string{
		loosened("parcel_events_batch", `"parcel_events" ("request_id", "request_n") WHERE "request_n" >= 0`),
		event(`"request_id" = 'new-p3'`, "p4", 1, 0)}, at("p4", 1, 0), "request p3, request p4", "", false},
	{"an altered actor", []string{event(`"actor" = 'eve'`, "p1", 33, 0)}, nil, "checksum p1", "", false},
	{"an altered time", []string{event(`"occurred_at" = "occurred_at" - 1`, "p1", 33, 0)}, nil, "checksum p1", "", false},
	{"an altered guard", []string{event(`"guard" = NULL`, "p1", 72, 1)}, nil, "checksum p1", "", false},
	{"another change", []string{event(`"changes" = '{"size":"large"}'`, "p1", 30, 0)}, at("p1", 30, 0), "fold p1", "", false},
	{"another image", []string{event(`"image" = replace("image", '"lane":"a"', '"lane":"b"')`, "p1", 64, 0)}, at("p1", 64, 0), "fold p1", "", false},
	{"an actor edited with care", []string{event(`"actor" = 'eve'`, "p1", 33, 0)}, at("p1", 33, 0), "history p1", "", true},
	{"a recorded call edited with care", []string{event(`"actor" = 'eve'`, "p1", 72, 2)}, at("p1", 72, 2), "history p1", "", true},
	{"history and record edited alike", []string{row(`"lane" = 'z'`, "p4"),
		event(`"changes" = replace("changes", '"lane":"a"', '"lane":"z"'), "image" = replace("image", '"lane":"a"', '"lane":"z"')`, "p4", 1, 0)},
		at("p4", 1, 0), "history p4", "", true},
	{"a guard that was passed by", nil, nil, "projection p7", "", false},
	{"a chain that was edited", []string{event(`"chain" = 7`, "p2", 2, 0)}, nil, "history p2", "", false},
}

func TestCorpus(t *testing.T) {
	t.Parallel()
	for _, f := range corpus {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			path := filled(t)
			if f.want == "projection p7" {
				crammed(t, path)
			}
			hand(t, path, f.edits...)
			if f.resum != nil {
				resummed(t, path, f.resum.ID, f.resum.Rev, f.resum.N, !f.keep)
			}
			store := open(t, path)
			m, err := joinParcels(t, store, fsm.WithOpenCheck(-1))
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for finding, err := range audit.Run(t.Context(), m) {
				if err != nil {
					t.Fatal(err)
				}
				t.Log(finding)
				if text := finding.Check + " " + finding.ID; !slices.Contains(found, text) {
					found = append(found, text)
				}
			}
			if d := cmp.Diff(f.want, strings.Join(found, ", ")); d != "" {
				t.Errorf("the audit (-want +got):\n%s", d)
			}
			m, err = joinParcels(t, store)
			if refused := errors.Is(err, fsm.ErrNotUnique); refused != (f.open == "refused") || !refused && err != nil {
				t.Fatalf("open: %v, want %q", err, f.open)
			}
			if err != nil {
				t.Log(err)
				return
			}
			h := audit.HealthOf(m)
			got := ""
			for check := range h.Findings {
				got += check
			}
			if got != f.open || h.Quarantined != int64(len(h.Findings)) || h.Running || h.Full {
				t.Errorf("the check at open counted %v, %d quarantined, want %q", h.Findings, h.Quarantined, f.open)
			}
			if f.open == "" {
				return
			}
			// Quarantined: readable, not to be moved.
			_, id, _ := strings.Cut(f.want, " ")
			p, err := m.Record(t.Context(), id)
			if !errors.Is(err, fsm.ErrQuarantined) || p.ID != id {
				t.Errorf("Record: %q, %v, want the record and ErrQuarantined", p.ID, err)
			}
			note := storetest.Annotate(storetest.Meta{Actor: "ann"}, fsm.Optional[fsm.JSON]{}, fsm.Some("large"), fsm.Optional[bool]{})
			targets := []fsm.Target{fsm.Ref{ID: id}}
			if f.want[:6] != "decode" { // such a record comes without its values
				targets = append(targets, p)
			}
			for _, target := range targets {
				if _, err := m.Apply(t.Context(), target, note); !errors.Is(err, fsm.ErrQuarantined) {
					t.Errorf("Apply at %T: %v, want ErrQuarantined", target, err)
				}
			}
			outs, err := m.Pick(t.Context(), 10, storetest.Hold(storetest.Meta{Actor: "ann"}, "a", corpusTime))
			if err != nil && !errors.Is(err, fsm.ErrNothingToDo) {
				t.Error(err)
			}
			for _, out := range outs {
				if out.Record.ID == id {
					t.Errorf("%s was picked", id)
				}
			}
		})
	}
}
