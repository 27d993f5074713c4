package sqlstore

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// However many records have waited for one time, a statement shows no more of them again than its bound; a
// pick comes again until none is left, and within a transaction none is left at once.
func TestWhoseTimeHasComeAreWokenInRounds(t *testing.T) {
	t.Parallel()
	const more = 5
	spec, err := os.ReadFile(filepath.Join("..", "..", "examples", "machines", "obanjob.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	schema := machineOf(t, Postgres(), "obanjob.yaml", spec)
	db, err := sql.Open("pgx", pgtest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, text := range []string{schema.SQL["postgres"], "SET session_replication_role = replica",
		fmt.Sprintf(`INSERT INTO "obanjob" ("id", "state", "rev", "created_at", "updated_at",
		"worker", "queue", "args", "priority", "max_attempts", "attempt", "scheduled_at", "_parked_fetch")
		SELECT 'j' || i, 'available', 1, now(), now(), 'w', 'q', '{}', 0, 20, 0, now(), 7 FROM generate_series(1, %d) AS i`, maxWoken+more),
		"SET session_replication_role = origin"} {
		if _, err := conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	tab, err := newTable(&Store{dialect: Postgres()}, schema)
	if err != nil {
		t.Fatal(err)
	}
	x := &txn{reader: reader{ctx: t.Context(), t: tab, q: &session{conn: conn}}}
	q := driver.Query{Stir: time.UnixMicro(8), Park: &driver.Parking{Column: "_parked_fetch",
		Due: []driver.Cond{{Column: "scheduled_at", Op: driver.OpLe}}}}
	for i, want := range []int{maxWoken, more, 0} {
		if n, held, err := x.Wake(q); n != want || held != "" || err != nil {
			t.Errorf("round %d: %d are woken, %q is held, %v; want %d", i, n, held, err, want)
		}
	}
	if _, err := conn.ExecContext(t.Context(), `UPDATE "obanjob" SET "_parked_fetch" = 7`); err != nil {
		t.Fatal(err)
	}
	q.Lock = true
	if n, _, err := x.Wake(q); n != maxWoken+more || err != nil {
		t.Errorf("in a transaction %d are woken, %v, want all", n, err)
	}
}
