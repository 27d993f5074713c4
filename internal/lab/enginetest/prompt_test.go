package enginetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The values of a statement become arguments; what only looks like one stays.
func TestBound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, form string
		args       []any
	}{
		{`INSERT INTO "a 1" ("x'9'", "y""8") VALUES ('it''s', 7)`, `INSERT INTO "a 1" ("x'9'", "y""8") VALUES (?, ?)`, []any{"it's", int64(7)}},
		{`UPDATE "t2" SET "a" = NULL, "b" = -1, "c" = 1.5, "d" = x'61' WHERE "id" = ''`,
			`UPDATE "t2" SET "a" = ?, "b" = -1, "c" = 1.5, "d" = x'61' WHERE "id" = ?`, []any{nil, ""}},
		{`DELETE FROM "t" WHERE "n" = 9223372036854775808 AND "m" = 9223372036854775807`,
			`DELETE FROM "t" WHERE "n" = 9223372036854775808 AND "m" = ?`, []any{int64(9223372036854775807)}},
		{`SAVEPOINT s1`, `SAVEPOINT s1`, nil},
		{`VALUES ('''')`, `VALUES (?)`, []any{"'"}},
	} {
		form, args := bound(c.text)
		if form != c.form || !cmp.Equal(args, c.args) {
			t.Errorf("%s\n%s %#v, want\n%s %#v", c.text, form, args, c.form, c.args)
		}
	}
}
