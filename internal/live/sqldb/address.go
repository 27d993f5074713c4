package sqldb

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/internal/live"
)

// Address is where a database is.
type Address struct {
	Text    string // as it was given: may hold a password
	Dialect string // "sqlite" or "postgres"
	Shown   string // for messages: the path, or host and database

	clean func(error) error // takes the password out; nil: there is none
}

const expected = "expected the path of a SQLite file, or an address like postgres://user:password@host:5432/database"

var (
	scheme  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)
	keyword = regexp.MustCompile(`^\s*(?:host|hostaddr|port|dbname|database|user|password|service|sslmode|passfile|application_name|connect_timeout|target_session_attrs)\s*=`)
)

// Parse reads an address. It does not look whether there is something, except
// that a file whose name looks like an address is a file.
func Parse(text string) (Address, error) {
	a := Address{Text: text, Dialect: "sqlite", Shown: text}
	if text == "" {
		return a, errors.New("the address is empty; " + expected)
	}
	if _, err := os.Stat(text); err == nil {
		return a, nil
	}
	head, rest, isURL := strings.Cut(text, "://")
	switch {
	case keyword.MatchString(text):
	case isURL && (strings.EqualFold(head, "postgres") || strings.EqualFold(head, "postgresql")):
		if err := ambiguous(rest); err != nil {
			return Address{}, err
		}
	case isURL:
		if !scheme.MatchString(head + ":") {
			return Address{}, errors.New("the address does not name a database; " + expected)
		}
		return Address{}, fmt.Errorf("no database has addresses with %s://; %s", strings.ToLower(head), expected)
	case strings.HasPrefix(strings.ToLower(text), "file:"), strings.HasPrefix(text, ":"):
		return Address{}, errors.New("the address is not the path of a file; " + expected)
	case strings.Contains(text, "@"), strings.Contains(strings.ToLower(text), "password"):
		// Not a file that there is, and perhaps an address without its scheme: it is not repeated.
		return Address{}, errors.New("the file does not exist; " + expected)
	default:
		return a, nil
	}
	return server(text)
}

// ambiguous refuses what net/url and pgx read as something else than what was
// meant: a password with / ? or # in it ends the host too early, and its rest
// would be shown as the name of a database.
func ambiguous(rest string) error {
	if end := strings.IndexAny(rest, "/?#"); end >= 0 && strings.Contains(rest[end:], "@") {
		return errors.New("the address cannot be read: there is an @ behind the host; write the characters / ? # @ of a password as %2F %3F %23 %40")
	}
	return nil
}

// server reads an address of PostgreSQL.
func server(text string) (Address, error) {
	config, err := pgx.ParseConfig(text)
	if err != nil { // its words may hold a part of the address, and so of the password
		return Address{}, errors.New("the address cannot be read; expected one like postgres://user:password@host:5432/database?sslmode=verify-full (the characters / ? # @ of a password are written %2F %3F %23 %40)")
	}
	a := Address{Text: text, Dialect: "postgres", Shown: fmt.Sprintf("the database %q at %s:%d", config.Database, config.Host, config.Port)}
	a.clean = live.Secret(config.Password)
	return a, nil
}

// Clean returns an error without the password. What errors.Is and errors.As find
// in it is gone when it held one.
func (a Address) Clean(err error) error {
	if a.clean == nil {
		return err
	}
	return a.clean(err)
}

// CheckFile tells a database from other files by what each of them begins with, so
// that a wrong path gets an answer that says so.
func CheckFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot open the database: %w; "+expected, err)
	}
	defer func() { _ = f.Close() }() // it was read only
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder; expected the path of a SQLite file", path)
	}
	const magic = "SQLite format 3\x00"
	head := make([]byte, len(magic))
	switch n, err := io.ReadFull(f, head); {
	case n == 0:
		return fmt.Errorf("%s is empty; expected a SQLite database", path)
	case err != nil || string(head) != magic:
		return fmt.Errorf("%s is not a SQLite database", path)
	}
	return nil
}
