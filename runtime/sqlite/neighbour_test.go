package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// A migration leaves the views of a machine alone whose name begins like this
// one's, and makes those of others over its own tables again.
func TestMigrateLeavesNeighbours(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	store := open(t, path)
	schema := storetest.Schema()
	schema.SQL = generated(t, "parcel")
	if err := fsmimpl.Migrate(t.Context(), store, schema); err != nil {
		t.Fatal(err)
	}
	db := foreign(t, path, settings)
	if _, err := db.Exec(`CREATE TABLE "parcel_route" ("id" TEXT);
		CREATE VIEW "parcel_route_stops" AS SELECT "id" FROM "parcel_route";
		CREATE VIEW "mine" AS SELECT id FROM Parcel`); err != nil {
		t.Fatal(err)
	}
	next := storetest.Schema()
	next.SQL, next.Hash, next.Version = schema.SQL, "storetest-parcel-2", 2
	if err := fsmimpl.Migrate(t.Context(), store, next); err != nil {
		t.Fatal(err)
	}
	for _, view := range []string{"parcel_route_stops", "mine"} {
		var n int
		if err := db.QueryRow(`SELECT count(*) FROM "` + view + `"`).Scan(&n); err != nil {
			t.Errorf("%s: %v", view, err)
		}
	}
}
