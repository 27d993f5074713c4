package sqlite_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// SQLite takes each statement of a machine, and knows its tables and columns.
func TestSQLitePreparesEachQuery(t *testing.T) {
	t.Parallel()
	parcels := storetest.Schema()
	parcels.SQL = generated(t, "parcel")
	for _, s := range []*driver.Schema{parcels, executionSchema(t)} {
		db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "queries.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		if _, err := db.ExecContext(t.Context(), s.SQL["sqlite"]); err != nil {
			t.Fatal(err)
		}
		list, err := sqlstore.Queries(sqlstore.SQLite(), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range list {
			if q.Name == "make_versions" { // a roll-out does
				if _, err := db.ExecContext(t.Context(), q.Text); err != nil {
					t.Fatal(err)
				}
				continue
			}
			rows, err := db.QueryContext(t.Context(), "EXPLAIN "+q.Text, make([]any, parameters(q.Text))...)
			if err != nil {
				t.Errorf("%s, %s: %v\n%s", s.Machine, q.Name, err, q.Text)
				continue
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil {
				t.Errorf("%s, %s: %v", s.Machine, q.Name, err)
			}
		}
	}
}

// parameters returns the largest number of a parameter: one that has none is the next.
func parameters(text string) (most int) {
	for i := 0; i < len(text); i++ {
		if n := 0; text[i] == '?' {
			for i++; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
				n = 10*n + int(text[i]-'0')
			}
			if n == 0 {
				n = most + 1
			}
			most = max(most, n)
		}
	}
	return most
}
