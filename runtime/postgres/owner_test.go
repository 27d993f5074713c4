package postgres_test

import (
	"database/sql"
	"net/url"
	"testing"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/runtime/postgres"
)

// A comment is for the owner of a table: Migrate of a program that owns its own tables only does
// without.
func TestCommentsAreForTheOwner(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE "fsm_meta" ("machine" text COLLATE "C" NOT NULL PRIMARY KEY, "version" bigint NOT NULL,
			"hash" text COLLATE "C" NOT NULL, "enforce" text COLLATE "C" NOT NULL, "dialect" text COLLATE "C" NOT NULL);
		CREATE ROLE "not_the_owner" LOGIN; GRANT ALL ON "fsm_meta" TO "not_the_owner"; GRANT ALL ON SCHEMA public TO "not_the_owner"`); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User("not_the_owner")
	store, err := postgres.Open(t.Context(), u.String(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for range 2 {
		if err := lifecycle.Migrate(t.Context(), store); err != nil {
			t.Error(err)
		}
	}
	var own, other int
	if err := db.QueryRowContext(t.Context(), `SELECT count(*) FILTER (WHERE objoid = 'lifecycle'::regclass AND objsubid = 0),
		count(*) FILTER (WHERE objoid = 'fsm_meta'::regclass) FROM pg_description`).Scan(&own, &other); err != nil || own != 1 || other != 0 {
		t.Errorf("%d comments on its own table, %d on another's, %v; want 1 and 0", own, other, err)
	}
}
