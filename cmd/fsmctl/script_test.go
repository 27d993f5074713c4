package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/lab/clitest"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/live/livetest"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fsmctl": main})
}

// TestScript runs testdata/script: the whole command line, as a terminal shows it.
func TestScript(t *testing.T) {
	t.Parallel()
	clitest.Run(t, "testdata/script", commands, nil)
}

func TestHelp(t *testing.T) {
	t.Parallel()
	clitest.Help(t, newCtl(nil, nil, nil).rootCommand(), func(args ...string) string {
		var out bytes.Buffer
		newCtl(nil, &out, io.Discard).run(args)
		return out.String()
	})
}

// TestPostgresScript runs testdata/postgres, with an empty database at $PG.
func TestPostgresScript(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	clitest.Run(t, "testdata/postgres", commands, func(env *testscript.Env) error {
		env.Setenv("PG", dsn)
		return nil
	})
}

var commands = map[string]clitest.Command{
	"jobsdb": jobsDB,
	"sqlite": execSQLite,
	"rows":   rowsOf,
	"schema": schema,
	"pgjobs": postgresJobs,
	"pgrun":  postgresRun,
	"pgopen": postgresOpen,
}

// jobsDB makes a SQLite file with the jobs of livetest.Jobs: jobsdb FILE [LEVEL].
func jobsDB(ts *testscript.TestScript, _ bool, args []string) {
	level := "full"
	if len(args) > 1 {
		level = args[1]
	}
	store, err := sqlite.Open(ts.MkAbs(args[0]), sqlite.WithEnforce(level))
	ts.Check(err)
	ts.Check(livetest.Jobs(context.Background(), store))
	ts.Check(store.Close())
	lock := ts.MkAbs(args[0]) + ".lock"
	ts.Check(os.Remove(lock))
}

// schema writes the SQL of a machine: schema FILE SPEC [DIALECT LEVEL].
func schema(ts *testscript.TestScript, _ bool, args []string) {
	m, found := validate.Source(args[1], []byte(ts.ReadFile(args[1])))
	if found.HasErrors() {
		ts.Fatalf("%v", found)
	}
	args = append(args, "sqlite", "full")
	text, err := gen.Schema(m, args[2], args[3])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o600))
}

// rowsOf prints the first column of a query: rows FILE SQL.
func rowsOf(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(args[0]))
	ts.Check(err)
	rows, err := db.QueryContext(context.Background(), args[1])
	ts.Check(err)
	for rows.Next() {
		var text string
		ts.Check(rows.Scan(&text))
		_, _ = fmt.Fprintln(ts.Stdout(), text)
	}
	ts.Check(errors.Join(rows.Err(), rows.Close(), db.Close()))
}

// execSQLite runs SQL past every rule, that of a file with @: sqlite FILE SQL.
func execSQLite(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(args[0])+"?_pragma=ignore_check_constraints(1)")
	ts.Check(err)
	text := args[1]
	if file, ok := strings.CutPrefix(text, "@"); ok {
		text = ts.ReadFile(file)
	}
	_, err = db.ExecContext(context.Background(), text)
	ts.Check(err)
	ts.Check(db.Close())
}

// postgresOpen leaves a transaction open that has written, and commits a change behind it.
func postgresOpen(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	db, err := sql.Open("pgx", ts.Getenv("PG"))
	ts.Check(err)
	ts.Defer(func() { db.Close() })
	tx, err := db.BeginTx(ctx, nil)
	ts.Check(err)
	ts.Defer(func() { _ = tx.Rollback() })
	_, err = tx.ExecContext(ctx, "SELECT pg_current_xact_id()")
	ts.Check(err)
	_, err = db.ExecContext(ctx, strings.Join(args, " "))
	ts.Check(err)
}

// postgresJobs fills the database at $PG as jobsdb does.
func postgresJobs(ts *testscript.TestScript, _ bool, args []string) {
	store, err := postgres.Open(context.Background(), ts.Getenv("PG"), postgres.WithEnforce("none"))
	ts.Check(err)
	ts.Check(livetest.Jobs(context.Background(), store))
	ts.Check(store.Close())
	postgresRun(ts, false, args)
}

// postgresRun runs SQL in the database at $PG, that of a file with @.
func postgresRun(ts *testscript.TestScript, _ bool, args []string) {
	text := strings.Join(args, " ")
	if file, ok := strings.CutPrefix(text, "@"); ok {
		text = ts.ReadFile(file)
	}
	db, err := sql.Open("pgx", ts.Getenv("PG"))
	ts.Check(err)
	_, err = db.ExecContext(context.Background(), text)
	ts.Check(err)
	ts.Check(db.Close())
}
