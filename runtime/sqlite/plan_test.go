package sqlite_test

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	modernc "modernc.org/sqlite"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// listener opens connections that note the last text they prepared.
type listener struct {
	sqldriver.Connector
	last string
}

func (l *listener) Connect(ctx context.Context) (sqldriver.Conn, error) {
	c, err := l.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &listeningConn{c.(fullConn), l}, nil
}

type listeningConn struct {
	fullConn
	l *listener
}

func (c *listeningConn) PrepareContext(ctx context.Context, query string) (sqldriver.Stmt, error) {
	c.l.last = query
	return c.fullConn.PrepareContext(ctx, query)
}

// planned is a store with one connection, so that the last prepared text is
// that of the query just made.
type planned struct {
	t   *testing.T
	l   *listener
	tab driver.Table
}

func plan(t *testing.T, s *driver.Schema) *planned {
	t.Helper()
	connector, err := modernc.NewConnector("file:" + filepath.Join(t.TempDir(), "x.db") + "?" + settings)
	if err != nil {
		t.Fatal(err)
	}
	p := &planned{t: t, l: &listener{Connector: connector}}
	db := sql.OpenDB(p.l)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	store, err := sqlstore.New(db, sqlstore.SQLite())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	p.tab = table(t, store, s)
	return p
}

var parameter = regexp.MustCompile(`\?\d*`)

// of returns the plan of the last query that f makes.
func (p *planned) of(f func(tx fsm.Tx) error) string {
	p.t.Helper()
	var lines []string
	err := p.tab.Update(context.Background(), func(tx fsm.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		text := parameter.ReplaceAllString(p.l.last, "NULL")
		rows, err := p.tx(tx).Query("EXPLAIN QUERY PLAN " + text)
		if err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				return err
			}
			lines = append(lines, detail)
		}
		return rows.Err()
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func (p *planned) tx(tx fsm.Tx) *sql.Tx { return (&sqlstore.Store{}).Transaction(tx) }

// lifecycleFields is as much of that machine as its queries need.
func lifecycleFields(t *testing.T) *driver.Schema {
	s := &driver.Schema{Machine: "lifecycle", Table: "lifecycle", Hash: "h", Enforce: "full", SQL: generated(t, "lifecycle"),
		Columns: []driver.Column{
			{Name: "lease", Stored: "lease", Kind: driver.KindTime, Optional: true},
			{Name: "queued_at", Stored: "queued_at", Kind: driver.KindTime, Optional: true},
		}}
	for _, name := range []string{"queued", "claimed", "running", "succeeded", "failed", "stalled"} {
		s.States = append(s.States, driver.StateInfo{Name: name, Stored: name})
	}
	return s
}

func drain(tx fsm.Tx, q driver.Query) error {
	for _, err := range tx.Rows(q) {
		if err != nil {
			return err
		}
	}
	return nil
}

// Every query that the engine repeats finds its index and sorts nothing.
func TestPlans(t *testing.T) {
	t.Parallel()
	parcels := storetest.Schema()
	parcels.SQL = generated(t, "parcel")
	heavy := *parcels // absent values last, as the generator would index them
	heavy.SQL = map[string]string{"sqlite": strings.Replace(parcels.SQL["sqlite"], "\n-- section: checks",
		"\nCREATE INDEX \"parcel_heaviest\" ON \"parcel\" (\"weight\" IS NULL, \"weight\" DESC, \"id\") WHERE \"state\" IN ('waiting');\n\n-- section: checks", 1)}
	now := time.Now()
	for _, c := range []struct {
		name   string
		schema *driver.Schema
		query  func(tx fsm.Tx) error
		index  string
		sorts  bool
	}{
		{"due executions", executionSchema(t), func(tx fsm.Tx) error {
			return drain(tx, driver.Query{States: []string{"in_progress", "leased"}, Where: []driver.Cond{{Column: "lease_expires_at", Op: driver.OpLe, Value: now}}})
		}, "execution_due_expire", true},
		{"due executions, next page", executionSchema(t), func(tx fsm.Tx) error {
			return drain(tx, driver.Query{States: []string{"in_progress", "leased"}, Where: []driver.Cond{{Column: "lease_expires_at", Op: driver.OpLe, Value: now}}, After: "x"})
		}, "execution_due_expire", true},
		{"the oldest due executions", executionSchema(t), func(tx fsm.Tx) error {
			return drain(tx, driver.Query{States: []string{"leased", "in_progress"}, Where: []driver.Cond{{Column: "lease_expires_at", Op: driver.OpLe, Value: now}},
				Order: []driver.Order{{Column: "lease_expires_at"}}, Limit: 10})
		}, "execution_due_expire", false},
		{"due parcels, an optional deadline", parcels, func(tx fsm.Tx) error {
			return drain(tx, driver.Query{States: []string{"held"}, Where: []driver.Cond{{Column: "due", Op: driver.OpLe, Value: now}},
				Order: []driver.Order{{Column: "due"}}, Limit: 10})
		}, "parcel_due_release", false},
		{"the next parcel of a lane", parcels, func(tx fsm.Tx) error {
			return drain(tx, driver.Query{States: []string{"waiting"}, Where: []driver.Cond{{Column: "lane", Op: driver.OpEq, Value: "a"}},
				Order: []driver.Order{{Column: "weight", Descending: true}}, Limit: 1, Lock: true})
		}, "parcel_next_hold", false},
		{"the next job", lifecycleFields(t), func(tx fsm.Tx) error {
			return drain(tx, driver.Query{States: []string{"queued", "stalled"}, Order: []driver.Order{{Column: "queued_at"}, {Column: "created_at"}}, Limit: 1, Lock: true})
		}, "lifecycle_next_claim_next", false},
		{"the heaviest parcel", &heavy, func(tx fsm.Tx) error {
			return drain(tx, driver.Query{States: []string{"waiting"}, Order: []driver.Order{{Column: "weight", Descending: true}}, Limit: 1})
		}, "parcel_heaviest", false},
		{"due jobs", lifecycleFields(t), func(tx fsm.Tx) error {
			return drain(tx, driver.Query{States: []string{"running", "claimed"}, Where: []driver.Cond{{Column: "lease", Op: driver.OpLe, Value: now}}})
		}, "lifecycle_due_stall", true},
		{"records of a state", parcels, func(tx fsm.Tx) error {
			return drain(tx, driver.Query{States: []string{"waiting"}, After: "p"})
		}, "parcel_state", false},
		{"count of a state", parcels, func(tx fsm.Tx) error {
			_, err := tx.Count(driver.Query{States: []string{"waiting"}})
			return err
		}, "parcel_state", false},
		{"all records", parcels, func(tx fsm.Tx) error { return drain(tx, driver.Query{After: "p"}) }, "PRIMARY KEY", false},
		{"dedupe", parcels, func(tx fsm.Tx) error {
			return drain(tx, driver.Query{Where: []driver.Cond{{Column: "label", Op: driver.OpEq, Value: "l"}}, Limit: 1})
		}, "parcel_unique_dedupe_register", false},
		{"a page", parcels, func(tx fsm.Tx) error {
			return drain(tx, driver.Query{States: storetest.InLane.States, Where: []driver.Cond{{Column: "lane", Op: driver.OpEq, Value: "a"}},
				Order: storetest.InLane.Order, Limit: 10})
		}, "parcel_lookup_in_lane", false},
		{"the next page", parcels, func(tx fsm.Tx) error {
			return drain(tx, driver.Query{States: storetest.InLane.States, Where: []driver.Cond{{Column: "lane", Op: driver.OpEq, Value: "a"}},
				Order: storetest.InLane.Order, After: "x", Behind: []any{now, "l"}, Limit: 10})
		}, "parcel_lookup_in_lane", false},
		{"the next page by id", parcels, func(tx fsm.Tx) error {
			return drain(tx, driver.Query{Where: []driver.Cond{{Column: "size", Op: driver.OpEq, Value: "small"}}, After: "x", Limit: 10})
		}, "parcel_lookup_of_size", false},
		{"a group of a guard", parcels, func(tx fsm.Tx) error {
			_, err := tx.Peers(driver.PeerQuery{Name: "lane_open", Columns: []string{"lane"}, Values: []any{"a"}, States: []string{"shelved"}, Except: "p"})
			return err
		}, "parcel_peers_lane_open", false},
		{"a group of a guard that is unique", executionSchema(t), func(tx fsm.Tx) error {
			_, err := tx.Peers(driver.PeerQuery{Name: "job_not_leased", Columns: []string{"job_id"}, Values: []any{"a"}, States: []string{"leased", "in_progress"}, Except: "p"})
			return err
		}, "execution_unique_one_lease_per_job", false},
		{"a record's request", parcels, func(tx fsm.Tx) error { _, err := tx.Request("p", "r"); return err }, "parcel_events_request", true},
		{"the machine's request", parcels, func(tx fsm.Tx) error { _, err := tx.Request("", "r"); return err }, "parcel_events_batch", false},
		{"a log", parcels, func(tx fsm.Tx) error {
			for _, err := range tx.Events("p", 2) {
				return err
			}
			return nil
		}, "sqlite_autoindex_parcel_events", false},
		{"what is left of removed records", parcels, func(tx fsm.Tx) error {
			_, err := tx.Tombstones("p", now, 10)
			return err
		}, "parcel_events_purged", false},
		{"the effects that are due", parcels, func(tx fsm.Tx) error { _, err := tx.Effects(now); return err }, "parcel_outbox_fresh (effect=? AND due<?)", true},
		{"an effect's other deliveries", parcels, func(tx fsm.Tx) error { _, err := tx.Claim("notify", now, now, 10); return err }, "parcel_outbox_again (effect=? AND due<?)", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := plan(t, c.schema).of(c.query)
			if !strings.Contains(got, c.index) {
				t.Errorf("the plan does not use %s:\n%s", c.index, got)
			}
			if !c.sorts && strings.Contains(got, "TEMP B-TREE") {
				t.Errorf("the plan sorts:\n%s", got)
			}
		})
	}
}
