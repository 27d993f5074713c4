package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// shortWay is a Wire that answers with ids and an error, at once or when it is interrupted.
type shortWay struct {
	ids     []string
	events  int64
	err     error
	waits   chan struct{} // nil: it does not
	asked   []string
	resumed int
}

func (d *shortWay) Run(text string, args []any, row func(string)) (int64, error) {
	d.asked = append(d.asked, fmt.Sprint(text, args))
	if d.waits != nil {
		<-d.waits
	}
	for _, id := range d.ids {
		row(id)
	}
	return d.events, d.err
}

func (d *shortWay) Interrupt() { close(d.waits) }
func (d *shortWay) Resume()    { d.resumed++ }

// wired returns a session over a server, with a shorter way to it.
func wired(t *testing.T, db *writtenDB, d *shortWay) *session {
	t.Helper()
	pool := sql.OpenDB(db)
	t.Cleanup(func() { pool.Close() })
	p := newPool(pool, quietServer{&postgres{}}, 1)
	p.wire = func(c any) Wire {
		if c != any(db) {
			t.Errorf("it was made of %v, want the driver's connection", c)
		}
		if d == nil {
			return nil
		}
		return d
	}
	s, err := p.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.close(true) })
	return s
}

// quietServer is a server whose settings are not asked for.
type quietServer struct{ *postgres }

func (quietServer) patience() time.Duration                      { return time.Hour }
func (quietServer) settings(context.Context, querier, use) error { return nil }

// A statement that is a transaction of its own goes the shorter way where there is
// one, unless its caller's context may end it.
func TestTheShorterWay(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	free := context.Background()
	ends, cancel := context.WithCancel(free)
	defer cancel()
	for name, c := range map[string]struct {
		ctx   context.Context
		way   *shortWay
		rows  bool
		want  int64
		ids   []string
		short bool
		err   error
	}{
		"rows":                        {ctx: free, way: &shortWay{ids: []string{"a", "b"}, events: 2}, rows: true, want: 2, ids: []string{"a", "b"}, short: true},
		"none":                        {ctx: free, way: &shortWay{events: 3}, want: 3, short: true},
		"an error":                    {ctx: free, way: &shortWay{err: boom}, short: true, err: boom},
		"a context that may end":      {ctx: ends, way: &shortWay{}, want: 7},
		"such a one, and rows":        {ctx: ends, way: &shortWay{}, rows: true, want: 1, ids: []string{"long"}},
		"no shorter way":              {ctx: free, want: 7},
		"no shorter way, and rows":    {ctx: free, rows: true, want: 1, ids: []string{"long"}},
		"what was made by the driver": {ctx: context.WithoutCancel(ends), way: &shortWay{events: 1}, want: 1, short: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := &writtenDB{events: 7, ids: []string{"long"}}
			s := wired(t, db, c.way)
			var ids []string
			row := func(id string) { ids = append(ids, id) }
			if !c.rows {
				row = nil
			}
			n, err := s.write(c.ctx, "WITH w AS", []any{"x", int64(1)}, row)
			if n != c.want || !errors.Is(err, c.err) {
				t.Errorf("%d, %v; want %d, %v", n, err, c.want, c.err)
			}
			if diff := cmp.Diff(c.ids, ids); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if short := len(db.asked) == 0; short != c.short {
				t.Errorf("the shorter way was taken: %t, want %t", short, c.short)
			}
			if c.short {
				if diff := cmp.Diff([]string{"WITH w AS[x 1]"}, c.way.asked); diff != "" || c.way.resumed != 0 {
					t.Errorf("asked (-want +got), and resumed %d times:\n%s", c.way.resumed, diff)
				}
			}
		})
	}
	s := wired(t, &writtenDB{}, &shortWay{events: 1})
	s.conn.Close()
	if n, err := s.write(free, "WITH w AS", nil, nil); n != 0 || !errors.Is(err, sql.ErrConnDone) {
		t.Errorf("over a connection that is closed: %d, %v", n, err)
	}
}

// The shorter way has the deadline of every statement; an answer that came just
// then counts, and the next statement has all of its time.
func TestTheShorterWayHasADeadline(t *testing.T) {
	t.Parallel()
	d := &shortWay{events: 1, waits: make(chan struct{})}
	s := wired(t, &writtenDB{}, d)
	s.dog.limit = time.Millisecond
	for range 2 {
		if n, err := s.write(context.Background(), "WITH w AS", nil, nil); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if d.resumed != 1 {
			t.Errorf("resumed %d times, want once", d.resumed)
		}
		d.waits, s.dog.limit = nil, time.Hour
	}
	s.dog.limit = 0 // no deadline at all
	if n, err := s.write(context.Background(), "WITH w AS", nil, nil); n != 1 || err != nil || s.dog.bite != nil {
		t.Errorf("without a deadline: %d, %v", n, err)
	}
}

// Writes of a batch go the shorter way as well.
func TestABatchGoesTheShorterWay(t *testing.T) {
	t.Parallel()
	db, d := &writtenDB{}, &shortWay{ids: []string{"b"}, events: 1}
	s := wired(t, db, d)
	tab, err := newTable(&Store{dialect: Postgres()}, &fsm.Schema{Machine: "m", Table: "m", Columns: []fsm.Column{}})
	if err != nil {
		t.Fatal(err)
	}
	var ws []*fsm.Write
	for _, id := range []string{"a", "b"} {
		ws = append(ws, step(func(w *fsm.Write) { w.Prev.ID, w.Row.ID, w.Event.ID, w.Outbox = id, id, id, nil }))
	}
	got, err := tab.writeMany(context.Background(), s, ws, false)
	if err != nil || len(db.asked) != 0 || len(d.asked) != 1 {
		t.Fatalf("%v; asked %q and %q", err, db.asked, d.asked)
	}
	if diff := cmp.Diff(map[string]bool{"b": true}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// However many operations there are, the texts that are about one are bounded; those
// beyond fit any.
func TestTextsOfOperationsAreBounded(t *testing.T) {
	t.Parallel()
	tab, err := newTable(&Store{dialect: Postgres()}, &fsm.Schema{Machine: "m", Table: "m", Columns: []fsm.Column{}})
	if err != nil {
		t.Fatal(err)
	}
	text := func(i int) string {
		text, args, err := tab.single(step(func(w *fsm.Write) { w.Event.Operation, w.Outbox = fmt.Sprint("op", i), nil }), false)
		if err != nil || len(args) == 0 {
			t.Fatal(err)
		}
		return text
	}
	texts := map[string]bool{}
	first := text(0)
	for i := range maxTexts {
		texts[text(i)] = true
	}
	if len(texts) != maxTexts || text(0) != first {
		t.Errorf("%d texts of %d operations", len(texts), maxTexts)
	}
	if a, b := text(maxTexts), text(maxTexts+1); a != b || texts[a] {
		t.Errorf("beyond the bound: %s\n%s", a, b)
	}
	if text(0) != first {
		t.Error("a text that is kept is no longer used")
	}
}
