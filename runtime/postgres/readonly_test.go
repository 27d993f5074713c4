package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// TestReadOnly reads beside a program that writes; the server itself refuses what
// this store's sessions would write.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	program, err := postgres.Open(t.Context(), dsn, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if err := lifecycle.Migrate(t.Context(), program); err != nil {
		t.Fatal(err)
	}
	writer, err := lifecycle.Open(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Enqueue(t.Context(), "a", lifecycle.EnqueueInput{}, fsm.Call{RequestID: "r"}); err != nil {
		t.Fatal(err)
	}
	store, err := postgres.Open(t.Context(), dsn, quiet, postgres.WithReadOnly())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if list, err := store.Installed(t.Context()); err != nil || len(list) != 1 || list[0].Machine != "lifecycle" || list[0].Dialect != "postgres" {
		t.Errorf("installed: %+v, %v", list, err)
	}
	reader, err := lifecycle.Open(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	if j, err := reader.Record(t.Context(), "a"); err != nil || j.Rev != 1 {
		t.Errorf("the record is %+v, %v", j, err)
	}
	if _, err := reader.Enqueue(t.Context(), "b", lifecycle.EnqueueInput{}, fsm.Call{RequestID: "s"}); !errors.Is(err, sqlstore.ErrReadOnly) {
		t.Errorf("a creation: %v, want ErrReadOnly", err)
	}
	_, err = reader.ClaimNextOf(t.Context(), fsm.Ref{ID: "a", Rev: 1}, lifecycle.ClaimNextInput{Lease: time.Now().Add(time.Hour)}, fsm.Call{RequestID: "c", Actor: "a"})
	if !errors.Is(err, sqlstore.ErrReadOnly) || errors.Is(err, fsm.ErrAmbiguous) {
		t.Errorf("a call by id: %v, want ErrReadOnly", err)
	}
	if store, err := postgres.Open(t.Context(), dsn+"&default_transaction_read_only=on", quiet); err == nil {
		store.Close()
		t.Error("a store that writes opened over sessions that cannot")
	}
}
