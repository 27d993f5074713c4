package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// What servers answer to SELECT version().
const (
	debian       = "PostgreSQL 15.4 (Debian 15.4-1.pgdg120+1) on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit"
	cockroach    = "CockroachDB CCL v24.1.2 (x86_64-pc-linux-gnu, built 2024/06/24 20:38:04, go1.22.4)"
	oldCockroach = "CockroachDB OSS v22.1.19 (x86_64-pc-linux-gnu, built 2023/04/21 17:26:13, go1.17.11)"
	yugabyte     = "PostgreSQL 15.2-YB-2.25.1.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 17.0.6, 64-bit"
)

func TestServerOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]server{
		debian:       {kind: PostgreSQL},
		cockroach:    {kind: CockroachDB, major: 24, minor: 1},
		oldCockroach: {kind: CockroachDB, major: 22, minor: 1},
		yugabyte:     {kind: YugabyteDB, major: 2, minor: 25},
		"PostgreSQL 11.2-YB-2.18.0.0-b0 on x86_64": {kind: YugabyteDB, major: 2, minor: 18},
		"CockroachDB of tomorrow":                  {kind: CockroachDB},
		"":                                         {kind: PostgreSQL},
	} {
		want.says = text
		if d := cmp.Diff(want, *serverOf(text), cmp.AllowUnexported(server{})); d != "" {
			t.Errorf("%q (-want +got):\n%s", text, d)
		}
	}
}

// met returns a dialect that has had its first session on a server that answers
// so, and what that asked.
func met(t *testing.T, want, version, answer string) (*postgres, []string, error) {
	t.Helper()
	a := &answering{answer: answer, version: version}
	db := sql.OpenDB(a)
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p, _ := Postgres(WithServer(want), WithSchema("app")).(*postgres)
	for range 2 {
		if err = p.settings(t.Context(), &session{conn: conn, patience: patience(p.deadline)}, forStore); err != nil {
			break
		}
	}
	return p, a.asked, err
}

const (
	readCommitted = "150000 f off origin on UTF8 UTF8 on on on 30000 10000 60000 read-committed"
	serializable  = "150000 f off origin on UTF8 UTF8 on on on 30000 10000 60000 serializable"
)

// The store opens on the server that it was opened for, and on no other.
func TestServerIsAsWanted(t *testing.T) {
	t.Parallel()
	versions := map[string]string{PostgreSQL: debian, CockroachDB: cockroach, YugabyteDB: yugabyte}
	for want := range versions {
		for is, version := range versions {
			p, asked, err := met(t, want, version, readCommitted)
			if want != is {
				if !errors.Is(err, ErrServer) || !strings.Contains(err.Error(), version[:20]) || p.server.Load() != nil {
					t.Errorf("%s on %s: %v, want ErrServer that names what the server says", want, is, err)
				}
				continue
			}
			if err != nil || asked[0] != "SELECT version()" || strings.Count(strings.Join(asked, "\n"), "version()") != 1 {
				t.Errorf("%s: %v; asked %q, want the version, once", want, err, asked)
			}
		}
	}
}

// What the store does on each server follows from what the server says.
func TestServerSwitch(t *testing.T) {
	t.Parallel()
	type behaviour struct {
		Snapshot, Claim, Lock, Isolation, Log, Repair, Set string
		Levels                                             []string // that can be migrated
		Column                                             bool     // of the transaction's number
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "gen", "testdata", "schema", "parcel.postgres.sql"))
	if err != nil {
		t.Fatal(err)
	}
	word := func(err error) string {
		switch {
		case err == nil:
			return "offered"
		case errors.Is(err, ErrNotOffered):
			return "not offered"
		}
		return err.Error()
	}
	full := behaviour{
		Snapshot: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", Claim: `LOCK TABLE "app"."fsm_meta" IN SHARE ROW EXCLUSIVE MODE`,
		Lock: " FOR NO KEY UPDATE SKIP LOCKED", Isolation: "Read Committed", Log: "offered", Repair: "offered",
		Levels: []string{"none", "checks", "full"}, Column: true,
	}
	log := full
	log.Log = "not offered"
	strict := behaviour{
		Snapshot: "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY", Lock: " FOR NO KEY UPDATE SKIP LOCKED", Isolation: "Serializable",
		Log: "not offered", Repair: "not offered", Levels: []string{"none"},
	}
	waits, told := strict, strict
	waits.Lock = " FOR NO KEY UPDATE"
	told.Set = "serializable"
	for name, c := range map[string]struct {
		kind, version, answer string
		want                  behaviour
	}{
		"PostgreSQL":                            {PostgreSQL, debian, readCommitted, full},
		"YugabyteDB":                            {YugabyteDB, yugabyte, readCommitted, log},
		"CockroachDB":                           {CockroachDB, cockroach, serializable, strict},
		"CockroachDB 22.1":                      {CockroachDB, oldCockroach, serializable, waits},
		"CockroachDB whose default was lowered": {CockroachDB, cockroach, readCommitted, told},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, asked, err := met(t, c.kind, c.version, c.answer)
			if err != nil {
				t.Fatal(err)
			}
			got := behaviour{
				Snapshot: p.snapshot(), Claim: p.claimSchema(), Lock: p.lock(), Isolation: p.isolation(false).String(),
				Log: word(p.ordered("parcel_events").refused), Column: true,
			}
			for _, level := range []string{"none", "checks", "full"} {
				s, err := p.schema(string(text), level)
				switch {
				case err == nil:
					got.Levels = append(got.Levels, level)
					got.Column = got.Column && strings.Contains(s, "xid8")
				case !errors.Is(err, ErrNotOffered):
					t.Error(err)
				}
			}
			q := &noting{}
			got.Repair = word(p.unguarded(t.Context(), q, "parcel", func() error { q.ran = true; return nil }))
			if q.ran != (got.Repair == "offered") {
				t.Errorf("the repair ran: %v, and is %s", q.ran, got.Repair)
			}
			for _, text := range asked {
				if _, set, ok := strings.Cut(text, "set_config('default_transaction_isolation', '"); ok {
					got.Set, _, _ = strings.Cut(set, "'")
				}
				if c.kind == CockroachDB && strings.Contains(text, "full_page_writes") {
					t.Errorf("it was asked for a setting that it does not have: %s", text)
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// noting takes any statement.
type noting struct{ ran bool }

func (*noting) exec(context.Context, string, ...any) (sql.Result, error) { return nil, nil }
func (*noting) query(context.Context, string, ...any) (*rows, error)     { return nil, nil }

// The refusals come out of the store with their type.
func TestServerRefusals(t *testing.T) {
	t.Parallel()
	p := Postgres(WithServer(CockroachDB)).(*postgres)
	if err := p.known(cockroach); err != nil {
		t.Fatal(err)
	}
	tab, err := newTable(&Store{dialect: p, enforce: "full"}, &fsm.Schema{Machine: "parcel", Table: "parcel", Enforce: "full", SQL: map[string]string{
		"postgres": "-- section: tables\n" + transactionColumn + "\n-- section: full\nCREATE TRIGGER x\n"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := tab.script(); !errors.Is(err, ErrNotOffered) || !strings.Contains(err.Error(), "WithEnforce") {
		t.Errorf("the script at level full: %v, want ErrNotOffered that says how to go on", err)
	}
	tab.store.enforce = "none"
	all, tables, err := tab.script()
	if err != nil || strings.Contains(all+tables, "xid8") || strings.Contains(all, "TRIGGER") || !strings.Contains(tables, `"xid" bigint`) {
		t.Errorf("the script at level none: %q, %q, %v", all, tables, err)
	}
	r := &reader{ctx: t.Context(), t: tab}
	if _, err := r.Log("", 10); !errors.Is(err, ErrNotOffered) {
		t.Errorf("Log: %v, want ErrNotOffered", err)
	}
}
