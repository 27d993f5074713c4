package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// answering is a database that gives one answer to every query and keeps the
// texts.
type answering struct {
	answer  string
	version string // to the question for it
	mu      sync.Mutex
	asked   []string
}

func (a *answering) Connect(context.Context) (driver.Conn, error) { return answeringConn{a}, nil }
func (a *answering) Driver() driver.Driver                        { return nil }

type answeringConn struct{ a *answering }

func (answeringConn) Prepare(string) (driver.Stmt, error) { return nil, driver.ErrSkip }
func (answeringConn) Close() error                        { return nil }
func (answeringConn) Begin() (driver.Tx, error)           { return nil, driver.ErrSkip }

func (c answeringConn) QueryContext(_ context.Context, text string, _ []driver.NamedValue) (driver.Rows, error) {
	c.a.mu.Lock()
	defer c.a.mu.Unlock()
	c.a.asked = append(c.a.asked, text)
	if text == "SELECT version()" {
		return &oneRow{text: cmp.Or(c.a.version, "PostgreSQL 15.4 (Debian 15.4-1.pgdg120+1)")}, nil
	}
	return &oneRow{text: c.a.answer}, nil
}

type oneRow struct {
	text string
	done bool
}

func (*oneRow) Columns() []string { return []string{"answer"} }
func (*oneRow) Close() error      { return nil }
func (r *oneRow) Next(values []driver.Value) error {
	if r.done {
		return io.EOF
	}
	values[0], r.done = r.text, true
	return nil
}

// A server is refused, warned about or adjusted as its settings say.
func TestServerSettings(t *testing.T) {
	t.Parallel()
	const good = "150004 f off origin on UTF8 UTF8 on on on 30000 10000 60000 read-committed f"
	for name, c := range map[string]struct{ answer, refused, warned, set string }{
		"good":                  {answer: good},
		"too old":               {answer: strings.Replace(good, "150004", "140011", 1), refused: "PostgreSQL 15 or later"},
		"no version":            {answer: strings.Replace(good, "150004", "v15", 1), refused: "PostgreSQL 15 or later"},
		"a standby":             {answer: strings.Replace(good, " f off", " t on", 1), refused: "primary"},
		"triggers are off":      {answer: strings.Replace(good, "origin", "replica", 1), refused: "session_replication_role"},
		"another encoding":      {answer: strings.Replace(good, "UTF8 UTF8", "LATIN1 UTF8", 1), refused: "server_encoding"},
		"something is missing":  {answer: "150004 f off", refused: "15 values"},
		"fsync is off":          {answer: strings.Replace(good, "on on on 3", "on off on 3", 1), warned: "fsync=off"},
		"full pages are off":    {answer: strings.Replace(good, "on on on 3", "on on off 3", 1), warned: "full_page_writes=off"},
		"commits do not wait":   {answer: strings.Replace(good, "UTF8 on", "UTF8 off", 1), set: "set_config('synchronous_commit', 'on', false)"},
		"commits wait here":     {answer: strings.Replace(good, "UTF8 on", "UTF8 local", 1), set: "set_config('synchronous_commit', 'on', false)"},
		"commits wait for more": {answer: strings.Replace(good, "UTF8 on", "UTF8 remote_apply", 1)},
		"no statement timeout":  {answer: strings.Replace(good, "30000", "0", 1), set: "set_config('statement_timeout', '25000', false)"},
		"no lock timeout":       {answer: strings.Replace(good, "10000", "0", 1)},
		"no idle timeout":       {answer: strings.Replace(good, "60000", "0", 1), set: "set_config('idle_in_transaction_session_timeout', '60000', false)"},
		"pages cost more":       {answer: strings.TrimSuffix(good, "f") + "t", set: "set_config('random_page_cost', current_setting('seq_page_cost'), false)"},
		"another isolation":     {answer: strings.Replace(good, "read-committed", "serializable", 1), set: "set_config('default_transaction_isolation', 'read committed', false)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &answering{answer: c.answer, version: "PostgreSQL 15.4 (Debian 15.4-1.pgdg120+1) on x86_64-pc-linux-gnu"}
			db := sql.OpenDB(a)
			defer db.Close()
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			var log bytes.Buffer
			d := Postgres(WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			for range 2 { // of two connections one warns
				err = d.settings(t.Context(), &session{conn: conn, limit: limit(d.patience())}, forStore, nil)
			}
			if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
				t.Errorf("got %v, want a refusal that says %q", err, c.refused)
			}
			if n := strings.Count(log.String(), "level=WARN"); (n == 1) != (c.warned != "") || n > 1 || !strings.Contains(log.String(), c.warned) {
				t.Errorf("the log is %q, want one warning that says %q", log.String(), c.warned)
			}
			var set string
			for _, text := range a.asked {
				if strings.Contains(text, "set_config") {
					set = text
				}
			}
			const always = "set_config('lock_timeout', '50', false)"
			if (set != "") != (c.refused == "") || !strings.Contains(set, c.set) || c.refused == "" && !strings.Contains(set, always) {
				t.Errorf("set %q, want %q and %q", set, c.set, always)
			}
		})
	}
}
