package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// receiveConfig are the settings of the receiver.
type receiveConfig struct{ db, listen string }

// inboxTables are the receiver's. Nothing but the key keeps a second entry out of
// the ledger: a double shows as a double.
const inboxTables = `
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, fingerprint BLOB NOT NULL, status INTEGER NOT NULL, body TEXT NOT NULL,
    again INTEGER NOT NULL DEFAULT 0 -- how often it was given again
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ledger (
    place INTEGER PRIMARY KEY, topic TEXT NOT NULL, number INTEGER NOT NULL, body TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS latest (topic TEXT PRIMARY KEY, number INTEGER NOT NULL, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
`

// largest is how many bytes a request may have.
const largest = 1 << 20

// receive serves until ctx ends. wrap, where not nil, stands before the inbox.
func receive(ctx context.Context, c receiveConfig, wrap func(http.Handler) http.Handler, out io.Writer) error {
	db, err := sqlite.OpenDB(c.db) // WAL, synchronous=FULL: what was answered survives a power cut
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, inboxTables); err != nil {
		return err
	}
	var handler http.Handler = &inbox{db}
	if wrap != nil {
		handler = wrap(handler)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /notices", handler)
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute,
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", c.listen)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "listening on", l.Addr())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return server.Shutdown(last)
}

// inbox takes each notice once.
type inbox struct{ db *sql.DB }

// answer is what is said about a notice.
type answer struct {
	status int
	body   string
	again  bool // it has been given before
}

func (b *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get(keyHeader)
	if key == "" || len(key) > 1000 {
		http.Error(w, "expected the header "+keyHeader+" with 1 to 1000 bytes", http.StatusBadRequest)
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largest))
	if err != nil {
		http.Error(w, "the body cannot be read, or has more than 1 MiB", http.StatusBadRequest)
		return
	}
	var m message
	if err := json.Unmarshal(text, &m); err != nil || m.Topic == "" || m.Number < 1 {
		http.Error(w, "expected JSON with topic, number (from 1) and body", http.StatusBadRequest)
		return
	}
	// Who hangs up does not undo what has begun: the next try finds its answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 5*time.Second)
	defer cancel()
	a, err := b.take(ctx, key, sha256.Sum256(text), m)
	if err != nil {
		log.Printf("take %s: %v", key, err)
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if a.again {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body) // who does not hear it asks again
}

// take does what a notice asks for and keeps the answer, in one transaction; or
// finds the answer that it gave before. The transaction takes the write lock at
// its beginning, so of two tries at a time the second one finds the first one's
// answer.
func (b *inbox) take(ctx context.Context, key string, fingerprint [sha256.Size]byte, m message) (answer, error) {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = tx.Rollback() }() // after the commit it does nothing
	var first []byte
	a := answer{again: true}
	err = tx.QueryRowContext(ctx, `SELECT fingerprint, status, body FROM answers WHERE key = ?`, key).Scan(&first, &a.status, &a.body)
	switch {
	case err == nil && !bytes.Equal(first, fingerprint[:]):
		return answer{status: http.StatusUnprocessableEntity, body: `{"error":"this key was used for another notice"}`}, nil
	case err == nil:
		if _, err := tx.ExecContext(ctx, `UPDATE answers SET again = again + 1 WHERE key = ?`, key); err != nil {
			return a, err
		}
		return a, tx.Commit()
	case !errors.Is(err, sql.ErrNoRows):
		return a, err
	}
	place, err := apply(ctx, tx, m)
	if err != nil {
		return a, err
	}
	a = answer{status: http.StatusOK, body: fmt.Sprintf(`{"place":%d}`, place)}
	if _, err := tx.ExecContext(ctx, `INSERT INTO answers (key, fingerprint, status, body) VALUES (?, ?, ?, ?)`,
		key, fingerprint[:], a.status, a.body); err != nil {
		return a, err
	}
	return a, tx.Commit()
}

// apply is what a notice is for: it books it, and makes it what is so about its
// topic unless that is newer. It returns the place in the ledger.
func apply(ctx context.Context, tx *sql.Tx, m message) (place int64, err error) {
	done, err := tx.ExecContext(ctx, `INSERT INTO ledger (topic, number, body) VALUES (?, ?, ?)`, m.Topic, m.Number, m.Body.String())
	if err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO latest (topic, number, body) VALUES (?, ?, ?)
		ON CONFLICT (topic) DO UPDATE SET number = excluded.number, body = excluded.body WHERE excluded.number > latest.number`,
		m.Topic, m.Number, m.Body.String()); err != nil {
		return 0, err
	}
	return done.LastInsertId()
}
