package sqlstore

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// moved is the next move of a job's record, with a sum of its own.
func moved(j *job, sum uint32) *job {
	w := *j.w
	row := *w.Row
	row.Rev++
	w.Prev, w.PrevState, w.Row = w.Row.Ref(), w.Row.State, &row
	w.Event.Rev, w.Event.From, w.Event.Sum = row.Rev, w.PrevState, sum
	return &job{ctx: j.ctx, t: j.t, w: &w}
}

// A session that has written a record some times in a row reads the chain of what it
// wrote once, and appends without looking from then on. What was not committed, or
// was written by somebody else in between, is no link.
func TestLinks(t *testing.T) {
	t.Parallel()
	// A step is what becomes of the next move of the record: it is (w)ritten, (r)efused
	// by its row, (l)ost at the commit, or by somebody (e)lse.
	for name, c := range map[string]struct {
		steps string
		want  []string // of each write that is ours: how the chain comes
	}{
		"read at the third":     {"wwwww", []string{"looked up", "looked up", "read", "known", "known"}},
		"another one between":   {"wwwewww", []string{"looked up", "looked up", "read", "looked up", "looked up", "read"}},
		"refused":               {"wwwrww", []string{"looked up", "looked up", "read", "known", "known", "known"}},
		"lost":                  {"wwwlww", []string{"looked up", "looked up", "read", "known", "known", "known"}},
		"never twice in a row":  {"wewewew", []string{"looked up", "looked up", "looked up", "looked up"}},
		"refused before a read": {"wrww", []string{"looked up", "looked up", "looked up", "read"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := &scriptedDB{prepares: true, refuse: map[string][]error{}}
			s, on, batch := together(t, db, "a")
			at := batch[0]
			var got []string
			for i, step := range c.steps {
				if step == 'e' {
					at = moved(at, 1)
					continue
				}
				db.asked, db.elsewhere, at.fate, at.err = nil, nil, pending, nil
				switch step {
				case 'r':
					db.elsewhere = []string{"a"}
				case 'l':
					db.refuse["commit"] = []error{code{"database is locked", 5}}
				}
				at.w.Event.Sum = uint32(i) + 1
				wonAndCommitted(s, on, []*job{at})
				if (at.err == nil) != (step == 'w') {
					t.Fatalf("step %d: %v", i, at.err)
				}
				how := "known"
				switch {
				case db.has("chain a"):
					how = "read"
				case db.looked:
					how = "looked up"
				}
				if got = append(got, how); how != "looked up" {
					if want := int64(fsm.Chained(db.chain, &at.w.Event)); db.linked != want {
						t.Errorf("step %d: the chain is %d, want %d", i, db.linked, want)
					}
				}
				if step == 'w' {
					db.chain = fsm.Chained(db.chain, &at.w.Event)
					at = moved(at, 0)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("chains (-want +got):\n%s", diff)
			}
		})
	}
}

// What was taken back is no link, whatever was committed besides or behind it.
func TestNoLinkOfWhatWasTakenBack(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(db *scriptedDB, commit func(jobs ...*job), a, b *job){
		"refused beside another one": func(db *scriptedDB, commit func(jobs ...*job), a, b *job) {
			db.elsewhere = []string{"a"}
			commit(a, b)
		},
		"refused beside one without a form": func(db *scriptedDB, commit func(jobs ...*job), a, b *job) {
			db.elsewhere, b.w.Event.To = []string{"a"}, "nowhere"
			commit(a, b)
		},
		"lost before another one": func(db *scriptedDB, commit func(jobs ...*job), a, b *job) {
			db.refuse["commit"] = []error{code{"database is locked", 5}}
			commit(a)
			commit(b)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := &scriptedDB{prepares: true, refuse: map[string][]error{}}
			s, on, batch := together(t, db, "ab")
			a, b := batch[0], batch[1]
			commit := func(jobs ...*job) { wonAndCommitted(s, on, jobs) }
			for range 3 {
				commit(a)
				a = moved(a, 1)
			}
			if commit(a); db.looked {
				t.Fatal("the chain is not known")
			}
			a = moved(a, 1)
			if fail(db, commit, a, b); a.err == nil || b.err != nil {
				t.Fatalf("got %v and %v", a.err, b.err)
			}
			db.elsewhere = nil
			a = moved(a, 1) // somebody else has made the move that failed
			if commit(a); a.err != nil || !db.looked {
				t.Errorf("got %v; the chain of a write that was taken back is used: %t", a.err, !db.looked)
			}
		})
	}
}

// A creation hangs on nothing, and two records in one place of the memory are told
// from each other.
func TestLinksOfOthers(t *testing.T) {
	t.Parallel()
	tab := &table{schema: &fsm.Schema{}, dialect: sqlite{}}
	other := &table{schema: &fsm.Schema{}, dialect: sqlite{}}
	d := &direct{}
	x := &txn{reader: reader{t: tab, q: d}}
	d.next = link{schema: tab.schema, id: "a", rev: 3, chain: 9, known: true}
	d.settled(true)
	d.remember()
	for name, c := range map[string]struct {
		t     *table
		prev  fsm.Ref
		chain uint32
		known bool
	}{
		"a creation":       {tab, fsm.Ref{ID: "a"}, 0, true},
		"the same":         {tab, fsm.Ref{ID: "a", Rev: 3}, 9, true},
		"another revision": {tab, fsm.Ref{ID: "a", Rev: 4}, 0, false},
		"another machine":  {other, fsm.Ref{ID: "a", Rev: 3}, 0, false},
	} {
		x.t = c.t
		chain, known, err := x.before(d, &fsm.Write{Prev: c.prev})
		if chain != c.chain || known != c.known || err != nil {
			t.Errorf("%s: %d, %t and %v; want %d and %t", name, chain, known, err, c.chain, c.known)
		}
	}
	x.t = tab
	d.links.at("a").id = "b" // as if both had one place
	if _, known, _ := x.before(d, &fsm.Write{Prev: fsm.Ref{ID: "a", Rev: 3}}); known {
		t.Error("the chain of another record is taken")
	}
}

// Where a machine has very many moves, its words are parameters.
func TestWordsAreBounded(t *testing.T) {
	t.Parallel()
	db := &scriptedDB{prepares: true}
	s, on, batch := together(t, db, "a")
	d := &direct{conn: preparingDB{db}, texts: map[string]statement{}, forms: map[form]statement{}}
	on.direct = d
	for i := range maxWorded - 1 {
		d.forms[form{changed: uint64(i)}] = &scriptedStmt{d: db}
	}
	for _, want := range []struct{ words, params, prepared int }{{1, 1, 5}, {1, 3, 7}, {1, 4, 9}, {1, 4, 9}} { // the first event finds room, nothing behind it does; what is the same is found, once the chain is known
		if broken := wonAndCommitted(s, on, batch); broken || batch[0].err != nil {
			t.Fatalf("broken is %t, got %v", broken, batch[0].err)
		}
		var words, params int
		for f, st := range d.forms {
			switch text := st.(*scriptedStmt).text; {
			case strings.Contains(text, "'on'"):
				words++
			case f.schema != nil:
				params++
			}
		}
		if words != want.words || params != want.params || db.prepared != want.prepared {
			t.Errorf("%d statements with words and %d without, %d prepared in all; want %d, %d and %d", words, params, db.prepared, want.words, want.params, want.prepared)
		}
		*batch[0] = *moved(batch[0], 1)
		batch[0].w.Event.Operation = "on"
	}
}

// An event that cannot be read ends the write.
func TestChainThatCannotBeRead(t *testing.T) {
	t.Parallel()
	db := &scriptedDB{prepares: true, refuse: map[string][]error{"chain a": {errAny}}}
	s, on, batch := together(t, db, "a")
	at := batch[0]
	for range 2 {
		wonAndCommitted(s, on, []*job{at})
		at = moved(at, 1)
	}
	db.asked = nil
	wonAndCommitted(s, on, []*job{at})
	if !errors.Is(at.err, errAny) || db.has("log a") {
		t.Errorf("got %v, asked %q", at.err, db.asked)
	}
}
