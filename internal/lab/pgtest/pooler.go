package pgtest

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Pooler starts PgBouncer before the server of dsn, with two sessions of the server, and
// returns its address: dsn's through the pooler. More are lines of its configuration. It is
// ended when the test ends. Where there is no PgBouncer the test is skipped; with
// FSMGEN_REQUIRE_PGBOUNCER=1 it fails.
func Pooler(t testing.TB, dsn string, more ...string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer"
		if _, err := os.Stat(program); err != nil {
			const missing = "there is no PgBouncer for this test: install one (apt-get install pgbouncer)"
			if os.Getenv("FSMGEN_REQUIRE_PGBOUNCER") == "1" {
				t.Fatal(missing)
			}
			t.Skip(missing)
		}
	}
	server, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(folder(), "pgtest")
	if err == nil {
		err = give(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var b bytes.Buffer
	fmt.Fprintf(&b, "[databases]\n* = host=%s port=%d user=%s", server.Host, server.Port, server.User)
	if server.Password != "" {
		fmt.Fprintf(&b, " password='%s'", server.Password)
	}
	fmt.Fprintf(&b, "\n[pgbouncer]\nunix_socket_dir = %s\nlisten_port = 6432\nauth_type = any\ndefault_pool_size = 2\n"+
		"max_client_conn = 500\n", dir)
	for _, line := range more {
		b.WriteString(line + "\n")
	}
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd := exec.Command(program, file)
	cmd.Stdout, cmd.Stderr, cmd.Dir = &log, &log, dir
	unprivileged(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatalf("start PgBouncer: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed: that is its error
	})
	u := url.URL{Scheme: "postgres", User: url.User(server.User), Path: "/" + server.Database,
		RawQuery: url.Values{"host": {dir}, "port": {"6432"}, "sslmode": {"disable"}}.Encode()}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, u.String())
		if err == nil {
			_ = conn.Close(ctx)
			return u.String()
		}
		select {
		case <-ctx.Done():
			t.Fatalf("PgBouncer does not answer: %v\n%s", err, log.Bytes())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
