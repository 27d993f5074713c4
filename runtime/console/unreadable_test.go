package console_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/console"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// databases opens an empty database of each kind, and another way to it, for others.
func databases(t *testing.T, each func(t *testing.T, store fsm.Store, db *sql.DB)) {
	t.Helper()
	open := func(t *testing.T, driver, address string, store fsm.Store, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open(driver, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = db.Close(), store.Close() })
		each(t, store, db)
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "a.db")
		store, err := sqlite.Open(file)
		open(t, "sqlite", file, store, err)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		address := pgtest.DSN(t)
		store, err := postgres.Open(t.Context(), address)
		open(t, "pgx", address, store, err)
	})
}

// unguarded lets others change the log.
func unguarded(t *testing.T, db *sql.DB) {
	t.Helper()
	text := `DROP TRIGGER slip_events_update`
	if strings.HasSuffix(t.Name(), "postgres") {
		text = `ALTER TABLE slip_events DISABLE TRIGGER USER`
	}
	if _, err := db.ExecContext(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

// An event that cannot be read stands in its place, with what is wrong with it, and hides nothing else.
func TestUnreadableEvents(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, store fsm.Store, db *sql.DB) {
		t.Helper()
		m := slips(t, store, nil)
		for i := range 130 {
			id := fmt.Sprintf("p%03d", i)
			make1(t, m, id)
			if _, err := m.Hit(t.Context(), fsm.Ref{ID: id}, fsm.Call{Actor: "ann"}); err != nil {
				t.Fatal(err)
			}
		}
		unguarded(t, db)
		for _, damage := range []string{
			`UPDATE slip_events SET labels = '5' WHERE id = 'p120' AND rev = 2`,     // the last step of its record, on the first page
			`UPDATE slip_events SET checksum = -1 WHERE id = 'p050' AND rev = 1`,    // on a later page
			`UPDATE slip_events SET chain = 99999999999 WHERE id = 'p081'`,          // the last one of the first page and the one before
			`UPDATE slip_events SET checksum = 4294967296 WHERE id = 'p000'`,        // the whole log of a record, and the end of the log
			`UPDATE slip_events SET labels = '["x"]' WHERE id = 'p129' AND rev = 2`, // the newest one
		} {
			if _, err := db.ExecContext(t.Context(), damage); err != nil {
				t.Fatal(err)
			}
		}
		h := handler(t, console.Options{Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}})
		row := regexp.MustCompile(`(?s)<tr.*?</tr>`)
		seen, bad := map[string]bool{}, map[string]string{}
		path := "log"
		for pages := 0; path != "" && pages < 9; pages++ {
			code, body := get(t, h, "/here/slip/"+path)
			if code != http.StatusOK {
				t.Fatalf("%s is answered %d: %s", path, code, body)
			}
			for _, tr := range row.FindAllString(body, -1) {
				at := regexp.MustCompile(`record\?id=(\w+)">\w+</a> <span class="muted">(\d+)`).FindStringSubmatch(tr)
				if at == nil {
					continue
				}
				place := at[1] + "." + at[2]
				if seen[place] {
					t.Errorf("%s stands twice", place)
				}
				if seen[place] = true; strings.Contains(tr, "unreadable") {
					bad[place] = tr
				}
			}
			next := regexp.MustCompile(`class="next" href="([^"]*)"`).FindStringSubmatch(body)
			if path = ""; next != nil {
				path = strings.ReplaceAll(next[1], "&amp;", "&")
			}
		}
		if len(seen) != 260 {
			t.Errorf("the log has %d events, want 260", len(seen))
		}
		for place, why := range map[string]string{
			"p120.2": "labels", "p050.1": "checksum", "p081.1": "chain", "p081.2": "chain",
			"p000.1": "checksum", "p000.2": "checksum", "p129.2": "labels",
		} {
			if !strings.Contains(bad[place], why) {
				t.Errorf("of %s the log says %q, want that %s is wrong", place, bad[place], why)
			}
		}
		if len(bad) != 7 {
			t.Errorf("%d events are unreadable, want 7", len(bad))
		}
		for path, want := range map[string]string{
			"":                     "unreadable",
			"times":                "7 events cannot be read",
			"record?id=p120":       "Unreadable</b> <span class=\"muted\">revision 2",
			"record?id=p050":       "Unreadable</b> <span class=\"muted\">revision 1",
			"record?id=p000":       "Unreadable</b> <span class=\"muted\">revision 1",
			"record?id=p120&rev=1": "This is revision 1, of 2",
			"late":                 "<h1>",
		} {
			if code, body := get(t, h, "/here/slip/"+path); code != http.StatusOK || !strings.Contains(body, want) {
				t.Errorf("%q is answered %d without %q", path, code, want)
			}
		}
		code, body := get(t, h, "/here/slip/record?id=p050&rev=1")
		if code != http.StatusConflict || !strings.Contains(body, "cannot be read") {
			t.Errorf("a revision that cannot be read is answered %d: %s", code, body)
		}
		// Records of which the last step cannot be read are found by what their rows say, and not by what only that step says.
		for query, want := range map[string]int{
			"state=open": 130, "where=code:eq:cp120": 1, "actor=ann": 126,
			"actor=ann&where=hits:eq:1&state=open": 126, "label=a=b": 0,
		} {
			if got := listedOf(t, h, "slip", query); len(got) != want {
				t.Errorf("%s: %d records, want %d", query, len(got), want)
			}
		}
		found := map[string]bool{}
		for f, err := range audit.Run(t.Context(), m.Core()) {
			if err != nil {
				t.Fatal(err)
			}
			if f.Check == audit.CheckSum && strings.Contains(f.Message, "cannot be read") {
				found[fmt.Sprint(f.ID, ".", f.Rev)] = true
			}
		}
		for place := range bad {
			if !found[place] {
				t.Errorf("the audit finds %v, and not %s", found, place)
			}
		}
		hidden := handler(t, console.Options{
			Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)},
			Show: func(_, name string) console.Showing {
				if name == "secret" {
					return console.Hidden
				}
				return console.Whole
			},
		})
		_, body = get(t, hidden, "/here/slip/log")
		if strings.Contains(body, "labels") || !strings.Contains(body, "unreadable") {
			t.Error("what is wrong with an event may hold a value that is not to be shown")
		}
	})
}
