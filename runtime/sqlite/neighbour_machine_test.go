package sqlite_test

import (
	"strings"
	"testing"
)

// Another machine in the file is no hindrance, although its name begins with that of the one that migrates and
// its triggers name the column that goes.
func TestMachineOfALongerName(t *testing.T) {
	t.Parallel()
	_, s, migrate := inFile(t)
	other := *s
	other.Machine, other.Table, other.Hash = "execution_audit", "execution_audit", "x1"
	other.SQL = map[string]string{"sqlite": strings.ReplaceAll(s.SQL["sqlite"], "execution", "execution_audit")}
	if err := migrate(&other); err != nil {
		t.Fatal(err)
	}
	if err := migrate(narrower(s)); err != nil {
		t.Errorf("beside another machine: %v", err)
	}
}

// A trigger of a user's on the view of the projection survives a change of the view.
func TestTriggerOnOurView(t *testing.T) {
	t.Parallel()
	path, s, migrate := inFile(t)
	db := foreign(t, path, settings)
	const mine = `CREATE TRIGGER "mine_on_view" INSTEAD OF DELETE ON "execution_job" BEGIN SELECT 1; END`
	if _, err := db.ExecContext(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	next, text := version(s, 2, "h2"), s.SQL["sqlite"]
	begin := strings.Index(text, `CREATE VIEW IF NOT EXISTS "execution_job" AS`)
	end := begin + strings.Index(text[begin:], ";")
	next.SQL = map[string]string{"sqlite": text[:end] + "\n    LIMIT 1000000" + text[end:]}
	if err := migrate(next); err != nil {
		t.Fatal(err)
	}
	left := 0
	err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM sqlite_master WHERE name = 'mine_on_view'`).Scan(&left)
	if err != nil || left != 1 {
		t.Errorf("the trigger is there %d times (%v), want 1", left, err)
	}
}
