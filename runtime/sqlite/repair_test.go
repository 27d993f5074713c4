package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// sound audits and expects nothing.
func sound(t testing.TB, m *parcels) {
	t.Helper()
	for f, err := range audit.Run(t.Context(), m) {
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("audit: %v", f)
	}
}

// triggers returns the triggers of a database.
func triggers(t testing.TB, path string) []string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT "sql" FROM sqlite_master WHERE "type" = 'trigger' ORDER BY "name"`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		list = append(list, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// What is wrong with a row is repaired from its log, and the schema stands again
// afterwards; what is wrong with a log is not touched.
func TestRepair(t *testing.T) {
	t.Parallel()
	for _, f := range corpus {
		check, id, _ := strings.Cut(f.want, " ")
		if f.want == "" || check == audit.CheckUnique || check == audit.CheckProjection { // what is wrong between records
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			path := filled(t)
			hand(t, path, f.edits...)
			if f.resum != nil {
				resummed(t, path, f.resum.ID, f.resum.Rev, f.resum.N, !f.keep)
			}
			before := triggers(t, path)
			store := open(t, path)
			m, err := joinParcels(t, store)
			if err != nil {
				t.Fatal(err)
			}
			id, _, _ := strings.Cut(id, ",")
			log := func() (list []fsm.Event) {
				for e, err := range m.History(t.Context(), id) {
					if err != nil && !errors.Is(err, fsm.ErrNotFound) {
						t.Fatal(err)
					}
					list = append(list, e)
				}
				return list
			}
			was := log()
			p, repaired, err := audit.Repair(t.Context(), m, id, "root", "the corpus")
			if f.resum != nil || !slices.Contains([]string{"decode", "rule", "fold", "beyond", "orphan"}, check) || f.name == "C08 a record without a log" {
				if want := fsm.ErrQuarantined; !errors.Is(err, want) && !errors.Is(err, fsm.ErrNotFound) {
					t.Errorf("Repair: %v, want %v", err, want)
				}
				if d := cmp.Diff(was, log(), cmp.AllowUnexported(fsm.JSON{})); d != "" {
					t.Errorf("the log changed (-want +got):\n%s", d)
				}
				return
			}
			if err != nil || !repaired || p.ID != id {
				t.Fatalf("Repair: %v, %t, %v", p.Ref(), repaired, err)
			}
			sound(t, m)
			now := log()
			if d := cmp.Diff(was, now[:len(was)], cmp.AllowUnexported(fsm.JSON{})); d != "" || len(now) != len(was)+1 || now[len(was)].Actor != "root" {
				t.Errorf("the log (-want +got):\n%s", d)
			}
			if p.State != "sent" {
				note := storetest.Annotate(storetest.Meta{Actor: "ann"}, fsm.Optional[fsm.JSON]{}, fsm.Some("large"), fsm.Optional[bool]{})
				if _, err := m.Apply(t.Context(), p, note); err != nil {
					t.Errorf("Apply after the repair: %v", err)
				}
			}
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(before, triggers(t, path)); d != "" || len(before) == 0 {
				t.Errorf("the triggers (-want +got):\n%s", d)
			}
		})
	}
}

// A repair leaves the rows that others have made refer to the record.
func TestRepairKeepsWhatRefersToTheRecord(t *testing.T) {
	t.Parallel()
	path := filled(t)
	hand(t, path, `UPDATE "parcel" SET "moves" = "moves" + 5 WHERE "id" = 'p1'`,
		`CREATE TABLE "mine" ("parcel" TEXT REFERENCES "parcel" ("id") ON DELETE CASCADE)`, `INSERT INTO "mine" VALUES ('p1')`)
	store := open(t, path)
	m, err := joinParcels(t, store)
	if err != nil {
		t.Fatal(err)
	}
	if _, repaired, err := audit.Repair(t.Context(), m, "p1", "root", "a test"); err != nil || !repaired {
		t.Fatalf("Repair: %t, %v", repaired, err)
	}
	n := 0
	if err := foreign(t, path, settings).QueryRow(`SELECT count(*) FROM "mine"`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d rows refer to the repaired record, want 1: %v", n, err)
	}
}

// A backup that was made under load is whole, and work goes on in it.
func TestBackupIsRestored(t *testing.T) {
	t.Parallel()
	path := filled(t)
	store := open(t, path)
	m, err := openParcels(t, store)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	begun, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; n == 0 || ctx.Err() == nil; n++ {
			if _, err := m.Create(context.WithoutCancel(ctx), storetest.Register(storetest.Meta{Actor: "ann"}, storetest.RegisterInput{Lane: "load"})); err != nil {
				t.Error(err)
			}
			if n == 0 {
				close(begun)
			}
		}
	}()
	<-begun
	backup := filepath.Join(t.TempDir(), "backup.db")
	err = store.Backup(t.Context(), backup)
	stop()
	<-done
	if err != nil {
		t.Fatalf("Backup: %v", err)
	}
	restored, err := sqlite.Open(backup)
	if err != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	m, err = fsm.NewMachine(t.Context(), restored, storetest.Descriptor(parcelSchema(t)), parcelEffects())
	if err != nil {
		t.Fatal(err)
	}
	if h := audit.HealthOf(m); !h.Sound() || h.Records < 5 {
		t.Errorf("the backup: %+v", h)
	}
	sound(t, m)
	out, err := m.Apply(t.Context(), fsm.Ref{ID: "p4"}, storetest.Hold(storetest.Meta{Actor: "ann"}, "a", corpusTime))
	if err != nil || out.Record.Rev != 2 {
		t.Errorf("work in the backup: %v, %v", out.Ref(), err)
	}
	// A retry of what was done before the backup is known to it.
	again, err := m.Create(t.Context(), storetest.Register(storetest.Meta{RequestID: "new-p1", Actor: "ann", Reason: "why"},
		storetest.RegisterInput{ID: "p1", Lane: "a", Label: fsm.Some("one")}))
	if err != nil || !again.Replayed {
		t.Errorf("a retry in the backup: %v, %v", again.Ref(), err)
	}
	sound(t, m)
}
