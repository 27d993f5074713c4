package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// A batch takes its number with its first record. An event alone that another transaction, whose number is
// higher, writes of a record that the batch has not reached is not followed by one of the batch.
func TestABatchKeepsTheOrderOfItsRecords(t *testing.T) {
	t.Parallel()
	db, s, texts := looseDatabase(t)
	ctx, tab := t.Context(), parcels(t, Postgres())
	connect := func() *session {
		t.Helper()
		conn, err := db.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return &session{conn: conn}
	}
	run := func(on *session, text string) {
		t.Helper()
		if _, err := on.conn.ExecContext(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	var moves []*driver.Write
	for _, id := range []string{"a", "b"} {
		text, args := tab.writing(false, parcelStep(id, func(w *driver.Write) { w.Prev.Rev = 0 }))
		if _, err := write(ctx, s, text, args, nil); err != nil {
			t.Fatal(err)
		}
		w := parcelStep(id, func(w *driver.Write) { w.PrevState, w.Event.From, w.Event.RequestID = "held", "held", id+" is sent" })
		w.Prev.Rev, w.Row.Rev, w.Event.Rev, w.Row.State, w.Event.To = 1, 2, 2, "sent", "sent"
		moves = append(moves, w)
	}
	// The batch comes to b when the gate is open.
	run(s, `CREATE FUNCTION gate(id text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$ BEGIN
		IF id = 'b' THEN PERFORM pg_advisory_xact_lock(1); END IF; RETURN true; END $$`)
	run(s, "SELECT pg_advisory_lock(1)")
	text, args := tab.writing(false, moves...)
	const locks = `FOR NO KEY UPDATE OF r SKIP LOCKED`
	if !strings.Contains(text, locks) {
		t.Fatalf("no record is locked:\n%s", text)
	}
	text = strings.Replace(text, locks, `AND gate(r."id") `+locks, 1)
	wrote := map[string]bool{}
	batch, other := connect(), connect()
	batched, recorded := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := write(ctx, batch, text, args, func(id string) { wrote[id] = true })
		batched <- err
	}()
	waiting := func(n string) bool {
		return cmp.Equal(texts(`SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`), []string{n})
	}
	for !waiting("1") {
		time.Sleep(time.Millisecond)
	}
	run(other, "BEGIN")
	go func() {
		x := &txn{reader: reader{ctx: ctx, t: tab, q: other}}
		err := x.Write(&driver.Write{Prev: driver.Ref{ID: "b", Rev: 1}, PrevState: "held",
			Event: driver.Event{ID: "b", Rev: 1, Operation: "hold", Name: "hold", From: "held", To: "held", RequestID: "noted", RequestN: -1}})
		_, failed := other.conn.ExecContext(context.WithoutCancel(ctx), "COMMIT")
		recorded <- errors.Join(err, failed)
	}()
	var err error
	for done := false; !done && !waiting("2"); {
		select {
		case err = <-recorded:
			recorded <- err
			done = true
		case <-time.After(time.Millisecond):
		}
	}
	run(s, "SELECT pg_advisory_unlock(1)")
	if err := errors.Join(<-batched, <-recorded); err != nil || !wrote["a"] {
		t.Fatalf("%v, the batch wrote %v", err, wrote)
	}
	if !wrote["b"] { // alone, as its caller does then
		text, args := tab.writing(false, moves[1])
		if n, err := write(ctx, s, text, args, nil); err != nil || n != 1 {
			t.Fatalf("alone: %d, %v", n, err)
		}
	}
	got := texts(`SELECT concat_ws(' ', "to_state", "request_id") FROM "parcel_events" WHERE "id" = 'b' ORDER BY "xid", "id", "rev", "n"`)
	if diff := cmp.Diff([]string{"held b's request", "held noted", "sent b is sent"}, got); diff != "" {
		t.Errorf("the log of all records, of b (-want +got):\n%s", diff)
	}
}

// A batch of creations locks the places of those that it may make, and of no others.
func TestABatchLocksThePlacesOfWhatItMakes(t *testing.T) {
	t.Parallel()
	s, texts := looseParcels(t)
	ctx, tab := t.Context(), parcels(t, Postgres())
	born := func(id, request string) *driver.Write {
		return parcelStep(id, func(w *driver.Write) { w.Prev.Rev, w.Event.RequestID, w.Event.RequestN = 0, request, 0 })
	}
	text, args := tab.writing(false, born("a", "first"))
	if _, err := write(ctx, s, text, args, nil); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"SET plan_cache_mode = force_generic_plan", "BEGIN"} {
		if _, err := s.conn.ExecContext(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	of := born("b", "second")
	places := len(numbersOf(tab.placesOf(of.Row)))
	wrote, err := tab.writeMany(ctx, s, []*driver.Write{born("a", "again"), of, born("c", "first")}, false)
	if err != nil || len(wrote) != 1 || !wrote["b"] {
		t.Fatalf("wrote %v, %v, want b alone", wrote, err)
	}
	locks := texts(`SELECT classid::text || ' ' || objid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()`)
	if len(locks) != places || places == 0 {
		t.Errorf("%d places are locked, want the %d of b", len(locks), places)
	}
}

// A batch waits for an event alone that looks for batches on their way, and then writes all. Within a strict transaction,
// which has its records before, it does not wait.
func TestABatchWaitsUntilItMayBeOnItsWay(t *testing.T) {
	t.Parallel()
	db, s, texts := looseDatabase(t)
	ctx, tab := t.Context(), parcels(t, Postgres())
	var moves []*driver.Write
	for _, id := range []string{"a", "b"} {
		text, args := tab.writing(false, parcelStep(id, func(w *driver.Write) { w.Prev.Rev = 0 }))
		if _, err := write(ctx, s, text, args, nil); err != nil {
			t.Fatal(err)
		}
		w := parcelStep(id, func(w *driver.Write) { w.PrevState, w.Event.From, w.Event.RequestID = "held", "held", id+" is sent" })
		w.Prev.Rev, w.Row.Rev, w.Event.Rev, w.Row.State, w.Event.To = 1, 2, 2, "sent", "sent"
		moves = append(moves, w)
	}
	other, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback()
	if _, err := other.ExecContext(ctx, "SELECT pg_advisory_xact_lock("+tab.query("batches", nil)+")"); err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	run := func(text string) {
		t.Helper()
		if _, err := conn.ExecContext(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	run("BEGIN ISOLATION LEVEL SERIALIZABLE; SET LOCAL lock_timeout = '10s'")
	if wrote, err := tab.writeMany(ctx, &session{conn: conn}, moves, nil); err != nil || len(wrote) != 2 {
		t.Errorf("a strict transaction wrote %v, %v, want both", wrote, err)
	}
	run("ROLLBACK")
	batched := make(chan error, 1)
	var wrote map[string]bool
	go func() {
		var err error
		wrote, err = tab.writeMany(ctx, &session{conn: conn}, moves, false)
		batched <- err
	}()
	for texts(`SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)[0] != "1" {
		select {
		case err := <-batched:
			t.Fatalf("it wrote %v, %v, and has waited for nobody", wrote, err)
		case <-time.After(time.Millisecond):
		}
	}
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-batched; err != nil || len(wrote) != 2 {
		t.Errorf("wrote %v, %v, want both", wrote, err)
	}
}

// The wait for the batches that are on their way leaves no lock: not when it has come to its end within a
// transaction, and not when a timeout ends it at the moment at which the last batch ends.
func TestTheWaitForBatchesLeavesNoLock(t *testing.T) {
	t.Parallel()
	db, s, texts := looseDatabase(t)
	ctx, tab := t.Context(), parcels(t, Postgres())
	const limit, rounds = 5 * time.Millisecond, 150
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	run := func(text string) {
		t.Helper()
		if _, err := s.conn.ExecContext(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	x := &txn{reader: reader{ctx: ctx, t: tab, q: &session{conn: conn}}}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("SET statement_timeout = %d", limit.Milliseconds())); err != nil {
		t.Fatal(err)
	}
	late, moment := 0, limit
	for i := range rounds {
		run("BEGIN; SELECT pg_advisory_xact_lock_shared(" + tab.query("batches", nil) + ")")
		began, ended := time.Now(), make(chan error, 1)
		go func() {
			_, err := conn.ExecContext(ctx, "BEGIN")
			if err == nil {
				// The row is not there, so nothing is written; what waits is the same.
				err = x.Write(&driver.Write{Prev: driver.Ref{ID: "b", Rev: 1}, PrevState: "held",
					Event: driver.Event{ID: "b", Rev: 1, Operation: "hold", Name: "hold", From: "held", To: "held", RequestN: -1}})
			}
			ended <- err
		}()
		time.Sleep(moment - time.Since(began))
		run("COMMIT")
		if err := <-ended; !errors.Is(err, driver.ErrMoved) {
			late++
			moment -= 100 * time.Microsecond
		} else {
			moment += 100 * time.Microsecond
		}
		x.err = nil
		if i%2 == 0 {
			if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
				t.Fatal(err)
			}
		}
		left := texts(`SELECT mode FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
		if len(left) > 0 {
			t.Fatalf("round %d: %v is left", i, left)
		}
		if i%2 != 0 {
			if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if late == 0 || late == rounds {
		t.Errorf("%d of %d waits were ended by the timeout: none came near the moment", late, rounds)
	}
}
