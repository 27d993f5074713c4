package sqldb_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/live/sqldb"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, dialect, shown, err string }{
		{"jobs.db", "sqlite", "jobs.db", ""},
		{"some/where else/jobs", "sqlite", "some/where else/jobs", ""},
		{"a=b.db", "sqlite", "a=b.db", ""},
		{"postgres://u:s3cret@h:7/d", "postgres", `the database "d" at h:7`, ""},
		{"PostgreSQL://u:s3cret@h:7/d", "", "", "the address cannot be read"}, // pgx wants it in small letters
		{"host=h port=7 user=u password=s3cret dbname=d", "postgres", `the database "d" at h:7`, ""},
		{"password=s3cret host=h dbname=d port=7", "postgres", `the database "d" at h:7`, ""},
		{"", "", "", "the address is empty; expected the path of a SQLite file"},
		{"mysql://u:s3cret@h/d", "", "", "no database has addresses with mysql://; expected the path"},
		{"u:s3cret@h/d", "", "", "the file does not exist; expected"},
		{"Password=s3cret;Host=h", "", "", "the file does not exist; expected"},
		{"file:jobs.db?mode=ro", "", "", "is not the path of a file"},
		{":memory:", "", "", "is not the path of a file"},
		{"postgres://u:s3cret@h:port/d", "", "", "the address cannot be read"},
		{"postgres://u:s3cr/et@h/d", "", "", "the address cannot be read"},
		{"postgres://u:12/s3cret@h/d", "", "", "there is an @ behind the host"},
		{"postgres://u:12?s3cret@h/d", "", "", "there is an @ behind the host"},
		{"postgres://u:12#s3cret@h/d", "", "", "there is an @ behind the host"},
		{"postgres://u:1@2/s3cret@h/d", "", "", "there is an @ behind the host"},
		{"postgres://u:s3cret@[::1/d", "", "", "the address cannot be read"},
		{"postgres://u:s3cret%zz@h/d", "", "", "the address cannot be read"},
		{"host=h password='s3cret", "", "", "the address cannot be read"},
		{"host=h password=s3cret sslmode=no-such", "", "", "the address cannot be read"},
	} {
		a, err := sqldb.Parse(c.text)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %v, want %q", c.text, err, c.err)
			}
			if err != nil && strings.Contains(err.Error(), "s3cr") {
				t.Errorf("%q: the error holds the password: %v", c.text, err)
			}
			continue
		}
		if err != nil || a.Dialect != c.dialect || a.Shown != c.shown {
			t.Errorf("%q: %s, %s, %v; want %s, %s", c.text, a.Dialect, a.Shown, err, c.dialect, c.shown)
		}
	}
}

// A file is a file, whatever it is called.
func TestFileFirst(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "password=x@y.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if a, err := sqldb.Parse(path); err != nil || a.Dialect != "sqlite" || a.Shown != path {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	a, err := sqldb.Parse(`postgres://u:p%22%2F%20w@h/d`)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`p"/ w`, `p%22%2F%20w`, `p%22%2F+w`, `p\"/ w`} {
		if got := a.Clean(fmt.Errorf("no: %s.", text)); got.Error() != "no: …." {
			t.Errorf("%s: %v", text, got)
		}
	}
	plain := errors.New("nothing to hide")
	if got := a.Clean(plain); got != plain {
		t.Errorf("an error without it became %v", got)
	}
	if got := a.Clean(nil); got != nil {
		t.Errorf("nil became %v", got)
	}
}
