package serve

import (
	"context"
	"database/sql"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/runtime/postgres"
)

const password = "hunter2/?"

// postgresJobs fills a database of a server with the jobs. The address that it
// returns has a password, and shown is the one that people may see.
func postgresJobs(t *testing.T) (address, shown string, raw *sql.DB) {
	t.Helper()
	dsn := pgtest.DSN(t)
	store, err := postgres.Open(t.Context(), dsn, postgres.WithEnforce("none"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	fill(t, store)
	if raw, err = sql.Open("pgx", dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return dsn + "&password=hunter2%2F%3F", fmt.Sprintf("the database %q at %s:%d", c.Database, c.Host, c.Port), raw
}

// contents returns all rows of all tables, each with the transaction that wrote it.
func contents(t *testing.T, db *sql.DB) map[string]string {
	t.Helper()
	var tables []string
	rows, err := db.Query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		tables = append(tables, name)
	}
	if err := rows.Err(); err != nil || len(tables) < 2 {
		t.Fatalf("the tables %q, %v", tables, err)
	}
	all := map[string]string{}
	for _, name := range tables {
		var text string
		if err := db.QueryRow(fmt.Sprintf(`SELECT coalesce(string_agg(x.xmin::text || ' ' || x.xmax::text || ' ' || x::text, E'\n' ORDER BY x::text), '') FROM %q x`, name)).Scan(&text); err != nil {
			t.Fatal(err)
		}
		all[name] = text
	}
	return all
}

// What a server holds is shown as what a file holds is, and left as it was: not
// even a row is locked.
func TestDatabaseOnPostgres(t *testing.T) {
	t.Parallel()
	address, shown, raw := postgresJobs(t)
	before := contents(t, raw)
	if !strings.Contains(before["lifecycle"], "job-5") {
		t.Fatalf("the tables: %v", before)
	}
	h := withDatabase(t, address)
	showsJobs(t, h, shown)
	if diff := cmp.Diff(before, contents(t, raw)); diff != "" {
		t.Errorf("the database was written, -before +after:\n%s", diff)
	}

	// Sessions that the server ended are made again.
	var ended int
	const end = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`
	if err := raw.QueryRow(end).Scan(&ended); err != nil || ended == 0 {
		t.Fatalf("%d sessions of the page were ended, %v", ended, err)
	}
	showsJobs(t, h, shown)
}

// The page shows findings for rows that no operation made.
func TestDatabaseFindingsOnPostgres(t *testing.T) {
	t.Parallel()
	address, _, raw := postgresJobs(t)
	const lift = `DO $$ DECLARE c record; BEGIN
		FOR c IN SELECT conname FROM pg_constraint WHERE conrelid = 'lifecycle'::regclass AND contype = 'c' LOOP
			EXECUTE format('ALTER TABLE lifecycle DROP CONSTRAINT %I', c.conname);
		END LOOP;
	END $$;`
	if _, err := raw.Exec(lift + damage); err != nil {
		t.Fatal(err)
	}
	showsFindings(t, withDatabase(t, address))
}

// What a server answers is said without the password, whichever question meets it.
func TestDatabaseProblemsOnPostgres(t *testing.T) {
	t.Parallel()
	address, shown, _ := postgresJobs(t)
	for name, c := range map[string]struct{ address, machine, want string }{
		"another machine":           {address, "task", shown + " does not hold the machine task; it holds lifecycle"},
		"another schema":            {address + "&search_path=nowhere", "lifecycle", shown + " holds no machine of fsmgen: the table fsm_meta is missing"},
		"a role that is not there":  {address + "&user=nobody_of_that_name", "lifecycle", "nobody_of_that_name"},
		"a setting that is not one": {address + "&no_such_setting=1", "lifecycle", "no_such_setting"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := withDatabase(t, c.address)
			for _, question := range []string{"", "record?id=job-1", "audit?run=1"} {
				w := ask(t, h, "/db/database/"+c.machine+"/"+question, "")
				text := w.Body.String()
				if w.Code != http.StatusBadGateway || !strings.Contains(html.UnescapeString(text), c.want) {
					t.Errorf("%s: %d %s, want %q", question, w.Code, text, c.want)
				}
				for _, secret := range []string{password, "hunter2", "%2F%3F"} {
					if strings.Contains(text, secret) {
						t.Errorf("%s: the password is in %s", question, text)
					}
				}
			}
			if w := ask(t, h, "/api/overview", ""); strings.Contains(w.Body.String(), "hunter2") {
				t.Errorf("the password is in %s", w.Body)
			}
		})
	}
}

// A server that takes a connection and says nothing keeps the question that met it,
// and no other one longer than somebody waits for that.
func TestDatabaseThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h := withDatabase(t, "postgres://somebody:hunter2@"+l.Addr().String()+"/jobs?sslmode=disable")
	ask := func(ctx context.Context) string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+jobPages, nil))
		return w.Body.String()
	}
	first, leave := context.WithCancel(t.Context())
	told := make(chan string, 1)
	go func() { told <- ask(first) }()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	second := ask(gone)
	select {
	case text := <-told:
		t.Fatalf("the first question was answered before the second one: %s", text)
	default:
	}
	leave()
	for _, text := range []string{second, <-told} {
		if !strings.Contains(text, `class="notice bad"`) || strings.Contains(text, "hunter2") {
			t.Errorf("the answer is %s", text)
		}
	}
}
