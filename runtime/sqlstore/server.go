package sqlstore

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The servers that speak PostgreSQL's protocol, for WithServer.
const (
	PostgreSQL  = "postgres"
	CockroachDB = "cockroach"
	YugabyteDB  = "yugabyte"
)

var (
	// ErrServer says that the server is, by its own word, another one than the store was opened
	// for. See WithServer.
	ErrServer = errors.New("it is another server than the store was opened for")
	// ErrNotOffered says that the server has not what the call needs; nothing was
	// done. It is an errors.ErrUnsupported.
	ErrNotOffered = fmt.Errorf("the server does not offer what this needs: %w", errors.ErrUnsupported)
)

// WithServer says which server the store may be on: PostgreSQL, the default, which
// the store is made and tested for; CockroachDB or YugabyteDB, on which none of
// its promises has been tested: whoever sets this runs the conformance suite
// there first (see runtime/postgres). The server is asked what it is; when it is
// another one the store does not open (ErrServer). What the store does otherwise
// there follows from what the server says of itself:
//
//   - Neither has a log in the order of its transactions: Log and Watch are
//     refused with ErrNotOffered.
//   - CockroachDB has not the triggers of the levels "checks" and "full": only
//     WithEnforce("none") migrates, others and Repair are refused with
//     ErrNotOffered. Every transaction is serializable, and before 22.2 a pick
//     waits for locked records instead of passing over them.
func WithServer(name string) PostgresOption { return func(p *postgres) { p.want = name } }

// server is what a server says of itself.
type server struct {
	kind         string
	major, minor int // 0 where it does not say
	says         string
}

var (
	cockroachVersion = regexp.MustCompile(`^CockroachDB\b.*?\bv(\d+)\.(\d+)`)
	yugabyteVersion  = regexp.MustCompile(`-YB-(\d+)\.(\d+)`)
)

// serverOf reads what version() returns.
func serverOf(text string) *server {
	s := &server{kind: PostgreSQL, says: text}
	m := yugabyteVersion.FindStringSubmatch(text)
	switch {
	case m != nil:
		s.kind = YugabyteDB
	case strings.HasPrefix(text, "CockroachDB"):
		s.kind, m = CockroachDB, cockroachVersion.FindStringSubmatch(text)
	}
	if m != nil {
		s.major, _ = strconv.Atoi(m[1])
		s.minor, _ = strconv.Atoi(m[2])
	}
	return s
}

// is reports whether the server has said that it is of a kind.
func (p *postgres) is(kind string) bool {
	s := p.server.Load()
	return s != nil && s.kind == kind
}

// known asks the server what it is, once, and refuses another one than wanted.
func (p *postgres) known(text string) error {
	s := serverOf(text)
	if s.kind != p.want {
		return fmt.Errorf("sqlstore: the server says %.80q, which is %s; the store was opened for %s: %w; see WithServer", s.says, s.kind, p.want, ErrServer)
	}
	p.server.Store(s)
	return nil
}

// notOffered is the refusal of what a server has not.
func (p *postgres) notOffered(format string, args ...any) error {
	return fmt.Errorf("sqlstore: %s on %s: %w", fmt.Sprintf(format, args...), p.server.Load().kind, ErrNotOffered)
}

// serverSettings asks for everything in one round trip: of what CockroachDB has
// no setting for, it asks nothing.
func (p *postgres) serverSettings() string {
	if !p.is(CockroachDB) {
		return postgresSettings
	}
	return `SELECT concat_ws(' ', '150000', 'f', current_setting('transaction_read_only'), 'origin', current_setting('standard_conforming_strings'),
	current_setting('server_encoding'), current_setting('client_encoding'), 'on', 'on', 'on', current_setting('statement_timeout'),
	current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout'), replace(current_setting('default_transaction_isolation'), ' ', '-')`
}

// transactionColumn is where an event notes its transaction.
const transactionColumn = `"xid" xid8 NOT NULL DEFAULT pg_current_xact_id()`

// schema returns the generated schema up to a level as the server takes it.
func (p *postgres) schema(text, level string) (string, error) {
	if !p.is(CockroachDB) {
		return text, nil
	}
	if level != "none" {
		return "", p.notOffered("the triggers of the level %q, open the store with WithEnforce(\"none\"):", level)
	}
	if !strings.Contains(text, transactionColumn) {
		return "", fmt.Errorf("sqlstore: the schema has no column %s, which CockroachDB does not take; generate it again", transactionColumn)
	}
	return strings.Replace(text, transactionColumn, `"xid" bigint NOT NULL DEFAULT 0`, 1), nil
}

// skips reports whether the server can pass over locked rows.
func (s *server) skips() bool {
	return s == nil || s.kind != CockroachDB || s.major > 22 || s.major == 22 && s.minor >= 2
}
