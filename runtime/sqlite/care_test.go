package sqlite_test

import (
	"database/sql"
	"fmt"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// caretaker looks after a file that other processes write.
type caretaker struct {
	t     *testing.T
	crowd *crowd
	store *sqlstore.Store
	m     *parcels
	hand  *sql.DB
}

// What an operator does (repair, redact, purge, forget, back up, check the log in,
// audit by a read-only store) is right while three processes write the same file, of
// which one is killed in each round; and takes nothing from what they were told.
func TestCareBesideProcesses(t *testing.T) {
	campaign.Only(t)
	if testing.Short() {
		t.Skip("starts and kills processes; run without -short")
	}
	const rounds, more = 3, 25
	c := newCrowd(t)
	store, err := sqlite.Open(c.path, sqlite.WithBusyTimeout(30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	m, err := joinParcels(t, store)
	if err != nil {
		t.Fatal(err)
	}
	care := &caretaker{t: t, crowd: c, store: store, m: m, hand: foreign(t, c.path, settings)}
	care.hand.SetMaxOpenConns(1)
	for range 3 {
		c.begin(t)
	}
	for round := range rounds {
		before := c.total()
		care.mend(fmt.Sprint("bent ", round))
		care.redact(fmt.Sprint("known ", round))
		care.purge(fmt.Sprint("old ", round))
		care.checkpoint()
		care.backup(fmt.Sprint(round, ".db"))
		care.read()
		c.until(func() bool { return c.n() >= before+more || c.over() })
		victim := c.all[round]
		_ = victim.cmd.Process.Kill()
		victim.end(t)
		c.begin(t)
	}
	for _, s := range c.all[rounds:] {
		s.end(t)
	}
	t.Logf("%d acknowledged beside %d rounds of care", c.total(), rounds)
	c.verify(t)
}

// n is how often all processes have acknowledged something; the caller holds the lock.
func (c *crowd) n() (n int) {
	for _, s := range c.all {
		n += s.n
	}
	return n
}

// total is n for one who does not hold the lock.
func (c *crowd) total() (n int) {
	c.until(func() bool { n = c.n(); return true })
	return n
}

// over reports whether the youngest process has ended by itself.
func (c *crowd) over() bool { return c.all[len(c.all)-1].over() }

// parcel makes one that is sent, if it is to be.
func (k *caretaker) parcel(id string, sent bool) fsm.Ref {
	k.t.Helper()
	ctx := k.t.Context()
	meta := func(n int) storetest.Meta {
		return storetest.Meta{RequestID: fmt.Sprint(id, n), Actor: "ann", Reason: "why"}
	}
	out, err := k.m.Create(ctx, storetest.Register(meta(1), storetest.RegisterInput{ID: id, Lane: id}))
	if err == nil {
		out, err = k.m.Apply(ctx, out, storetest.Annotate(meta(2), fsm.Optional[fsm.JSON]{}, fsm.Some("small"), fsm.Some(true)))
	}
	if err == nil && sent {
		out, err = k.m.Apply(ctx, out, storetest.Hold(meta(3), id, time.Now().Add(time.Hour)))
	}
	if err == nil && sent {
		out, err = k.m.Apply(ctx, out, storetest.Expel(meta(4)))
	}
	if err != nil {
		k.t.Fatal(err)
	}
	return out.Record.Ref()
}

// mend bends a row by hand, behind the triggers' backs, and repairs it.
func (k *caretaker) mend(id string) {
	k.t.Helper()
	ctx := k.t.Context()
	k.parcel(id, false)
	var trigger, text string
	err := k.hand.QueryRow(`SELECT "name", "sql" FROM sqlite_master WHERE "type" = 'trigger' AND "name" = 'parcel_update'`).Scan(&trigger, &text)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, statement := range []string{
		"BEGIN IMMEDIATE", fmt.Sprintf("DROP TRIGGER %q", trigger), `UPDATE "parcel" SET "weight" = 77 WHERE "id" = '` + id + `'`, text, "COMMIT",
	} {
		if _, err := k.hand.Exec(statement); err != nil {
			k.t.Fatalf("%s: %v", statement, err)
		}
	}
	p, repaired, err := audit.Repair(ctx, k.m, id, "root", "bent")
	if err != nil || !repaired || p.Weight.Present() {
		k.t.Errorf("Repair: %v, %t, %v", p, repaired, err)
	}
}

func (k *caretaker) redact(id string) {
	k.t.Helper()
	k.parcel(id, false)
	p, redacted, err := audit.Redact(k.t.Context(), k.m, id, audit.RedactOptions{Fields: []string{"size"}, Actor: "root", Reason: "asked"})
	if err != nil || !redacted || p.Size.Present() {
		k.t.Errorf("Redact: %v, %t, %v", p, redacted, err)
	}
}

func (k *caretaker) purge(id string) {
	k.t.Helper()
	ctx := k.t.Context()
	k.parcel(id, true)
	later := time.Now().Add(time.Minute)
	if n, err := audit.Purge(ctx, k.m, audit.PurgeOptions{Before: later, Actor: "root", Reason: "too old"}); n != 1 || err != nil {
		k.t.Errorf("Purge: %d, %v", n, err)
	}
	if n, err := audit.Forget(ctx, k.m, audit.ForgetOptions{Before: later}); n != 1 || err != nil {
		k.t.Errorf("Forget: %d, %v", n, err)
	}
}

// checkpoint brings the log into the file as an operator's tool does; who is busy with it
// stops it, and loses nothing.
func (k *caretaker) checkpoint() {
	k.t.Helper()
	if _, err := k.hand.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		k.t.Error(err)
	}
}

// backup copies the file, and holds the copy against what was acknowledged before.
func (k *caretaker) backup(name string) {
	k.t.Helper()
	acked := map[string]int64{}
	k.crowd.until(func() bool {
		for _, s := range k.crowd.all {
			maps.Copy(acked, s.acked)
		}
		return true
	})
	delete(acked, shared) // of which each process knows another revision
	path := filepath.Join(k.t.TempDir(), name)
	if err := k.store.Backup(k.t.Context(), path); err != nil {
		k.t.Fatal(err)
	}
	copied := openAgain(k.t, path)
	defer copied.Close()
	verify(k.t, copied, parcelSchema(k.t), acked)
	m, err := joinParcels(k.t, copied)
	if err != nil {
		k.t.Fatal(err)
	}
	sound(k.t, m)
}

// read audits by a store that cannot write.
func (k *caretaker) read() {
	k.t.Helper()
	store, err := sqlite.Open(k.crowd.path, sqlite.WithReadOnly())
	if err != nil {
		k.t.Fatal(err)
	}
	defer store.Close()
	m, err := joinParcels(k.t, store)
	if err != nil {
		k.t.Fatal(err)
	}
	sound(k.t, m)
}
