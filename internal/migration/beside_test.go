package migration_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/diff"
	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/migration"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/spec"
)

// Random pairs of versions that go beside each other: a program of the old one runs
// through the migration and afterwards, all its operations do, and what it finds is what
// is there. When the roll-out ends, nothing of the old version is left.
func TestOldProgramsGoOn(t *testing.T) {
	t.Parallel()
	oldProgramsGoOn(t, 1, nil)
}

// The same with names as long as they may be, which the databases' names of objects shorten: they
// begin alike, and some are those that an index could get when it is kept.
func TestOldProgramsWithLongNamesGoOn(t *testing.T) {
	t.Parallel()
	oldProgramsGoOn(t, 2, lengthened)
}

// lengthened makes words long.
func lengthened(r *rand.Rand) func(word string) string {
	machine := 40 + r.IntN(17) // 56 bytes are the most
	others := []int{0, 56 - machine + r.IntN(8), 70}[r.IntN(3)]
	return func(word string) string {
		if word == "thing" {
			return strings.Repeat("g", machine-len(word))
		}
		return strings.Repeat("g", others)
	}
}

// An index that is kept gets a name that nothing else has. Names are random: short and long, and
// those that begin alike, or end as a kept one could.
func TestKeptNamesAreNobodyElses(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts PostgreSQL")
	}
	draws := 3
	if campaign.On() {
		draws = 200
	}
	for seed := range uint64(draws) {
		r := rand.New(rand.NewPCG(seed, 41))
		machine := "m" + strings.Repeat("a", r.IntN(56))
		stem := "l" + strings.Repeat("b", r.IntN(60-len(machine)/2))
		var names []string
		for len(names) < 8 {
			tail := []string{"", "_beside", fmt.Sprint("_", r.IntN(100)), strings.Repeat("b", r.IntN(20))}[r.IntN(4)]
			if name := stem + tail; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		version := func(n int, states, in string) *spec.Machine {
			text := fmt.Sprintf("fsm: 1\nmachine: %s\nentity: Thing\nversion: %d\notherwise: reject\nfields:\n  k: {type: optional string}\n"+
				"states:\n  a: {}\n  b: {}\n%s  e: {terminal: true}\n"+
				"operations:\n  make: {creates: a, set: {k: input or absent}}\n  end: {from: b, to: e}\n", machine, n, states)
			for _, name := range names {
				text += fmt.Sprintf("  %s: {from: [a%s], to: b, next: {order: [k]}}\n", name, in)
			}
			if n > 1 {
				text += "  put: {from: a, to: n}\n  leave: {from: n, to: e}\n"
			}
			return parse(t, "m.yaml", text)
		}
		old, next := version(1, "", ""), version(2, "  n: {}\n", ", n")
		if why := diff.Machines(old, next).Beside(); len(why) > 0 {
			t.Fatal(why)
		}
		m, err := migration.New(old, next, migration.Postgres, "checks")
		if err != nil {
			t.Fatal(err)
		}
		db := opened(t, pgtest.DSN(t))
		execute(t, db, described(t, old, migration.Postgres, "checks").SQL[migration.Postgres])
		indexes := func() (n int) {
			const ours = `SELECT count(*) FROM pg_indexes WHERE schemaname = 'public' AND tablename <> 'fsm_versions'`
			if err := db.QueryRow(ours).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := indexes()
		if _, err := db.Exec(m.Script); err != nil {
			t.Fatalf("machine %s, operations %v: %v", machine, names, err)
		}
		if n := indexes(); n != before+len(names) {
			t.Errorf("machine %s, operations %v: %d indexes, want %d and %d that are kept", machine, names, n, before, len(names))
		}
		db.Close()
	}
}

// oldProgramsGoOn draws pairs, the words of whose machines go on as extend says. One of them keeps as
// many indexes as told: PostgreSQL's only one, outside of a campaign.
func oldProgramsGoOn(t *testing.T, indexes int, extend func(r *rand.Rand) func(word string) string) {
	pairs := 1
	if campaign.On() {
		pairs = min(200, *evolutions)
	}
	for _, dialect := range []string{migration.SQLite, migration.Postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				t.Skip("starts PostgreSQL")
			}
			calls, tried, kept := 0, 0, 0
			least := 0
			if dialect == migration.Postgres {
				least = indexes
			}
			for seed := *firstSeed; (tried < pairs || kept < least) && !t.Failed(); seed++ {
				r := rand.New(rand.NewPCG(seed, 31))
				first := newRoll(r)
				if extend != nil {
					first.extend = extend(r)
				}
				second := first.evolve()
				old, next := parse(t, "old.yaml", first.yaml()), parse(t, "new.yaml", second.yaml())
				if len(migration.Beside(old, next)) > 0 {
					continue
				}
				m, err := migration.New(old, next, dialect, "full")
				if err != nil {
					t.Fatal(err)
				}
				keeps := strings.Count(m.Script, "ALTER INDEX ")
				if keeps < least && kept < least && tried+1 >= pairs {
					continue
				}
				tried, kept = tried+1, max(kept, keeps)
				third := *second // the same with another version
				third.version++
				b := &rollOut{Rand: r, dialect: dialect, old: old, next: next, third: parse(t, "third.yaml", third.yaml())}
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
					b.T = t
					b.run()
				})
				if calls += b.calls; t.Failed() {
					t.Logf("seed %d\n%s\n%s", seed, first.yaml(), second.yaml())
				}
			}
			t.Logf("%d pairs, one of them keeps %d indexes, %d calls", tried, kept, calls)
		})
	}
}

// rollOut is one pair on one database.
type rollOut struct {
	*testing.T
	*rand.Rand
	dialect          string
	old, next, third *spec.Machine
	place            string
	calls            int
}

func (b *rollOut) store() fsm.Store {
	b.Helper()
	var store fsm.Store
	var err error
	if b.dialect == migration.SQLite {
		store, err = sqlite.Open(b.place)
	} else {
		store, err = postgres.Open(b.Context(), b.place, postgres.WithLogger(slog.New(slog.DiscardHandler)))
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })
	return store
}

func (b *rollOut) run() {
	b.Helper()
	if b.place = filepath.Join(b.TempDir(), "x.db"); b.dialect == migration.Postgres {
		b.place = pgtest.DSN(b.T)
	}
	first := described(b.T, b.old, b.dialect, "full")
	oldStore, store := b.store(), b.store()
	if err := migrates(b.T, oldStore, first); err != nil {
		b.Fatal(err)
	}
	one := open(b.T, oldStore, b.old, first, "one")
	b.work(b.Rand, one, 12)
	var after atomic.Bool
	ended := make(chan error, 1)
	r := rand.New(rand.NewPCG(b.Uint64(), 1))
	go func() { // it runs through the migration
		for n := 0; n < 8; n++ {
			if !after.Load() {
				n = 0
			}
			if err := one.call(b.Context(), r); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	second := described(b.T, b.next, b.dialect, "full")
	second.Beside = []driver.SpecID{{Version: b.old.Version, Hash: b.old.Hash}}
	b.migrate(store, b.old, b.next, second)
	after.Store(true)
	if err := <-ended; err != nil {
		b.Errorf("a running program of the old version: %v", err)
		return
	}
	two, again := open(b.T, store, b.next, second, "two"), open(b.T, oldStore, b.old, first, "again")
	for range 4 {
		b.work(b.Rand, two, 6)
		b.work(b.Rand, one, 4)
		b.work(b.Rand, again, 2)
		b.finds(one, two)
		b.finds(again, two)
	}
	b.rights(one, two)
	b.calls = one.n + two.n + again.n
	b.end(oldStore, store, first, second)
}

// end ends the roll-out, by EndRollOut or by the next migration.
func (b *rollOut) end(oldStore, store fsm.Store, first, s *driver.Schema) {
	b.Helper()
	m := b.next
	if b.IntN(2) == 0 {
		m = b.third
		s = described(b.T, m, b.dialect, "full")
		b.migrate(store, b.next, m, s)
	} else if err := fsmimpl.EndRollOut(b.Context(), store, s); err != nil {
		b.Errorf("the roll-out does not end: %v", err)
		return
	}
	b.work(b.Rand, open(b.T, store, m, s, "last"), 6)
	if _, err := fsm.NewMachine(b.Context(), oldStore, describe(b.old, first), nil); !errors.Is(err, fsm.ErrSchemaMismatch) {
		b.Errorf("a retired program: %v", err)
	}
	if b.dialect == migration.Postgres {
		db, fresh := opened(b.T, b.place), opened(b.T, pgtest.DSN(b.T))
		execute(b.T, fresh, s.SQL[b.dialect])
		if d := cmp.Diff(postgresObjects(b.T, fresh), postgresObjects(b.T, db)); d != "" {
			b.Errorf("after the roll-out (-generated +migrated):\n%s", d)
		}
	}
}

func (b *rollOut) migrate(store fsm.Store, from, to *spec.Machine, s *driver.Schema) {
	b.Helper()
	if b.dialect == migration.SQLite {
		if err := migrates(b.T, store, s); err != nil {
			b.Fatal(err)
		}
		return
	}
	m, err := migration.New(from, to, b.dialect, "full")
	if err != nil {
		b.Fatal(err)
	}
	db := opened(b.T, b.place)
	defer db.Close()
	execute(b.T, db, m.Script)
}

// work makes n calls of a program.
func (b *rollOut) work(r *rand.Rand, p *program, n int) {
	b.Helper()
	for range n {
		if err := p.call(b.Context(), r); err != nil {
			b.Errorf("%s: %v", p.name, err)
			return
		}
	}
}

// finds compares what a program of the old version finds with what is there.
func (b *rollOut) finds(p, all *program) {
	b.Helper()
	ctx := b.Context()
	byState := map[string][]string{}
	for rec, err := range all.core.List(ctx, driver.Query{}) {
		if err != nil {
			b.Fatal(err)
		}
		byState[rec.State.Stored()] = append(byState[rec.State.Stored()], rec.ID)
	}
	lists := [][]string{nil}
	for _, s := range b.old.States {
		if !s.Terminal {
			lists[0] = append(lists[0], s.Stored())
		}
		lists = append(lists, []string{s.Stored()})
	}
	for _, states := range append(lists, words(b.old.Unique[0].In), words(p.pick.From)) {
		var want, got []string
		for _, s := range states {
			want = append(want, byState[s]...)
		}
		for rec, err := range p.core.List(ctx, driver.Query{States: states}) {
			if err != nil {
				b.Errorf("%s lists %v: %v", p.name, states, err)
				return
			}
			got = append(got, rec.ID)
		}
		slices.Sort(want)
		if d := cmp.Diff(want, got); d != "" {
			b.Errorf("%s lists %v (-there +found):\n%s", p.name, states, d)
		}
		counts, err := p.core.Count(ctx, states...)
		if err != nil {
			b.Errorf("%s counts %v: %v", p.name, states, err)
		}
		for _, s := range states {
			if int(counts[s]) != len(byState[s]) {
				b.Errorf("%s counts %v: %v, there are %d in %s", p.name, states, counts, len(byState[s]), s)
			}
		}
	}
}

// rights looks at what a program of the old version may do: it takes what it can pick
// until nothing is left, and gives a place that nobody has.
func (b *rollOut) rights(p, all *program) {
	b.Helper()
	ctx := b.Context()
	for i := 0; ; i++ {
		_, err := p.core.Pick(ctx, 1, p.request(b.Rand, p.pick))
		if errors.Is(err, fsm.ErrNothingToDo) {
			break
		}
		if err != nil || i > 1000 {
			b.Errorf("pick %d: %v", i, err)
			return
		}
	}
	if _, err := p.core.Sweep(ctx); err != nil {
		b.Errorf("%s sweeps: %v", p.name, err)
	}
	held := map[string]bool{}
	rules := append(words(b.old.Unique[0].In), words(b.next.Unique[0].In)...)
	for rec, err := range all.core.List(ctx, driver.Query{}) {
		if err != nil {
			b.Fatal(err)
		}
		state := rec.State.Stored()
		ends := p.pick.Moves()[0].To.Stored() // where its place may be taken
		if slices.Contains(words(p.pick.From), state) && !slices.Contains(rules, ends) {
			b.Errorf("%s picks nothing, and %s is in %s", p.name, rec.ID, state)
		}
		if slices.Contains(rules, state) {
			held[rec.Value(all.m, all.m.Fields[0]).Text] = true
		}
	}
	for i := range 6 { // as a batch, which asks before it writes
		key := fmt.Sprint("k", i)
		c := p.request(b.Rand, p.create)
		c.Inputs[0].Value = key
		c.Decide = p.decide(p.create, c)
		_, err := p.core.CreateMany(ctx, []fsmimpl.Call[record]{c, p.filled(b.Rand, fmt.Sprintf("%s-%d", p.name, i))})
		if taken := errors.Is(err, fsm.ErrNotUnique); err != nil && !taken && !errors.Is(err, fsm.ErrGuard) || taken && !held[key] {
			b.Errorf("%s creates with key %s (held: %v): %v", p.name, key, held[key], err)
		}
	}
}

func words(refs []spec.StateRef) (list []string) {
	for _, s := range refs {
		list = append(list, s.State.Stored())
	}
	return list
}

// expected are refusals of calls by programs that know nothing of each other.
func expected(err error) bool {
	for _, may := range []fsm.Code{fsm.ErrWrongState, fsm.ErrTerminal, fsm.ErrGuard, fsm.ErrNotUnique, fsm.ErrNothingToDo, fsm.ErrNotFound,
		fsm.ErrStale, fsm.ErrBusy, fsm.ErrQuarantined} {
		if errors.Is(err, may) {
			return true
		}
	}
	return err == nil
}

// call makes one random call of any kind.
func (p *program) call(ctx context.Context, r *rand.Rand) error {
	p.n++
	op := p.m.Operations[r.IntN(len(p.m.Operations))]
	c := p.request(r, op)
	var err error
	switch {
	case len(op.Creates) > 0:
		c.ID = fmt.Sprintf("%s%d", p.name, p.n)
		_, err = p.core.Create(ctx, c)
	case op.By == spec.BySystem:
		_, err = p.core.Sweep(ctx)
	case op.Next != nil && r.IntN(4) > 0:
		_, err = p.core.Pick(ctx, 1+r.IntN(2), c)
	default:
		names := []string{"one", "two", "again"}
		_, err = p.core.Apply(ctx, driver.Ref{ID: fmt.Sprintf("%s%d", names[r.IntN(3)], 1+r.IntN(p.n+5))}, c)
	}
	if !expected(err) {
		return fmt.Errorf("%s: %w", op.Name, err)
	}
	for _, l := range p.m.Lookups {
		look := &fsmimpl.Lookup{Name: l.Name, Columns: []string{"k"}, States: words(l.In)}
		if _, _, err := p.core.Page(ctx, look, []any{fmt.Sprint("k", r.IntN(6))}, fsm.Page{}); !expected(err) {
			return fmt.Errorf("look-up %s: %w", l.Name, err)
		}
	}
	return nil
}

// roll is a random machine of jobs: its rules, picks and deadlines name some of its states.
type roll struct {
	*rand.Rand
	version     int
	states      []string // those that are not terminal come first
	open        int
	extra       int                 // fields
	moves       map[string][]string // operation: the state that it leads to, and those that it leaves
	in, due     []string
	next, peers []string
	looks       [][]string
	extend      func(word string) string // what a word in the file ends with; nil: nothing
}

func newRoll(r *rand.Rand) *roll {
	m := &roll{Rand: r, version: 1, open: 2 + r.IntN(3), moves: map[string][]string{}}
	for i := range m.open {
		m.states = append(m.states, fmt.Sprint("s", i))
	}
	m.states = append(m.states, "e0", "e1")[:m.open+1+r.IntN(2)]
	for i, s := range m.states {
		m.moves["to_"+s] = append([]string{s, "s0"}, m.some(m.states[:m.open])...)
		if i >= m.open {
			m.moves["to_"+s] = append([]string{s}, m.states[:m.open]...)
		}
	}
	m.in, m.peers = m.some(m.states[:m.open+m.IntN(2)]), m.some(m.states)
	m.next, m.due = m.some(m.states[:m.open]), m.some(m.states[:m.open])
	m.looks = append(m.looks, m.some(m.states))
	return m
}

// some returns some of the states, one at least, in their order.
func (m *roll) some(all []string) []string {
	list := slices.DeleteFunc(slices.Clone(all), func(string) bool { return m.IntN(2) == 0 })
	if len(list) == 0 {
		list = append(list, all[m.IntN(len(all))])
	}
	return list
}

// evolve makes a next version that has one or two states more, or fewer words in a rule.
func (m *roll) evolve() *roll {
	n := *m
	n.version++
	n.states, n.looks, n.moves = slices.Clone(m.states), slices.Clone(m.looks), map[string][]string{}
	for op, list := range m.moves {
		n.moves[op] = list
	}
	for range 1 + n.IntN(2) {
		s := fmt.Sprint("n", len(n.states))
		terminal := n.IntN(4) == 0
		if terminal {
			n.states = append(n.states, s)
		} else {
			n.states = slices.Insert(n.states, n.open, s)
			n.open++
		}
		n.moves["to_"+s] = append([]string{s, "s0"}, n.some(m.states[:m.open])...)
		lists := []*[]string{&n.in, &n.peers}
		if !terminal {
			lists = append(lists, &n.next, &n.due)
			for op, list := range n.moves {
				if list[0] == "e0" || n.IntN(2) == 0 && list[0] != s {
					n.moves[op] = append(slices.Clone(list), s)
				}
			}
		}
		for _, list := range lists {
			if n.IntN(2) == 0 {
				*list = append(slices.Clone(*list), s)
			}
		}
	}
	switch n.IntN(4) {
	case 0:
		n.extra++
	case 1:
		n.looks = append(n.looks, n.some(n.states))
	case 2:
		n.in = n.some(n.in)
	}
	return &n
}

func (m *roll) yaml() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	w := func(format string, args ...any) string {
		word := fmt.Sprintf(format, args...)
		if m.extend == nil {
			return word
		}
		return word + m.extend(word)
	}
	list := func(words []string) string {
		ordered := slices.DeleteFunc(slices.Clone(m.states), func(s string) bool { return !slices.Contains(words, s) })
		for i, s := range ordered {
			ordered[i] = w("%s", s)
		}
		return "[" + strings.Join(ordered, ", ") + "]"
	}
	p("fsm: 1\nmachine: %s\nentity: Thing\nversion: %d\notherwise: reject\nrequests: {request_id: optional, expected_rev: optional}\nfields:", w("thing"), m.version)
	p("  k: {type: optional string}\n  due: {type: optional time}\n  hits: {type: counter}")
	set := "k: input or absent, due: input or absent"
	for i := range m.extra {
		p("  x%d: {type: optional string}", i)
		set += fmt.Sprintf(", x%d: input or absent", i)
	}
	p("states:")
	for i, s := range m.states {
		p("  %s: %s", w("%s", s), map[bool]string{true: "{}", false: "{terminal: true}"}[i < m.open])
	}
	p("unique:\n  %s: {fields: k, in: %s, error: taken}", w("once"), list(m.in))
	p("guards:\n  %s: {fewer: {than: 4, same: k, in: %s}, error: many}", w("few"), list(m.peers))
	p("lookup:")
	for i, l := range m.looks {
		p("  %s: {fields: k, in: %s}", w("look")+[]string{"", "_beside", "2", "3"}[i], list(l))
	}
	p("operations:\n  %s: {creates: %s, set: {%s}}", w("make"), w("s0"), set)
	p("  %s: {creates: %s, require: [%s], set: {%s}}", w("fill"), w("s0"), w("few"), set)
	for _, op := range slices.Sorted(keysOf(m.moves)) {
		p("  %s: {from: %s, to: %s}", w("%s", op), list(m.moves[op][1:]), w("%s", m.moves[op][0]))
	}
	p("  %s: {from: %s, to: %s, next: {order: [due]}, increment: [hits]}", w("take"), list(m.next), w("e0"))
	p("  %s: {by: system, from: %s, to: %s, trigger: [after due]}", w("late"), list(m.due), w("e0"))
	return b.String()
}
