package postgres_test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/postgres"
)

func parcelSQL(t testing.TB) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "gen", "testdata", "schema", "parcel.postgres.sql"))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"postgres": string(text)}
}

var quiet = postgres.WithLogger(slog.New(slog.DiscardHandler))

func TestConformance(t *testing.T) {
	t.Parallel()
	levels := []string{"full", "checks"}
	for i, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			if i > 0 {
				campaign.Only(t)
			}
			server := pgtest.DSN(t)
			db, err := sql.Open("pgx", server)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			var n atomic.Int64
			storetest.Run(t, func(tb testing.TB) fsm.Store {
				schema := fmt.Sprint("s", n.Add(1))
				if _, err := db.Exec("CREATE SCHEMA " + schema); err != nil {
					tb.Fatal(err)
				}
				store, err := postgres.Open(tb.Context(), server+"&search_path="+schema, postgres.WithEnforce(level), quiet)
				if err != nil {
					tb.Fatal(err)
				}
				tb.Cleanup(func() { store.Close() })
				return store
			}, storetest.WithSQL(parcelSQL(t)))
		})
	}
}

// The server's settings are read, warned about, or raised.
func TestSettings(t *testing.T) {
	t.Parallel()
	server := pgtest.DSN(t)
	for setting, want := range map[string]string{
		"default_transaction_read_only=on": "transaction_read_only",
		"session_replication_role=replica": "session_replication_role",
		"standard_conforming_strings=off":  "standard_conforming_strings",
	} {
		store, err := postgres.Open(t.Context(), server+"&"+setting, quiet)
		if err == nil {
			store.Close()
			t.Errorf("%s was accepted", setting)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want a word about %s", setting, err, want)
		}
	}
}

// Whatever is wrong with an address, its password stays out of the error.
func TestPasswordIsNeverShown(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://u:hunter2@127.0.0.1:1/db?sslmode=disable",
		"postgres://u:hunter2@[::1/db",
		"postgres://u:hunter2@127.0.0.1:port/db",
		"host=127.0.0.1 port=x password=hunter2",
		"password=hunter2 sslmode=perhaps",
	} {
		store, err := postgres.Open(t.Context(), dsn, quiet)
		if err == nil {
			store.Close()
			t.Errorf("%q was opened", dsn)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}
