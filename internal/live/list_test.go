package live_test

import (
	"errors"
	"fmt"
	"path/filepath"
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
// times by w1. It returns when "b" was enqueued.
func busy(t *testing.T) (*live.DB, time.Time) {
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
	if err != nil || len(p.Events) != 500 || !p.Earlier || p.Newer || p.Gone || p.Row.Rev != 1302 || p.Events[499].Rev != 1302 {
		t.Fatalf("%d events, up to revision %d; %+v %v", len(p.Events), p.Row.Rev, p.Row, err)
	}
	lease := db.Machine.Schema().Column("lease")
	for _, rev := range []int64{1, 2, 3, 64, 700, 1301} {
		p, err := db.Past(t.Context(), "c", rev)
		if err != nil || p.Row.Rev != rev || !p.Newer || p.Events[len(p.Events)-1].Rev != rev || len(p.Events) > 500 {
			t.Errorf("revision %d: %d events, row at %d, newer %t, %v", rev, len(p.Events), p.Row.Rev, p.Newer, err)
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
