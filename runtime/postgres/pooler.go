package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// PoolerError says that a pooler, such as PgBouncer, stands between the store and the
// server. The store does not open.
type PoolerError struct {
	Noticed string // how it was noticed
	Err     error  // what was said, if an error said it
}

func (e *PoolerError) Error() string {
	return "postgres: a pooler stands between the store and the server: " + e.Noticed +
		"; expected the server itself, whose sessions keep settings and prepared statements;" +
		" give its own address, or open the store with postgres.WithPooler()"
}

func (e *PoolerError) Unwrap() error { return e.Err }

// WithPooler makes a store that needs no state of a session, for PgBouncer and others that
// give each transaction any session (pool_mode=transaction; session works as well). Every
// write is in a transaction that first asks for the settings and the tables, and sets its
// time limits for itself: what another client left in the session is not relied on. No
// statement is kept prepared, whatever default_query_exec_mode the address names. It costs
// three more round trips for a batch of writes that would be one statement otherwise.
//
// The address must hold no settings (search_path, statement_timeout, options), which a
// pooler refuses: WithSchema names the schema; without it, it is the first one that the role
// and the database have. A statement that only reads has no time limit of the server's, only
// the deadline of the store; with WithReadOnly the store itself refuses writes, not the server.
// Other processes do not wake the workers of this one, since no session listens: they look by
// themselves. A transaction of the caller's that is joined has the caller's time limits.
func WithPooler() Option { return func(o *options) { o.pooler = true } }

// direct asks whether the session is of the server that its number was given by: a pooler
// gives its clients numbers of its own. Only PostgreSQL's numbers are of processes. A
// connection that it refuses is closed, which pgx leaves to its caller.
func direct(ctx context.Context, conn *pgx.Conn) (err error) {
	defer func() {
		if err != nil {
			_ = conn.Close(ctx) // the refusal is what counts
		}
	}()
	server := conn.PgConn()
	answers, err := server.Exec(ctx, "SELECT pg_backend_pid(), version()").ReadAll()
	if err != nil {
		return fmt.Errorf("postgres: ask for the session's process: %w", err)
	}
	row := answers[0].Rows[0]
	pid, version := string(row[0]), string(row[1])
	told := strconv.FormatUint(uint64(server.PID()), 10)
	if pid == told || !strings.HasPrefix(version, "PostgreSQL ") || strings.Contains(version, "-YB-") {
		return nil
	}
	return &PoolerError{Noticed: "the connection is told to be that of process " + told + ", and process " + pid + " answers"}
}

// refused makes a PoolerError of what a pooler says when the store opens.
func (o *options) refused(err error) error {
	var said *pgconn.PgError
	if o.pooler || errors.Is(err, sqlstore.ErrServer) || !errors.As(err, &said) {
		return err
	}
	if said.Code == "26000" || said.Code == "42P05" || strings.Contains(said.Message, "unsupported startup parameter") {
		return &PoolerError{Noticed: "it says " + strconv.Quote(said.Message), Err: err}
	}
	return err
}
