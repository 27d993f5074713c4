package sqlstore

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
)

const readCommitted = "150000 f off origin on UTF8 UTF8 on on on 30000 10000 60000 read-committed f"

// The store opens on PostgreSQL alone, which it asks once what it is.
func TestServer(t *testing.T) {
	t.Parallel()
	for version, taken := range map[string]bool{
		"PostgreSQL 15.4 (Debian 15.4-1.pgdg120+1) on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit": true,
		"PostgreSQL 15.2-YB-2.25.1.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 17.0.6, 64-bit":                     false,
		"CockroachDB CCL v24.1.2 (x86_64-pc-linux-gnu, built 2024/06/24 20:38:04, go1.22.4)":                                  false,
	} {
		a := &answering{answer: readCommitted, version: version}
		db := sql.OpenDB(a)
		t.Cleanup(func() { db.Close() })
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		p, _ := Postgres(WithSchema("app")).(*postgres)
		for range 2 {
			err = p.settings(t.Context(), &session{conn: conn, limit: limit(p.deadline)}, forStore, nil)
			if errors.Is(err, ErrServer) == taken || taken && err != nil {
				t.Errorf("%q: %v, want ErrServer: %v", version, err, !taken)
			}
		}
		if n := strings.Count(strings.Join(a.asked, "\n"), "version()"); taken && n != 1 {
			t.Errorf("%q: asked %d times what it is", version, n)
		}
	}
}
