package commands

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// SQLC says which sqlc a path or a name in PATH leads to; the error says why there
// is none. It is no tool of this module, which would have to bring its SQL parsers along.
func SQLC(ctx context.Context, name string) (path, version string, err error) {
	if path, err = exec.LookPath(name); err != nil {
		return "", "", err
	}
	said, err := exec.CommandContext(ctx, path, "version").Output()
	if err != nil {
		return "", "", fmt.Errorf("%s version: %w", path, err)
	}
	return path, strings.TrimSpace(string(said)), nil
}

// SQLProject writes what sqlc generates from into a new folder: a schema for PostgreSQL
// and what a store asks of a table and of its log.
func SQLProject(dir, table, schema string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"schema.sql":  schema,
		"queries.sql": strings.ReplaceAll(queries, "TABLE", table),
		"sqlc.yaml": "version: \"2\"\nsql:\n  - engine: postgresql\n    schema: schema.sql\n    queries: queries.sql\n" +
			"    gen: {go: {package: machine, out: out}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

const queries = `-- name: Read :one
SELECT * FROM "TABLE" WHERE id = $1;

-- name: ReadInStates :many
SELECT * FROM "TABLE" WHERE state = ANY($1::text[]) ORDER BY id LIMIT $2;

-- name: Move :execrows
UPDATE "TABLE" SET rev = rev + 1, state = $3, updated_at = $4 WHERE id = $1 AND rev = $2;

-- name: ReadLog :many
SELECT * FROM "TABLE_events" WHERE id = $1 ORDER BY rev;

-- name: ReadRequest :many
SELECT * FROM "TABLE_events" WHERE request_id = $1;
`

// RingTables writes the tables of a ring of n states, by hand: the state is one of n
// words, and a log stands beside it.
func RingTables(n int) string {
	var words []string
	for i := range n {
		words = append(words, fmt.Sprintf("'s%d'", i))
	}
	return `CREATE TABLE "ring" (
    id text PRIMARY KEY,
    state text NOT NULL CHECK (state IN (` + strings.Join(words, ", ") + `)),
    rev bigint NOT NULL,
    updated_at timestamptz NOT NULL,
    owner text,
    steps bigint NOT NULL
);

CREATE TABLE "ring_events" (
    id text NOT NULL,
    rev bigint NOT NULL,
    operation text NOT NULL,
    "to" text NOT NULL,
    request_id text,
    PRIMARY KEY (id, rev)
);
`
}
