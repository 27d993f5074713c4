package sqlstore

import (
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

func TestTheSeamCarriesPostgres(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "gen", "testdata", "schema", "parcel.postgres.sql"))
	if err != nil {
		t.Fatal(err)
	}
	server := pgtest.DSN(t)
	var n atomic.Int64
	storetest.Run(t, func(tb testing.TB) driver.Store {
		schema := fmt.Sprint("s", n.Add(1))
		db, err := sql.Open("pgx", server+"&synchronous_commit=off&search_path="+schema)
		if err != nil {
			tb.Fatal(err)
		}
		db.SetMaxOpenConns(8)
		if _, err := db.Exec("CREATE SCHEMA " + schema); err != nil {
			tb.Fatal(err)
		}
		store, err := New(db, Postgres(WithLogger(slog.New(slog.DiscardHandler))), WithRelease(db.Close))
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { store.Close() })
		return store
	}, storetest.WithSQL(map[string]string{"postgres": string(text)}))
}
