package live_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/live"
	"github.com/fsmgen/fsmgen/internal/live/sqldb"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// busy is a database with three jobs: "a" was enqueued by ann, "b" by bob, and "c" by ann, then claimed and extended 1 300
// times by w1. It returns when "b" was enqueued. What damages it is done at the end.
func busy(t *testing.T, damage ...string) (*live.DB, time.Time) {
	t.Helper()
	ctx, now := t.Context(), time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	file := filepath.Join(t.TempDir(), "jobs.db")
	store, err := sqlite.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := lifecycle.Migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	m, err := lifecycle.Open(ctx, store, fsm.WithClock(func() time.Time { return now }))
	if err != nil {
		t.Fatal(err)
	}
	var then time.Time
	for _, x := range [][2]string{{"c", "ann"}, {"a", "ann"}, {"b", "bob"}} {
		now = now.Add(time.Minute)
		then = now
		if _, err := m.Enqueue(ctx, x[0], lifecycle.EnqueueInput{}, fsm.Call{RequestID: x[0], Actor: x[1]}); err != nil {
			t.Fatal(err)
		}
	}
	out, err := m.ClaimNext(ctx, lifecycle.ClaimNextInput{Lease: now.Add(time.Hour)}, fsm.Call{RequestID: "claim", Actor: "w1"})
	if err != nil || out.Ref().ID != "c" {
		t.Fatal(out.Ref(), err)
	}
	for i := range 1300 {
		now = now.Add(time.Second)
		in := lifecycle.HeartbeatInput{Lease: now.Add(time.Hour)}
		if out, err = m.Heartbeat(ctx, out, in, fsm.Call{RequestID: fmt.Sprint(i), Actor: "w1"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	hand, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	var guard string // which the damage has to pass, and an open asks for
	if err := hand.QueryRowContext(ctx, `SELECT sql FROM sqlite_master WHERE name = 'lifecycle_events_update'`).Scan(&guard); err != nil {
		t.Fatal(err)
	}
	for _, text := range slices.Concat([]string{`DROP TRIGGER lifecycle_events_update`}, damage, []string{guard}) {
		if _, err := hand.ExecContext(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := hand.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sqldb.Open(ctx, file, machine(t, "lifecycle"), sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db, then
}

// A list is the same whether the database sorts the records or the log is read for them.
func TestList(t *testing.T) {
	t.Parallel()
	db, then := busy(t)
	ids := func(f live.Filter) string {
		t.Helper()
		l, err := db.List(t.Context(), f)
		if err != nil || l.Looked != 0 {
			t.Fatalf("%d events, %v", l.Looked, err)
		}
		var list []string
		for _, row := range l.Rows {
			list = append(list, row.ID)
		}
		return fmt.Sprint(strings.Join(list, " "), " ", l.More)
	}
	one := driver.Cond{Column: "attempt", Op: driver.OpEq, Value: int64(1)}
	for _, x := range []struct {
		f    live.Filter
		want string
	}{
		{live.Filter{Limit: 3}, "c b a false"},
		{live.Filter{Limit: 2}, "c b true"},
		{live.Filter{States: []string{"queued"}, Limit: 3}, "b a false"},
		{live.Filter{Where: []driver.Cond{one}, Limit: 3}, "c false"},
		{live.Filter{Since: then, Limit: 3}, "c b false"},
		{live.Filter{Until: then, Limit: 3}, "a false"},
		{live.Filter{Actor: "bob", Limit: 3}, "b false"},
		{live.Filter{Actor: "ann", Limit: 3}, "a false"}, // the last step of c is w1's
		{live.Filter{Actor: "w1", States: []string{"claimed"}, Where: []driver.Cond{one}, Limit: 1}, "c false"},
		{live.Filter{Actor: "w1", Until: then, Limit: 3}, " false"},
	} {
		if got := ids(x.f); got != x.want {
			t.Errorf("%+v: got %q, want %q", x.f, got, x.want)
		}
	}
}

// Of a long log the newest part is shown, and any revision is folded.
func TestPast(t *testing.T) {
	t.Parallel()
	db, _ := busy(t)
	p, err := db.Past(t.Context(), "c", 0)
	if err != nil || len(p.Lines) != 500 || !p.Earlier || p.Newer || p.Gone || p.Row.Rev != 1302 || p.Lines[499].Rev != 1302 {
		t.Fatalf("%d events, up to revision %d; %+v %v", len(p.Lines), p.Row.Rev, p.Row, err)
	}
	lease := db.Machine.Schema().Column("lease")
	for _, rev := range []int64{1, 2, 3, 64, 700, 1301} {
		p, err := db.Past(t.Context(), "c", rev)
		if err != nil || p.Row.Rev != rev || !p.Newer || p.Lines[len(p.Lines)-1].Rev != rev || len(p.Lines) > 500 {
			t.Errorf("revision %d: %d events, row at %d, newer %t, %v", rev, len(p.Lines), p.Row.Rev, p.Newer, err)
		}
		if at, _ := p.Row.Values[lease].(time.Time); rev > 2 && !at.Equal(p.Row.UpdatedAt.Add(time.Hour)) {
			t.Errorf("revision %d: the lease is %v, and it moved at %v", rev, at, p.Row.UpdatedAt)
		}
	}
	for _, x := range []struct {
		id  string
		rev int64
	}{{"c", 1303}, {"nobody", 0}, {"nobody", 1}} {
		if _, err := db.Past(t.Context(), x.id, x.rev); !errors.Is(err, live.ErrNoRecord) {
			t.Errorf("%s at %d: %v", x.id, x.rev, err)
		}
	}
}

// What cannot be read stands in its place, and the fold does not go over it.
func TestPastUnreadable(t *testing.T) {
	t.Parallel()
	db, _ := busy(t, `UPDATE lifecycle_events SET labels = '5' WHERE id = 'c' AND rev = 700`,
		`UPDATE lifecycle_events SET checksum = -1 WHERE id = 'c' AND rev = 1302`)
	l, err := db.List(t.Context(), live.Filter{Actor: "bob", Limit: 3})
	if err != nil || len(l.Rows) != 1 || l.Rows[0].ID != "b" {
		t.Errorf("the list has %d records, %v", len(l.Rows), err)
	}
	p, err := db.Past(t.Context(), "c", 0)
	if err != nil || len(p.Lines) != 500 || p.Lines[499].Unreadable == nil || p.Lines[499].Rev != 1302 || p.Lines[498].Unreadable != nil {
		t.Errorf("%d events, the last one %+v, %v", len(p.Lines), p.Lines[len(p.Lines)-1], err)
	}
	var unreadable *driver.EventError
	// The event of 704 has the whole record.
	for rev, want := range map[int64]bool{699: false, 700: true, 703: true, 704: false, 1301: false, 1302: true} {
		p, err := db.Past(t.Context(), "c", rev)
		if errors.As(err, &unreadable) != want || err != nil && !want || err == nil && p.Row.Rev != rev {
			t.Errorf("revision %d: row at %d, %v", rev, p.Row.Rev, err)
		}
	}
}
