package sqlstore

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// step is a write as the engine makes them: its event says what its row says.
func step(change func(w *driver.Write)) *driver.Write {
	w := &driver.Write{Prev: driver.Ref{ID: "x", Rev: 3}, PrevState: "on", Row: &driver.Row{ID: "x", State: "off", Rev: 4},
		Event:  driver.Event{ID: "x", Rev: 4, Operation: "go", From: "on", To: "off", RequestN: -1},
		Outbox: []driver.Delivery{{ID: "x", Rev: 4, Effect: "e", Key: "k"}}}
	change(w)
	return w
}

// Writes share a statement when they are of one machine and one kind, and their
// events say no more than their rows.
func TestWhoSharesAStatement(t *testing.T) {
	t.Parallel()
	unique := func(n int, states ...string) *table {
		s := &driver.Schema{Columns: []driver.Column{{Name: "a", Stored: "a"}}}
		for range n {
			s.Uniques = append(s.Uniques, driver.UniqueRule{States: states, Columns: []string{"a"}})
		}
		return &table{schema: s}
	}
	tab, other := unique(0), unique(0)
	one, two, enters, within := unique(1), unique(2), unique(1, "off"), unique(1, "on", "off")
	moved := step(func(w *driver.Write) { w.Row.Values, w.Changed = []any{"v"}, []int{0} })
	creation := step(func(w *driver.Write) {
		w.Prev.Rev, w.PrevState, w.Row.Rev, w.Event.Rev, w.Event.From, w.Outbox[0].Rev = 0, "", 1, 1, "", 1
	})
	base := step(func(*driver.Write) {})
	valued := func(w *driver.Write) *driver.Write { row := *w.Row; row.Values, w.Row = []any{"v"}, &row; return w }
	made, kept := valued(step(func(w *driver.Write) { *w = *creation })), valued(step(func(*driver.Write) {}))
	for name, c := range map[string]struct {
		a, b *driver.Write
		t    *table
		want bool
	}{
		"creations that take a place each": {made, made, one, true},
		"creations that take two":          {made, made, two, true},
		"moves that take a place":          {kept, kept, enters, false},
		"moves to another place":           {kept, moved, within, false},
		"moves within a place":             {kept, kept, within, true},

		"two moves":                   {base, base, tab, true},
		"two creations":               {creation, creation, tab, true},
		"a move and a creation":       {base, creation, tab, false},
		"a creation and a move":       {creation, base, tab, false},
		"of two machines":             {base, base, other, false},
		"without an effect":           {base, step(func(w *driver.Write) { w.Outbox = nil }), tab, true},
		"no row":                      {base, step(func(w *driver.Write) { w.Row = nil }), tab, false},
		"a later event of a revision": {base, step(func(w *driver.Write) { w.Event.N = 1 }), tab, false},
		"an event of another record":  {base, step(func(w *driver.Write) { w.Event.ID, w.Outbox[0].ID = "y", "y" }), tab, false},
		"a row of another record":     {base, step(func(w *driver.Write) { w.Row.ID = "y" }), tab, false},
		"after another record":        {base, step(func(w *driver.Write) { w.Prev.ID = "y" }), tab, false},
		"a row of another revision":   {base, step(func(w *driver.Write) { w.Row.Rev = 5 }), tab, false},
		"a revision left out":         {base, step(func(w *driver.Write) { w.Row.Rev, w.Event.Rev, w.Outbox[0].Rev = 5, 5, 5 }), tab, false},
		"an event to elsewhere":       {base, step(func(w *driver.Write) { w.Event.To = "on" }), tab, false},
		"an event from elsewhere":     {base, step(func(w *driver.Write) { w.Event.From = "off" }), tab, false},
		"an effect of another record": {base, step(func(w *driver.Write) { w.Outbox[0].ID = "y" }), tab, false},
		"an effect of another step":   {base, step(func(w *driver.Write) { w.Outbox[0].Rev = 3 }), tab, false},
	} {
		first := tab
		if c.t != other {
			first = c.t
		}
		if got := togetherInStatement(&job{t: first, w: c.a}, &job{t: c.t, w: c.b}); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
		if got := togetherInStatement(&job{t: c.t, w: c.b}, &job{t: first, w: c.a}); got != c.want {
			t.Errorf("%s, the other way round: %t, want %t", name, got, c.want)
		}
	}
}

// writtenDB is a server that answers a batch with ids, and a single write with how
// many events it wrote.
type writtenDB struct {
	ids     []string
	events  int64
	refuse  error // the statement
	spoilt  error // the end of its rows
	asked   []string
	strange bool // it answers with what is no id
}

func (d *writtenDB) Connect(context.Context) (sqldriver.Conn, error) { return d, nil }
func (d *writtenDB) Driver() sqldriver.Driver                        { return nil }
func (*writtenDB) Prepare(string) (sqldriver.Stmt, error)            { return nil, sqldriver.ErrSkip }
func (*writtenDB) Close() error                                      { return nil }
func (*writtenDB) Begin() (sqldriver.Tx, error)                      { return nil, sqldriver.ErrSkip }

func (d *writtenDB) ExecContext(_ context.Context, text string, _ []sqldriver.NamedValue) (sqldriver.Result, error) {
	d.asked = append(d.asked, text)
	return sqldriver.RowsAffected(d.events), d.refuse
}

func (d *writtenDB) QueryContext(_ context.Context, text string, _ []sqldriver.NamedValue) (sqldriver.Rows, error) {
	d.asked = append(d.asked, text)
	if !strings.HasPrefix(text, "WITH ") { // why nothing was written: nobody is there
		return &oneRow{text: "moved"}, nil
	}
	return &idRows{d, d.ids}, d.refuse
}

type idRows struct {
	*writtenDB
	left []string
}

func (*idRows) Columns() []string { return []string{"id"} }
func (*idRows) Close() error      { return nil }
func (r *idRows) Next(values []sqldriver.Value) error {
	if len(r.left) == 0 {
		if r.spoilt != nil {
			return r.spoilt
		}
		return io.EOF
	}
	if values[0], r.left = r.left[0], r.left[1:]; r.strange {
		values[0] = nil
	}
	return nil
}

// Whoever a statement wrote is told so; the others try alone. What becomes of a
// statement whose answer was lost nobody knows.
func TestCommitStatement(t *testing.T) {
	t.Parallel()
	const deadlock, died = state("40P01"), state("57P01")
	for name, c := range map[string]struct {
		db     writtenDB
		writes string
		want   []error // tries says that it tries alone
		broken bool
	}{
		"all":                           {db: writtenDB{ids: []string{"a", "b"}}, writes: "ab", want: []error{nil, nil}},
		"one":                           {db: writtenDB{ids: []string{"b"}}, writes: "ab", want: []error{errTries, nil}},
		"none":                          {writes: "ab", want: []error{errTries, errTries}},
		"taken back":                    {db: writtenDB{ids: []string{"a", "b"}, refuse: deadlock}, writes: "ab", want: []error{errTries, errTries}},
		"taken back at the commit":      {db: writtenDB{ids: []string{"a", "b"}, spoilt: deadlock}, writes: "ab", want: []error{errTries, errTries}},
		"the answer is lost":            {db: writtenDB{refuse: died}, writes: "ab", want: []error{fsm.ErrAmbiguous, fsm.ErrAmbiguous}, broken: true},
		"the end of the answer is lost": {db: writtenDB{ids: []string{"a", "b"}, spoilt: died}, writes: "ab", want: []error{fsm.ErrAmbiguous, fsm.ErrAmbiguous}, broken: true},
		"an answer that makes no sense": {db: writtenDB{ids: []string{"a", "b"}, strange: true}, writes: "ab", want: []error{fsm.ErrAmbiguous, fsm.ErrAmbiguous}, broken: true},
		"alone":                         {db: writtenDB{events: 1}, writes: "a", want: []error{nil}},
		"alone, and elsewhere":          {writes: "a", want: []error{driver.ErrMoved}},
		"alone, and taken back":         {db: writtenDB{refuse: deadlock}, writes: "a", want: []error{errTries}},
		"alone, and the answer is lost": {db: writtenDB{refuse: died}, writes: "a", want: []error{fsm.ErrAmbiguous}, broken: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := sql.OpenDB(&c.db)
			t.Cleanup(func() { pool.Close() })
			conn, err := pool.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			s := &Store{dialect: Postgres()}
			tab, err := newTable(s, &driver.Schema{Machine: "m", Table: "m", Columns: []driver.Column{}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var batch []*job
			for _, r := range c.writes {
				batch = append(batch, &job{ctx: ctx, t: tab, w: step(func(w *driver.Write) {
					w.Prev.ID, w.Row.ID, w.Event.ID, w.Outbox = string(r), string(r), string(r), nil
				})})
			}
			cancel() // the caller of the first write has gone: the batch goes on
			if broken := s.commitStatement(&session{conn: conn}, batch); broken != c.broken {
				t.Errorf("broken is %t, want %t", broken, c.broken)
			}
			for i, j := range batch {
				want := answered
				if c.want[i] == errTries {
					want = alone
				}
				if j.fate != want || want == answered && !errors.Is(j.err, c.want[i]) {
					t.Errorf("write %d has fate %d and %v, want %v", i, j.fate, j.err, c.want[i])
				}
			}
			if len(c.writes) > 1 && len(c.db.asked) != 1 {
				t.Errorf("asked %q, want one statement", c.db.asked)
			}
		})
	}
}

// errTries stands for a write whose caller tries by itself.
var errTries = errors.New("tries alone")

// A list of values is the text of a server's array.
func TestArrays(t *testing.T) {
	t.Parallel()
	var a arrays
	if got := a.end(); got != "{}" {
		t.Errorf("an empty one is %s", got)
	}
	for _, v := range []any{nil, "", `a"b\c,{}`, int64(-7), 42, true, false, 1.5,
		time.Date(2026, 3, 1, 12, 0, 0, 1500, time.FixedZone("elsewhere", 3600))} {
		a.add(v)
	}
	want := `{NULL,"","a\"b\\c,{}",-7,42,true,false,1.5,"2026-03-01T11:00:00.000001Z"}`
	if diff := cmp.Diff(want, a.end()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a write allocates is bounded, by itself and in a batch.
func TestAllocationsOfAText(t *testing.T) {
	tab, err := newTable(&Store{dialect: Postgres()}, &driver.Schema{Machine: "m", Table: "m",
		Columns:    []driver.Column{{Name: "a", Stored: "a", Kind: driver.KindString}, {Name: "b", Stored: "b", Kind: driver.KindTime}},
		Operations: []driver.OperationInfo{{Stored: "go", Leaves: true, Sets: []int{1}}}})
	if err != nil {
		t.Fatal(err)
	}
	for n, most := range map[int]float64{1: 11, 24: 44} {
		var ws []*driver.Write
		for i := range n {
			ws = append(ws, step(func(w *driver.Write) {
				w.Prev.ID = "x" + strconv.Itoa(i)
				w.Row.ID, w.Event.ID, w.Outbox = w.Prev.ID, w.Prev.ID, nil
				w.Row.Values, w.Changed = []any{"v", time.UnixMicro(1)}, []int{1}
				w.Old = &driver.Row{Values: []any{"v", nil}, Chain: 1}
				w.Event.RequestID, w.Event.Changes = "r", driver.RawJSON(`{"b":"1970-01-01T00:00:00.000001Z"}`)
				w.Event.Inputs = w.Event.Changes
			}))
		}
		if got := testing.AllocsPerRun(100, func() { tab.writing(false, ws...) }); got > most {
			t.Errorf("%d writes allocate %v times, at most %v are expected", n, got, most)
		}
	}
}

// A write whose event or delivery says something else than its row is refused, and the
// database is not asked.
func TestUnsoundWrites(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *driver.Write){
		"an event of another record":            func(w *driver.Write) { w.Event.ID = "y" },
		"a row of another record":               func(w *driver.Write) { w.Row.ID = "y" },
		"a row of another revision":             func(w *driver.Write) { w.Row.Rev = 5 },
		"an event of another revision":          func(w *driver.Write) { w.Event.Rev = 9 },
		"an event to elsewhere":                 func(w *driver.Write) { w.Event.To = "on" },
		"an event from elsewhere":               func(w *driver.Write) { w.Event.From = "off" },
		"a delivery of another record":          func(w *driver.Write) { w.Outbox[0].ID = "y" },
		"an event that records a call":          func(w *driver.Write) { w.Event.N = 1 },
		"a row with a column that is not there": func(w *driver.Write) { w.Row.Values = []any{"v"} },
	} {
		for _, d := range []Dialect{SQLite(), Postgres()} {
			x, s := scriptedTx(t, d, mode{})
			if err := x.Write(step(change)); err == nil || s.asked != nil {
				t.Errorf("%s, %s: got %v, and the database was asked %q", d.Name(), name, err, s.asked)
			}
		}
	}
}
