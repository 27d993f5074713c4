package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// depot is a store with the suite's machine, and a database of the caller's own.
type depot struct {
	*testing.T
	store  *sqlstore.Store
	db     *sql.DB
	schema *driver.Schema
	m      *fsm.Machine[storetest.Parcel]
	dsn    string
}

func newDepot(t *testing.T, dsn string) *depot {
	t.Helper()
	ctx := t.Context()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	d := &depot{T: t, db: db, dsn: dsn, schema: storetest.Schema()}
	d.schema.SQL = parcelSQL(t)
	if d.store, err = postgres.Open(ctx, dsn, quiet); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.store.Close() })
	if err := fsmimpl.Migrate(ctx, d.store, d.schema); err != nil {
		t.Fatal(err)
	}
	if d.m, err = fsm.NewMachine(ctx, d.store, storetest.Descriptor(d.schema), effects); err != nil {
		t.Fatal(err)
	}
	return d
}

// bySerial adds what is often taken for an outbox: a table with a serial number,
// written in the transaction of each event.
func (d *depot) bySerial() {
	d.Helper()
	for _, text := range []string{
		`CREATE TABLE "control" ("seq" bigserial PRIMARY KEY, "id" text, "rev" bigint)`,
		`CREATE FUNCTION "control"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO "control" ("id", "rev") VALUES (NEW."id", NEW."rev"); RETURN NULL; END $$`,
		`CREATE TRIGGER "control" AFTER INSERT ON "parcel_events" FOR EACH ROW EXECUTE FUNCTION "control"()`,
	} {
		if _, err := d.db.ExecContext(d.Context(), text); err != nil {
			d.Fatal(err)
		}
	}
}

// control reads what stands behind a serial number.
func (d *depot) control(after *int64) []string {
	d.Helper()
	rows, err := d.db.QueryContext(d.Context(), `SELECT "seq", "id" || '@' || "rev" FROM "control" WHERE "seq" > $1 ORDER BY "seq"`, *after)
	if err != nil {
		d.Fatal(err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var ref string
		if err := rows.Scan(after, &ref); err != nil {
			d.Fatal(err)
		}
		list = append(list, ref)
	}
	if err := rows.Err(); err != nil {
		d.Fatal(err)
	}
	return list
}

// log reads n events behind a cursor. Transactions of other tests on this server
// hold events back too, so it may have to wait.
func (d *depot) log(after *fsm.Cursor, n int) []string {
	d.Helper()
	ctx, cancel := context.WithTimeout(d.Context(), 30*time.Second)
	defer cancel()
	var list []string
	for e, err := range d.m.Watch(ctx, *after) {
		if err != nil {
			d.Fatalf("after %v: %v", list, err)
		}
		list, *after = append(list, e.Ref().String()), e.Cursor
		if len(list) == n {
			break
		}
	}
	return list
}

// begin begins a transaction of the caller's own, which writes something of the
// caller's first and so gets its number.
func (d *depot) begin(level sql.IsolationLevel) (*sql.Tx, fsm.Tx) {
	d.Helper()
	tx, err := d.db.BeginTx(d.Context(), &sql.TxOptions{Isolation: level})
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { _ = tx.Rollback() }) // where a test fails
	if _, err := tx.ExecContext(d.Context(), `SELECT pg_current_xact_id()`); err != nil {
		d.Fatal(err)
	}
	in, err := d.store.Adopt(d.Context(), d.schema, tx)
	if err != nil {
		d.Fatal(err)
	}
	return tx, in
}

func register(id string) fsmimpl.Call[storetest.Parcel] {
	return storetest.Register(storetest.Meta{RequestID: "make " + id}, storetest.RegisterInput{ID: id, Lane: "a"})
}

// bill is an operation that a parcel takes any number of times.
func bill(n int) fsmimpl.Call[storetest.Parcel] {
	return storetest.Annotate(storetest.Meta{}, fsm.Some(fsm.MustJSON(fmt.Sprint(n))), fsm.Optional[string]{}, fsm.Optional[bool]{})
}

// A transaction that began before others and commits after them is not passed
// over. The control, a reader by a serial number, passes it over.
func TestLogHoldsBackWhatIsBehindAnOpenTransaction(t *testing.T) {
	t.Parallel()
	d := newDepot(t, pgtest.DSN(t))
	d.bySerial()
	old, in := d.begin(sql.LevelReadCommitted)
	if _, err := storetest.In(t, d.m, d.store, in).Create(t.Context(), register("slow")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.m.Create(t.Context(), register("quick")); err != nil {
		t.Fatal(err)
	}
	var cursor fsm.Cursor
	var seq int64
	for e, err := range d.m.Log(t.Context(), cursor) {
		t.Errorf("the log shows %v, %v while an older transaction is open, want nothing", e.Ref(), err)
	}
	control := d.control(&seq)
	if err := old.Commit(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"slow@1", "quick@1"}, d.log(&cursor, 2)); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	control = append(control, d.control(&seq)...)
	if diff := cmp.Diff([]string{"quick@1"}, control); diff != "" {
		t.Errorf("the control is meant to miss the slow one (-want +got):\n%s", diff)
	}
}

// A caller's transaction at a low level of isolation may take up a record after
// a younger transaction: its number is the older one, and its event must not
// come before the record's own past.
func TestLogKeepsTheOrderOfARecord(t *testing.T) {
	t.Parallel()
	d := newDepot(t, pgtest.DSN(t))
	old, in := d.begin(sql.LevelReadCommitted)
	out, err := d.m.Create(t.Context(), register("p1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storetest.In(t, d.m, d.store, in).Apply(t.Context(), out, bill(1)); err != nil {
		t.Fatal(err)
	}
	if err := old.Commit(); err != nil {
		t.Fatal(err)
	}
	var cursor fsm.Cursor
	if diff := cmp.Diff([]string{"p1@1", "p1@2"}, d.log(&cursor, 2)); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
}

// A log that was restored from a server which had counted further is told,
// where it would be passed over in silence, and so is a cursor from there. The
// way out is the documented one.
func TestLogFromAnotherServer(t *testing.T) {
	t.Parallel()
	d := newDepot(t, pgtest.DSN(t))
	exec := func(text string) {
		t.Helper()
		if _, err := d.db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"p2", "p1"} {
		if _, err := d.m.Create(t.Context(), register(id)); err != nil {
			t.Fatal(err)
		}
	}
	exec(`ALTER TABLE "parcel_events" DISABLE TRIGGER USER;
		UPDATE "parcel_events" SET "xid" = (("xid"::text)::bigint + 1000000000)::text::xid8;
		ALTER TABLE "parcel_events" ENABLE TRIGGER USER`)
	for _, err := range d.m.Log(t.Context(), "") {
		if err == nil || !strings.Contains(err.Error(), "Restoring a log") {
			t.Fatalf("got %v, want a word about the restored log", err)
		}
	}
	exec(`ALTER TABLE "parcel_events" DISABLE TRIGGER USER;
		UPDATE "parcel_events" SET "xid" = '1';
		ALTER TABLE "parcel_events" ENABLE TRIGGER USER`)
	var cursor fsm.Cursor
	if diff := cmp.Diff([]string{"p1@1", "p2@1"}, d.log(&cursor, 2)); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	for _, err := range d.m.Log(t.Context(), "1000000001.1.0.p1") {
		if !errors.Is(err, fsm.ErrCursor) {
			t.Errorf("a cursor from the other server: got %v, want ErrCursor", err)
		}
	}
}

// Callers' transactions of every length, at every level, committed and taken
// back, beside the store's own: a reader that stops and goes on from its cursor
// sees each event once and each record in order. The control misses some.
func TestWatchBesideLongTransactions(t *testing.T) {
	t.Parallel()
	const writers, each, parcels = 6, 40, 5
	d := newDepot(t, pgtest.DSN(t))
	d.bySerial()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for i := range parcels {
		if _, err := d.m.Create(ctx, register(fmt.Sprint("p", i))); err != nil {
			t.Fatal(err)
		}
	}
	write := func(w, i int) error {
		random := rand.New(rand.NewPCG(uint64(w), uint64(i)))
		nap := func() { time.Sleep(time.Duration(random.IntN(4000)) * time.Microsecond) }
		own := fmt.Sprintf("w%d-%d", w, i)
		if i%4 == 0 {
			_, err := d.m.Create(ctx, register(own))
			return err
		}
		level := []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}[i%3]
		tx, in := d.begin(level)
		defer func() { _ = tx.Rollback() }()
		nap()
		if _, err := storetest.In(t, d.m, d.store, in).Create(ctx, register(own)); err != nil {
			return err
		}
		nap()
		if _, err := storetest.In(t, d.m, d.store, in).Apply(ctx, fsm.Ref{ID: fmt.Sprint("p", random.IntN(parcels))}, bill(i)); err != nil {
			return err
		}
		nap()
		if i%5 == 0 {
			return tx.Rollback()
		}
		return tx.Commit()
	}
	stop, whole := make(chan struct{}), make(chan int, 1)
	var seen, control []string
	var passes atomic.Int64 // of the control over the log
	var readers, group sync.WaitGroup
	readers.Go(func() {
		var cursor fsm.Cursor
		for want := -1; want < 0 || len(seen) < want; {
			n := 0
			for e, err := range d.m.Log(ctx, cursor) {
				if err != nil {
					t.Error(err)
					return
				}
				seen, cursor = append(seen, e.Ref().String()), e.Cursor
				if n++; n == 7 { // a program that ends and goes on later
					break
				}
			}
			select {
			case want = <-whole:
			default:
			}
		}
		for e, err := range d.m.Log(ctx, cursor) {
			t.Errorf("%v, %v stands behind the end", e.Ref(), err)
		}
	})
	readers.Go(func() {
		var seq int64
		for ended := false; !ended; time.Sleep(time.Millisecond) {
			select {
			case <-stop:
				ended = true
			default:
			}
			control = append(control, d.control(&seq)...)
			passes.Add(1)
		}
	})
	var lost sync.Map
	group.Go(func() { // one that the control surely passes over, however few meet by chance
		tx, in := d.begin(sql.LevelReadCommitted)
		defer func() { _ = tx.Rollback() }()
		_, err := storetest.In(t, d.m, d.store, in).Create(ctx, register("late"))
		_, more := d.m.Create(ctx, register("early"))
		for n := passes.Load(); passes.Load() < n+2 && ctx.Err() == nil; {
			time.Sleep(time.Millisecond)
		}
		if err := errors.Join(err, more, tx.Commit()); err != nil {
			t.Error(err)
		}
	})
	for w := range writers {
		group.Go(func() {
			for i := range each {
				if err := write(w, i); err != nil {
					lost.Store(fmt.Sprint(w, " ", i), err) // met another transaction: its events are taken back
				}
			}
		})
	}
	group.Wait()
	close(stop)
	rows, err := d.db.QueryContext(ctx, `SELECT "id" || '@' || "rev" FROM "parcel_events"`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]int{}
	for rows.Next() {
		var ref string
		if err := rows.Scan(&ref); err != nil {
			t.Fatal(err)
		}
		all[ref]++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	whole <- len(all)
	readers.Wait()
	got, last := map[string]int{}, map[string]int64{}
	for _, ref := range seen {
		got[ref]++
		id, text, _ := strings.Cut(ref, "@")
		var rev int64
		if _, err := fmt.Sscan(text, &rev); err != nil || rev != last[id]+1 {
			t.Errorf("%s stands behind revision %d", ref, last[id])
		}
		last[id] = rev
	}
	if diff := cmp.Diff(all, got); diff != "" {
		t.Errorf("the reader (-stored +seen):\n%s", diff)
	}
	failed := 0
	lost.Range(func(any, any) bool { failed++; return true })
	missed := len(all) - len(control)
	if missed <= 0 {
		t.Errorf("the control missed nothing of %d events: the test shows nothing", len(all))
	}
	t.Logf("%d events of %d transactions (%d gave way to others) seen once each, 0 missed; the control missed %d",
		len(seen), writers*each, failed, missed)
}
