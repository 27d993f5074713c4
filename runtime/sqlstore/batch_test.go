package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// scriptedDB is a SQLite database that keeps what it is asked, in short words, and
// refuses some of it. It holds no rows; a log takes every event, and a row moves
// unless it is elsewhere.
type scriptedDB struct {
	asked     []string
	refuse    map[string][]error // by word: of its first time, its second, ...
	elsewhere []string           // ids
	prepares  bool               // its connections do, so that batches go straight to them
	plain     bool               // what they prepare takes no context
	prepared  int                // statements
	closed    int                // of them
	ends      []string           // what was ended, in order: statements, the connection
	chain     uint32             // of every event
	looked    bool               // the last event was appended with a look at the one before it
	linked    int64              // the chain of the last event, else
}

func (d *scriptedDB) Connect(context.Context) (driver.Conn, error) {
	if d.prepares {
		return preparingDB{d}, nil
	}
	return d, nil
}

// preparingDB is a scripted database that prepares statements.
type preparingDB struct{ *scriptedDB }

func (d preparingDB) PrepareContext(_ context.Context, text string) (driver.Stmt, error) {
	d.prepared++
	if d.plain {
		return &struct{ driver.Stmt }{&scriptedStmt{d.scriptedDB, text}}, nil
	}
	return &scriptedStmt{d.scriptedDB, text}, d.fault("prepare " + strings.ToLower(text))
}

func (d preparingDB) Close() error { d.ends = append(d.ends, "gone"); return nil }

type scriptedStmt struct {
	d    *scriptedDB
	text string
}

func (s *scriptedStmt) Close() error {
	s.d.closed++
	s.d.ends = append(s.d.ends, "closed")
	return nil
}

func (s *scriptedStmt) NumInput() int                              { return -1 }
func (s *scriptedStmt) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }
func (s *scriptedStmt) Query([]driver.Value) (driver.Rows, error)  { return nil, driver.ErrSkip }

func (s *scriptedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if n := strings.Count(s.text, "?"); n != len(args) {
		return nil, fmt.Errorf("%d arguments for %d parameters", len(args), n)
	}
	return s.d.ExecContext(ctx, s.text, args)
}

func (s *scriptedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.d.QueryContext(ctx, s.text, args)
}

func (d *scriptedDB) Driver() driver.Driver                                        { return nil }
func (*scriptedDB) Prepare(string) (driver.Stmt, error)                            { return nil, driver.ErrSkip }
func (*scriptedDB) Close() error                                                   { return nil }
func (d *scriptedDB) Commit() error                                                { return d.word("commit") }
func (d *scriptedDB) Rollback() error                                              { return d.word("rollback") }
func (d *scriptedDB) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return d.Begin() }

func (d *scriptedDB) Begin() (driver.Tx, error) {
	err := d.word("begin")
	return d, err
}

func (d *scriptedDB) word(what string) error {
	d.asked = append(d.asked, what)
	return d.fault(what)
}

func (d *scriptedDB) fault(what string) error {
	list := d.refuse[what]
	if len(list) == 0 {
		return nil
	}
	d.refuse[what] = list[1:]
	if list[0] == errPanic {
		panic(list[0])
	}
	return list[0]
}

func (d *scriptedDB) ExecContext(_ context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	id := ""
	for _, a := range args {
		if s, ok := a.Value.(string); ok && len(s) == 1 {
			id = s
		}
	}
	switch {
	case text == SQLite().claim():
		return driver.RowsAffected(0), d.word("claim")
	case strings.HasPrefix(text, `INSERT INTO "main"."m_events"`):
		d.looked = strings.Contains(text, "SELECT")
		d.linked, _ = args[len(args)-1].Value.(int64)
		return driver.RowsAffected(1), d.word("log " + id)
	case strings.HasPrefix(text, `UPDATE "main"."m" `):
		if err := d.word("move " + id); err != nil || slices.Contains(d.elsewhere, id) {
			return driver.RowsAffected(0), err
		}
		return driver.RowsAffected(1), nil
	}
	return driver.RowsAffected(0), d.word(strings.ToLower(text))
}

func (d *scriptedDB) QueryContext(_ context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if !strings.HasPrefix(text, `SELECT "chain"`) {
		return noRows{}, nil
	}
	err := d.word("chain " + args[0].Value.(string))
	return &answers{scriptedStmt: scriptedStmt{d: d}, rows: [][]driver.Value{{int64(d.chain)}}}, err
}

// has reports whether the database was asked for it.
func (d *scriptedDB) has(word string) bool { return slices.Contains(d.asked, word) }

type noRows struct{}

func (noRows) Columns() []string         { return []string{"a"} }
func (noRows) Close() error              { return nil }
func (noRows) Next([]driver.Value) error { return io.EOF }

// A batch is one transaction; who is refused in it costs the others as little as
// may be, and everybody is told what became of the write.
func TestCommitTogether(t *testing.T) {
	t.Parallel()
	broke, busy := code{"disk I/O error", 10}, code{"database is locked", 5}
	gone := code{"cannot rollback - no transaction is active", 1}
	const save, back, release = "savepoint fsm_job", "rollback to fsm_job", "release fsm_job"
	a, b := []string{"log a", "move a"}, []string{"log b", "move b"}
	say := func(parts ...any) (list []string) {
		for _, p := range parts {
			switch p := p.(type) {
			case string:
				list = append(list, p)
			case []string:
				list = append(list, p...)
			}
		}
		return list
	}
	// Writes are named by the id; "?" is one that is refused before it did anything.
	for name, c := range map[string]struct {
		writes    string
		elsewhere []string
		refuse    map[string][]error
		asked     []string
		want      []error // by write; nil: written
		broken    bool
		poisoned  bool // afterwards
	}{
		"two":                      {writes: "ab", asked: say("begin", "claim", a, b, "commit"), want: []error{nil, nil}},
		"one refused at once":      {writes: "?b", asked: say("begin", "claim", b, "commit"), want: []error{errAny, nil}},
		"the last refused at once": {writes: "a?", asked: say("begin", "claim", a, "commit"), want: []error{nil, errAny}},
		"all refused at once":      {writes: "??", asked: say("begin", "claim", "rollback"), want: []error{errAny, errAny}},
		"one refused half done": {writes: "ab", elsewhere: []string{"a"},
			asked: say("begin", "claim", a, "rollback", "begin", "claim", save, a, back, release, save, b, release, "commit"),
			want:  []error{fsm.ErrMoved, nil}},
		"all refused half done": {writes: "ab", elsewhere: []string{"a", "b"},
			asked: say("begin", "claim", a, "rollback", "begin", "claim", save, a, back, release, save, b, back, release, "rollback"),
			want:  []error{fsm.ErrMoved, fsm.ErrMoved}},
		"alone, refused half done": {writes: "a", elsewhere: []string{"a"}, asked: say("begin", "claim", a, "rollback"), want: []error{fsm.ErrMoved}},
		"alone, refused, no way back": {writes: "a", elsewhere: []string{"a"}, refuse: map[string][]error{"rollback": {broke}},
			asked: say("begin", "claim", a, "rollback"), want: []error{fsm.ErrMoved}, broken: true},
		"alone, refused, taken back by itself": {writes: "a", elsewhere: []string{"a"}, refuse: map[string][]error{"rollback": {gone}},
			asked: say("begin", "claim", a, "rollback"), want: []error{fsm.ErrMoved}},
		"one refused half done, no way back": {writes: "ab", elsewhere: []string{"b"}, refuse: map[string][]error{"rollback": {broke}},
			asked: say("begin", "claim", a, b, "rollback"), want: []error{fsm.ErrBusy, fsm.ErrBusy}, broken: true},
		"the database fails before anything is done": {writes: "ab", refuse: map[string][]error{"log a": {busy}},
			asked: say("begin", "claim", "log a", "rollback", "begin", "claim", save, a, release, save, b, release, "commit"), want: []error{nil, nil}},
		"no transaction":          {writes: "ab", refuse: map[string][]error{"begin": {busy}}, asked: say("begin"), want: []error{fsm.ErrBusy, fsm.ErrBusy}},
		"no transaction any more": {writes: "ab", refuse: map[string][]error{"begin": {broke}}, asked: say("begin"), want: []error{broke, broke}, broken: true},
		"the lock is taken":       {writes: "ab", refuse: map[string][]error{"claim": {busy}}, asked: say("begin", "claim", "rollback"), want: []error{fsm.ErrBusy, fsm.ErrBusy}},
		"the lock cannot be had":  {writes: "ab", refuse: map[string][]error{"claim": {broke}}, asked: say("begin", "claim", "rollback"), want: []error{broke, broke}, broken: true},
		"no savepoint": {writes: "ab", elsewhere: []string{"a"}, refuse: map[string][]error{save: {nil, broke}},
			asked: say("begin", "claim", a, "rollback", "begin", "claim", save, a, back, release, save, "rollback"), want: []error{broke, broke}},
		"no way to the savepoint": {writes: "ab", elsewhere: []string{"a"}, refuse: map[string][]error{back: {broke}},
			asked: say("begin", "claim", a, "rollback", "begin", "claim", save, a, back, "rollback"), want: []error{broke, broke}},
		"the savepoint stays": {writes: "ab", elsewhere: []string{"a"}, refuse: map[string][]error{release: {broke}},
			asked: say("begin", "claim", a, "rollback", "begin", "claim", save, a, back, release, "rollback"), want: []error{broke, broke}},
		"a commit that is taken back": {writes: "a?", refuse: map[string][]error{"commit": {busy}},
			asked: say("begin", "claim", a, "commit"), want: []error{fsm.ErrBusy, fsm.ErrBusy}, broken: true},
		"a commit that nobody knows of": {writes: "a?", refuse: map[string][]error{"commit": {broke}},
			asked: say("begin", "claim", a, "commit"), want: []error{fsm.ErrAmbiguous, errors.Join(fsm.ErrBusy, broke)}, broken: true, poisoned: true},
	} {
		run := func(t *testing.T, prepares bool) {
			t.Parallel()
			db := &scriptedDB{refuse: maps.Clone(c.refuse), elsewhere: c.elsewhere, prepares: prepares}
			asked := c.asked
			if prepares { // one statement begins and takes the lock
				var list []string
				for _, word := range asked {
					switch word {
					case "begin":
						list = append(list, "begin immediate")
					case "claim":
					default:
						list = append(list, word)
					}
				}
				asked = list
				if begin := db.refuse["begin"]; begin != nil {
					db.refuse["begin immediate"] = begin
				}
			}
			s, on, batch := together(t, db, c.writes)
			if broken := wonAndCommitted(s, on, batch); broken != c.broken {
				t.Errorf("broken is %t, want %t", broken, c.broken)
			}
			if diff := cmp.Diff(asked, db.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			for i, j := range batch {
				if j.fate != answered || !says(j.err, c.want[i]) && (c.want[i] != errAny || j.err == nil) {
					t.Errorf("write %d has fate %d and %v, want %v", i, j.fate, j.err, c.want[i])
				}
			}
			if got := s.poison.Load() != nil; got != c.poisoned {
				t.Errorf("poisoned is %t, want %t", got, c.poisoned)
			}
		}
		t.Run(name, func(t *testing.T) { run(t, false) })
		if c.refuse["claim"] == nil {
			t.Run(name+", straight", func(t *testing.T) { run(t, true) })
		}
	}
}

// says reports whether an error is what is wanted; of several, all.
func says(got, want error) bool {
	if all, ok := want.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(all.Unwrap(), func(w error) bool { return !errors.Is(got, w) })
	}
	return errors.Is(got, want)
}

// errAny stands for an error that says what is wrong with a write.
var errAny = errors.New("any")

// together makes a store over a scripted database, and a batch of writes.
func together(t *testing.T, db *scriptedDB, writes string) (*Store, *session, []*job) {
	t.Helper()
	pool := sql.OpenDB(db)
	t.Cleanup(func() { pool.Close() })
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s := &Store{dialect: SQLite(), file: "a file", writers: newPool(nil, SQLite(), 1)}
	tab, err := newTable(s, &fsm.Schema{Machine: "m", Table: "m", Columns: []fsm.Column{}})
	if err != nil {
		t.Fatal(err)
	}
	var batch []*job
	for _, r := range writes {
		id := string(r)
		w := &fsm.Write{Prev: fsm.Ref{ID: id, Rev: 3}, PrevState: "on", Row: &fsm.Row{ID: id, State: "off", Rev: 4},
			Event: fsm.Event{ID: id, Rev: 4, Operation: "go", From: "on", To: "off", RequestN: -1}}
		if id == "?" {
			w.Row.Values = []any{1} // more than there are columns
		}
		batch = append(batch, &job{ctx: t.Context(), t: tab, w: w})
	}
	return s, &session{conn: conn}, batch
}

// wonAndCommitted is a round of the committer with a batch that was gathered.
func wonAndCommitted(s *Store, on *session, batch []*job) (broken bool) {
	broken, err := s.win(context.Background(), on)
	if err == nil {
		return s.commitTogether(on, batch)
	}
	for _, j := range batch {
		j.answer(j.t.fault("begin a transaction", err))
	}
	return broken
}

// A store that must be opened anew writes nothing.
func TestPoisonedStoreCommitsNothing(t *testing.T) {
	t.Parallel()
	db := &scriptedDB{}
	s, on, batch := together(t, db, "ab")
	s.poisonWith(errAny)
	if broken := wonAndCommitted(s, on, batch); broken || slices.Contains(db.asked, "commit") {
		t.Errorf("broken is %t, asked %q", broken, db.asked)
	}
	for i, j := range batch {
		if j.fate != answered || !errors.Is(j.err, fsm.ErrPoisoned) {
			t.Errorf("write %d has fate %d and %v, want ErrPoisoned", i, j.fate, j.err)
		}
	}
}

// The end of a caller's context ends nobody's batch.
func TestBatchOutlivesItsFirstCaller(t *testing.T) {
	t.Parallel()
	s, on, batch := together(t, &scriptedDB{}, "ab")
	ctx, cancel := context.WithCancel(t.Context())
	batch[0].ctx = ctx
	cancel()
	if broken := wonAndCommitted(s, on, batch); broken || batch[0].err != nil || batch[1].err != nil {
		t.Errorf("broken is %t, got %v and %v", broken, batch[0].err, batch[1].err)
	}
}
