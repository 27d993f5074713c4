package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
)

// lengthen gives the end of a record's log so many calls that are recorded only.
func lengthen(t *testing.T, db *sql.DB, id string, events int) {
	t.Helper()
	if _, err := db.Exec(`WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ?2)
		INSERT INTO "parcel_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_n", "fingerprint", "version", "checksum")
		SELECT "id", "rev", c.n, 'touch', 'touch', "to_state", "to_state", "occurred_at", 'ann', '', -1, '', 1, 0 FROM c, (SELECT * FROM "parcel_events" WHERE "id" = ?1 ORDER BY "rev" DESC LIMIT 1)`,
		id, events); err != nil {
		t.Fatal(err)
	}
}

// Eight times the log costs a purge some eight times as much, and not sixty-four.
// SQLite counts nothing that a test could ask for, so it is the best of three.
func TestPurgeIsLinear(t *testing.T) {
	t.Parallel()
	const few, many, most = 1000, 8000, 24
	path := filepath.Join(t.TempDir(), "x.db")
	m, err := openParcels(t, open(t, path))
	if err != nil {
		t.Fatal(err)
	}
	best := map[int]time.Duration{}
	for try := range 3 {
		for _, events := range []int{few, many} {
			p, err := m.Create(t.Context(), storetest.Register(storetest.Meta{Actor: "ann"}, storetest.RegisterInput{ID: fmt.Sprint("p", events, try), Lane: "a"}))
			if err == nil {
				p, err = m.Apply(t.Context(), p, storetest.Hold(storetest.Meta{Actor: "ann"}, "a", time.Now().Add(time.Hour)))
			}
			if err == nil {
				p, err = m.Apply(t.Context(), p, storetest.Expel(storetest.Meta{Actor: "ann", Reason: "why"}))
			}
			if err != nil {
				t.Fatal(err)
			}
			lengthen(t, foreign(t, path, settings), p.Record.ID, events)
			begun := time.Now()
			n, err := audit.Purge(t.Context(), m, audit.PurgeOptions{Before: p.Record.UpdatedAt.Add(time.Second), Actor: "root", Reason: "too old"})
			if took := time.Since(begun); try == 0 || took < best[events] {
				best[events] = took
			}
			if n != 1 || err != nil {
				t.Fatalf("purged %d, %v", n, err)
			}
		}
	}
	t.Logf("the best of three: %v", best)
	if best[many] > most*best[few] {
		t.Errorf("a purge of %d events took %v, one of %d %v: more than %d times as long", few, best[few], many, best[many], most)
	}
}

// A record that a foreign key or a trigger of the users' keeps is reported, and keeps no
// other one from being removed.
func TestPurgePassesOverWhatUsersKeep(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	m, err := openParcels(t, open(t, path))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"p1", "p2", "p3"} {
		p, err := m.Create(t.Context(), storetest.Register(storetest.Meta{Actor: "ann"}, storetest.RegisterInput{ID: id, Lane: id}))
		if err == nil {
			p, err = m.Apply(t.Context(), p, storetest.Hold(storetest.Meta{Actor: "ann"}, "a", time.Now().Add(time.Hour)))
		}
		if err == nil {
			_, err = m.Apply(t.Context(), p, storetest.Expel(storetest.Meta{Actor: "ann", Reason: "why"}))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	db := foreign(t, path, settings)
	if _, err := db.Exec(`CREATE TABLE "mine" ("parcel" TEXT REFERENCES "parcel" ("id") ON DELETE RESTRICT); INSERT INTO "mine" VALUES ('p1');
		CREATE TRIGGER "kept" BEFORE DELETE ON "parcel" WHEN OLD."id" = 'p2' BEGIN SELECT RAISE(ABORT, 'kept'); END`); err != nil {
		t.Fatal(err)
	}
	n, err := audit.Purge(t.Context(), m, audit.PurgeOptions{Before: time.Now().Add(time.Hour), Actor: "root", Reason: "too old"})
	if n != 1 || !errors.Is(err, fsm.ErrInvariant) || !errors.Is(err, fsm.ErrDenied) ||
		!strings.Contains(err.Error(), `"p1"`) || !strings.Contains(err.Error(), `"p2"`) {
		t.Errorf("purged %d, %v; want p3 removed, p1 and p2 reported", n, err)
	}
	if rec, err := m.Record(t.Context(), "p3"); !errors.Is(err, fsm.ErrNotFound) {
		t.Errorf("p3 is %v, %v", rec, err)
	}
}
