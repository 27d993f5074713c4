package sqlite_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// A program of the version before, which may still work, redacts past a trigger that only the later version has.
func TestRedactionPastALaterTrigger(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	m, err := openParcels(t, open(t, path))
	if err != nil {
		t.Fatal(err)
	}
	ann := storetest.Meta{Actor: "ann"}
	if _, err := m.Create(t.Context(), storetest.Register(ann, storetest.RegisterInput{ID: "p", Lane: "a", Weight: fsm.Some(int64(7))})); err != nil {
		t.Fatal(err)
	}
	later := parcelSchema(t)
	first := later.ID()
	later.Version, later.Hash, later.Beside = first.Version+1, "later", []driver.SpecID{first}
	const full = "-- section: full\n"
	guard := full + `CREATE TRIGGER IF NOT EXISTS "parcel_later" BEFORE UPDATE ON "parcel_events" BEGIN
    SELECT RAISE(ABORT, 'fsm: parcel: later');
END;
`
	text := strings.Replace(later.SQL["sqlite"], full, guard, 1)
	if text == later.SQL["sqlite"] {
		t.Fatal("the schema has no such section")
	}
	later.SQL = map[string]string{"sqlite": text}
	if err := fsmimpl.Migrate(t.Context(), open(t, path), later); err != nil {
		t.Fatal(err)
	}
	erase := audit.RedactOptions{Fields: []string{"weight"}, Actor: "ann", Reason: "asked"}
	if _, redacted, err := audit.Redact(t.Context(), m, "p", erase); !redacted || err != nil {
		t.Errorf("redacted: %t, %v", redacted, err)
	}
	db := foreign(t, path, settings)
	if _, err := db.ExecContext(t.Context(), `UPDATE "parcel_events" SET "reason" = 'x'`); err == nil || !strings.Contains(err.Error(), "later") {
		t.Errorf("the trigger is not there again: %v", err)
	}
}
