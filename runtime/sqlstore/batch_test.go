package sqlstore

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// scriptedDB is a SQLite database that keeps what it is asked, in short words, and
// refuses some of it. It holds no rows; a log takes every event, and a row moves
// unless it is elsewhere.
type scriptedDB struct {
	asked     []string
	refuse    map[string][]error // by word: of its first time, its second, ...
	elsewhere []string           // ids
	prepared  int                // statements
	ends      []string           // what was ended, in order: statements, the connection
}

func (d *scriptedDB) Connect(context.Context) (sqldriver.Conn, error) { return d, nil }

func (d *scriptedDB) PrepareContext(_ context.Context, text string) (sqldriver.Stmt, error) {
	d.prepared++
	return &scriptedStmt{d, text}, nil
}

type scriptedStmt struct {
	d    *scriptedDB
	text string
}

func (s *scriptedStmt) Close() error {
	s.d.ends = append(s.d.ends, "closed")
	return nil
}

func (s *scriptedStmt) NumInput() int {
	n := strings.Count(s.text, "?")
	for strings.Contains(s.text, "?1") && !strings.Contains(s.text, fmt.Sprint("?", n)) { // numbers may stand twice
		n--
	}
	return n
}
func (s *scriptedStmt) Exec([]sqldriver.Value) (sqldriver.Result, error) {
	return nil, sqldriver.ErrSkip
}
func (s *scriptedStmt) Query([]sqldriver.Value) (sqldriver.Rows, error) {
	return nil, sqldriver.ErrSkip
}

func (s *scriptedStmt) ExecContext(ctx context.Context, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	return s.d.ExecContext(ctx, s.text, args)
}

func (s *scriptedStmt) QueryContext(ctx context.Context, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	return s.d.QueryContext(ctx, s.text, args)
}

func (d *scriptedDB) Driver() sqldriver.Driver             { return nil }
func (*scriptedDB) Prepare(string) (sqldriver.Stmt, error) { return nil, sqldriver.ErrSkip }
func (d *scriptedDB) Close() error                         { d.ends = append(d.ends, "gone"); return nil }
func (d *scriptedDB) Commit() error                        { return d.word("commit") }
func (d *scriptedDB) Rollback() error                      { return d.word("rollback") }
func (d *scriptedDB) BeginTx(context.Context, sqldriver.TxOptions) (sqldriver.Tx, error) {
	return d.Begin()
}

func (d *scriptedDB) Begin() (sqldriver.Tx, error) {
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

func (d *scriptedDB) ExecContext(_ context.Context, text string, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	id := ""
	for _, a := range args {
		if s, ok := a.Value.(string); ok && len(s) == 1 {
			id = s
		}
	}
	switch {
	case strings.HasPrefix(text, `INSERT INTO "main"."m_events"`):
		return sqldriver.RowsAffected(1), d.word("log " + id)
	case strings.HasPrefix(text, `UPDATE "main"."m" `):
		if err := d.word("move " + id); err != nil || slices.Contains(d.elsewhere, id) {
			return sqldriver.RowsAffected(0), err
		}
		return sqldriver.RowsAffected(1), nil
	}
	return sqldriver.RowsAffected(0), d.word(strings.ToLower(text))
}

func (d *scriptedDB) QueryContext(_ context.Context, text string, _ []sqldriver.NamedValue) (sqldriver.Rows, error) {
	if strings.Contains(text, "THEN 'moved'") { // explain_write: who asks is elsewhere
		return &oneRow{text: "moved"}, d.fault(strings.ToLower(text))
	}
	return noRows{}, d.fault(strings.ToLower(text))
}

type noRows struct{}

func (noRows) Columns() []string            { return []string{"a"} }
func (noRows) Close() error                 { return nil }
func (noRows) Next([]sqldriver.Value) error { return io.EOF }

// A batch is one transaction; who is refused in it costs the others as little as
// may be, and everybody is told what became of the write.
func TestCommitTogether(t *testing.T) {
	t.Parallel()
	broke, busy := code{"disk I/O error", 10}, code{"database is locked", 5}
	gone := code{"cannot rollback - no transaction is active", 1}
	const begin, save, back, release = "begin immediate", "savepoint fsm_job", "rollback to fsm_job", "release fsm_job"
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
		"two":                      {writes: "ab", asked: say(begin, a, b, "commit"), want: []error{nil, nil}},
		"one refused at once":      {writes: "?b", asked: say(begin, b, "commit"), want: []error{errAny, nil}},
		"the last refused at once": {writes: "a?", asked: say(begin, a, "commit"), want: []error{nil, errAny}},
		"all refused at once":      {writes: "??", asked: say(begin, "rollback"), want: []error{errAny, errAny}},
		"one refused half done": {writes: "ab", elsewhere: []string{"a"},
			asked: say(begin, a, "rollback", begin, save, a, back, release, save, b, release, "commit"),
			want:  []error{driver.ErrMoved, nil}},
		"all refused half done": {writes: "ab", elsewhere: []string{"a", "b"},
			asked: say(begin, a, "rollback", begin, save, a, back, release, save, b, back, release, "rollback"),
			want:  []error{driver.ErrMoved, driver.ErrMoved}},
		"alone, refused half done": {writes: "a", elsewhere: []string{"a"}, asked: say(begin, a, "rollback"), want: []error{driver.ErrMoved}},
		"alone, refused, no way back": {writes: "a", elsewhere: []string{"a"}, refuse: map[string][]error{"rollback": {broke}},
			asked: say(begin, a, "rollback"), want: []error{driver.ErrMoved}, broken: true},
		"alone, refused, taken back by itself": {writes: "a", elsewhere: []string{"a"}, refuse: map[string][]error{"rollback": {gone}},
			asked: say(begin, a, "rollback"), want: []error{driver.ErrMoved}},
		"one refused half done, no way back": {writes: "ab", elsewhere: []string{"b"}, refuse: map[string][]error{"rollback": {broke}},
			asked: say(begin, a, b, "rollback"), want: []error{fsm.ErrBusy, fsm.ErrBusy}, broken: true},
		"the database fails before anything is done": {writes: "ab", refuse: map[string][]error{"log a": {busy}},
			asked: say(begin, "log a", "rollback", begin, save, a, release, save, b, release, "commit"), want: []error{nil, nil}},
		"no transaction":          {writes: "ab", refuse: map[string][]error{begin: {busy}}, asked: say(begin), want: []error{fsm.ErrBusy, fsm.ErrBusy}},
		"no transaction any more": {writes: "ab", refuse: map[string][]error{begin: {broke}}, asked: say(begin), want: []error{broke, broke}, broken: true},
		"no savepoint": {writes: "ab", elsewhere: []string{"a"}, refuse: map[string][]error{save: {nil, broke}},
			asked: say(begin, a, "rollback", begin, save, a, back, release, save, "rollback"), want: []error{broke, broke}},
		"no way to the savepoint": {writes: "ab", elsewhere: []string{"a"}, refuse: map[string][]error{back: {broke}},
			asked: say(begin, a, "rollback", begin, save, a, back, "rollback"), want: []error{broke, broke}},
		"the savepoint stays": {writes: "ab", elsewhere: []string{"a"}, refuse: map[string][]error{release: {broke}},
			asked: say(begin, a, "rollback", begin, save, a, back, release, "rollback"), want: []error{broke, broke}},
		"a commit that is taken back": {writes: "a?", refuse: map[string][]error{"commit": {busy}},
			asked: say(begin, a, "commit"), want: []error{fsm.ErrBusy, fsm.ErrBusy}, broken: true},
		"a commit that nobody knows of": {writes: "a?", refuse: map[string][]error{"commit": {broke}},
			asked: say(begin, a, "commit"), want: []error{fsm.ErrAmbiguous, errors.Join(fsm.ErrBusy, broke)}, broken: true, poisoned: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := &scriptedDB{refuse: maps.Clone(c.refuse), elsewhere: c.elsewhere}
			s, on, batch := together(t, db, c.writes)
			if broken := wonAndCommitted(s, on, batch); broken != c.broken {
				t.Errorf("broken is %t, want %t", broken, c.broken)
			}
			if diff := cmp.Diff(c.asked, db.asked); diff != "" {
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
		})
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
	tab, err := newTable(s, &driver.Schema{Machine: "m", Table: "m", Columns: []driver.Column{}})
	if err != nil {
		t.Fatal(err)
	}
	var batch []*job
	for _, r := range writes {
		id := string(r)
		w := &driver.Write{Prev: driver.Ref{ID: id, Rev: 3}, PrevState: "on", Row: &driver.Row{ID: id, State: "off", Rev: 4},
			Event: driver.Event{ID: id, Rev: 4, Operation: "go", From: "on", To: "off", RequestN: -1}}
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

// Statements are prepared once, and closed before their connection is: one with
// statements that are open would keep its locks.
func TestStatementsEnd(t *testing.T) {
	t.Parallel()
	db := &scriptedDB{}
	s, on, batch := together(t, db, "ab")
	on.stmts = map[string]*sql.Stmt{}
	for range 3 {
		for _, j := range batch {
			j.fate = pending
		}
		if broken := wonAndCommitted(s, on, batch); broken || batch[0].err != nil || batch[1].err != nil {
			t.Fatalf("broken is %t, got %v and %v", broken, batch[0].err, batch[1].err)
		}
	}
	const want = 7 // begin, whether others have written, two whether the tables fit, an event, a move, commit
	if db.prepared != want || len(db.ends) != 0 {
		t.Errorf("%d statements prepared and %d closed, want %d and none", db.prepared, len(db.ends), want)
	}
	on.close(true)
	if diff := cmp.Diff(append(slices.Repeat([]string{"closed"}, want), "gone"), db.ends); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
}

// After a panic nothing is left of the transaction.
func TestPanicInABatch(t *testing.T) {
	t.Parallel()
	db := &scriptedDB{refuse: map[string][]error{"move a": {errPanic}}}
	s, on, batch := together(t, db, "a")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		wonAndCommitted(s, on, batch)
	}()
	if diff := cmp.Diff([]string{"begin immediate", "log a", "move a", "rollback"}, db.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// A session whose transaction could be neither begun as a whole nor taken back is of no
// more use, whatever the errors say.
func TestBeginIsNotTakenBack(t *testing.T) {
	t.Parallel()
	for back, lost := range map[error]bool{nil: false, code{"database is locked", 5}: true, code{"cannot rollback - no transaction is active", 1}: false} {
		s, on, _ := together(t, &scriptedDB{refuse: map[string][]error{"pragma data_version": {code{"disk I/O error", 10}}, "rollback": {back}}}, "a")
		if err := s.begin(t.Context(), on); err == nil || on.lost != lost {
			t.Errorf("after %v: lost is %t and %v, want %t and an error", back, on.lost, err, lost)
		}
	}
}

// How many statements stay prepared is bounded.
func TestStatementsAreBounded(t *testing.T) {
	t.Parallel()
	_, on, _ := together(t, &scriptedDB{}, "")
	on.stmts = map[string]*sql.Stmt{}
	for n := range maxStatements + 9 {
		if _, err := on.exec(t.Context(), fmt.Sprint("SELECT ", n)); err != nil {
			t.Fatal(err)
		}
	}
	if len(on.stmts) != maxStatements {
		t.Errorf("%d statements are prepared, want %d", len(on.stmts), maxStatements)
	}
}

// A store that must be opened again writes nothing.
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
