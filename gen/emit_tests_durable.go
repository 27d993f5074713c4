package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// testStore is a store in a database that generated tests can run over.
type testStore struct {
	name  string // for Options.TestStore; the SQL dialect
	open  string // the generated function
	place string // in words
	at    string // what the store and the database of a caller are opened at
	store string // the calls that open them
	db    string
}

var testStores = []testStore{
	{
		name: "sqlite", open: "testSQLite", place: "a file of its own",
		at:    `filepath.Join(t.TempDir(), "test.db")`,
		store: `sqlite.Open(at, sqlite.WithEnforce("checks"))`,
		db:    `sqlite.OpenDB(at)`,
	},
	{
		name: "postgres", open: "testPostgres", place: "a schema of its own",
		at:    `fsmtest.PostgresSchema(t)`,
		store: `postgres.Open(t.Context(), at, postgres.WithEnforce("checks"))`,
		db:    `sql.Open("pgx", at)`,
	},
}

// tests reports whether the tests run over a store in a database.
func (o Options) tests(store string) bool {
	return slices.Contains(strings.Split(o.TestStore, ","), store)
}

// stores lists the stores that the durable layer is tested over besides the
// one in memory.
func (e *testEmitter) stores() {
	var list []string
	for _, s := range testStores {
		if e.opt.tests(s.name) {
			list = append(list, fmt.Sprintf("{Name: %q, Open: %s, Shared: %s}", s.name, s.open, s.open+"Shared"))
		}
	}
	switch len(list) {
	case 0:
	case 1:
		e.line("Stores: []fsmtest.Store{%s},", list[0])
	default:
		e.line("Stores: []fsmtest.Store{\n%s,\n},", strings.Join(list, ",\n"))
	}
}

// durable writes how the tests open the machine and call it.
func (e *testEmitter) durable() {
	effects, atomic := e.effectNames()
	e.line("// testOpen opens the machine with effects that only note that they ran.")
	e.line("func testOpen(ctx context.Context, store fsm.Store, fx *fsmtest.Effects, opts ...fsm.Option) (*fsmtest.Durable[%s], error) {", e.n.Record)
	args, open := "", e.n.ours("package", "Open")
	if sources := e.sources(); sources != "" {
		args = ", " + sources
	}
	switch {
	case atomic:
		e.line("var m *Machine")
		e.line("var err error")
		e.line("switch s := store.(type) {")
		e.line("case driver.Transactional[*memstore.Tx]:")
		e.line("m, err = %s(ctx, s, testEffectsOf[*memstore.Tx](fx)%s, opts...)", open, args)
		if slices.ContainsFunc(testStores, func(s testStore) bool { return e.opt.tests(s.name) }) {
			e.line("case driver.Transactional[*sql.Tx]:")
			e.line("m, err = %s(ctx, s, testEffectsOf[*sql.Tx](fx)%s, opts...)", open, args)
		}
		e.line("default:")
		e.line(`err = fmt.Errorf("a %%T has no transaction for the effects", store)`)
		e.line("}")
	case effects != nil:
		e.line("m, err := %s(ctx, store, testEffectsOf(fx)%s, opts...)", open, args)
	default:
		e.line("m, err := %s(ctx, store%s, opts...)", open, args)
	}
	e.line("if err != nil {")
	e.line("return nil, err")
	e.line("}")
	e.line("return testDurable(m), nil")
	e.line("}")
	e.line("")
	e.line("// testDurable is how the tests reach an opened machine.")
	e.line("func testDurable(m *Machine) *fsmtest.Durable[%s] {", e.n.Record)
	e.line("return &fsmtest.Durable[%s]{", e.n.Record)
	e.reading()
	e.handles()
	e.line("Operations: map[string]fsmtest.Durably[%s]{", e.n.Record)
	for _, o := range e.m.Operations {
		if !internal(e.m, o) {
			e.durably(o)
		}
	}
	e.line("},")
	e.line("}")
	e.line("}")
	e.line("")
	e.testEffects(effects, atomic)
	e.testProbes()
	for _, s := range testStores {
		if e.opt.tests(s.name) {
			e.opening(s)
		}
	}
}

// opening writes how a store in a database is opened.
func (e *testEmitter) opening(s testStore) {
	e.line("// %s opens a store in %s, with the constraints that hold", s.open, s.place)
	e.line("// for every record; made-up records may begin in any state.")
	e.line("func %s(t *testing.T) fsm.Store {", s.open)
	e.line("store, _ := %sShared(t)", s.open)
	e.line("return store")
	e.line("}")
	e.line("")
	e.line("// %sShared opens such a store, and its database once more for", s.open)
	e.line("// transactions of a caller's own.")
	e.line("func %sShared(t *testing.T) (fsm.Store, fsmtest.Begin) {", s.open)
	e.line("at := %s", s.at)
	for _, x := range [][2]string{{"store", s.store}, {"db", s.db}} {
		e.line("%s, err := %s", x[0], x[1])
		e.line("if err != nil {")
		e.line("t.Fatal(err)")
		e.line("}")
		e.line("t.Cleanup(func() { %s.Close() })", x[0])
	}
	e.line("return store, fsmtest.BeginSQL(store, db)")
	e.line("}")
	e.line("")
}

// reading writes the adapters to what is not an operation.
func (e *testEmitter) reading() {
	record := e.n.Record
	m := func(name string) string { return e.n.ours("machine", name) }
	e.line("Record: m.%s,", m("Record"))
	e.line("List: func(ctx context.Context, states ...string) iter.Seq2[%s, error] {", record)
	e.line("return m.%s(ctx, fsmtest.AllNamed(States(), states)...)", m("List"))
	e.line("},")
	e.line("Count: func(ctx context.Context, states ...string) (map[string]int64, error) {")
	e.line("return fsmtest.ByName(m.%s(ctx, fsmtest.AllNamed(States(), states)...))", m("Count"))
	e.line("},")
	e.line("History: m.%s,", m("History"))
	if len(e.m.Probes) > 0 {
		e.line("Audit: func(ctx context.Context, probe func(string) (bool, error)) iter.Seq2[audit.Finding, error] {")
		e.line("return m.%s(ctx, testProbes(probe))", m("Audit"))
		e.line("},")
	} else {
		e.line("Audit: func(ctx context.Context, _ func(string) (bool, error)) iter.Seq2[audit.Finding, error] {")
		e.line("return m.%s(ctx)", m("Audit"))
		e.line("},")
	}
	has := func(test func(*spec.Operation) bool) bool { return slices.ContainsFunc(e.m.Operations, test) }
	triggered := func(startup bool) func(*spec.Operation) bool {
		return func(o *spec.Operation) bool {
			return slices.ContainsFunc(o.Triggers, func(t spec.Trigger) bool { return t.Startup == startup })
		}
	}
	if has(triggered(false)) {
		e.line("Sweep: m.%s,", m("Sweep"))
	}
	if has(triggered(true)) {
		e.line("Startup: m.%s,", m("Startup"))
	}
	if has(func(o *spec.Operation) bool { return o.Effect != nil && !o.Effect.Atomic }) {
		e.line("Deliver: m.%s,", m("Deliver"))
	}
	e.line("Batch: func(ctx context.Context, collect func(*fsmtest.Durable[%s]) error) ([]fsm.Outcome[%s], error) {", record, record)
	e.line("return m.%s(ctx, func(m *Machine) error { return collect(testDurable(m)) })", m("Batch"))
	e.line("},")
	e.line("In: func(ctx context.Context, tx fsm.Joined) (*fsmtest.Durable[%s], error) {", record)
	e.line("in, err := m.%s(ctx, tx)", m("In"))
	e.line("if err != nil {")
	e.line("return nil, err")
	e.line("}")
	e.line("return testDurable(in), nil")
	e.line("},")
}

// testProbes writes probes that answer as they are told.
func (e *testEmitter) testProbes() {
	if len(e.m.Probes) == 0 {
		return
	}
	e.line("type testProbes func(name string) (bool, error)")
	e.line("")
	for _, p := range e.m.Probes {
		e.line("func (p testProbes) %s(context.Context, %s) (bool, error) { return p(%q) }", spec.GoName(p.Name), e.n.Record, p.Name)
		e.line("")
	}
}

// durably writes the adapter to one operation of the durable layer.
func (e *testEmitter) durably(o *spec.Operation) {
	c := e.n.op(o)
	record := e.n.Record
	given := e.given(o)
	e.line("%q: {", o.Name)
	switch {
	case creates(o):
		e.line("Do: func(ctx context.Context, _ fsm.Target, c fsmtest.Call) (fsm.Outcome[%s], error) {", record)
		e.line("return m.%s(ctx, %s)", c.Method, given)
		e.line("},")
	case o.Next != nil:
		e.line("Do: func(ctx context.Context, at fsm.Target, c fsmtest.Call) (fsm.Outcome[%s], error) {", record)
		e.line("return m.%s(ctx, at, %s)", c.Of, given)
		e.line("},")
		e.line("Pick: func(ctx context.Context, n int, c fsmtest.Call) ([]fsm.Outcome[%s], error) {", record)
		e.line("if n > 0 {")
		e.line("return m.%s(ctx, n, %s)", c.N, given)
		e.line("}")
		e.line("out, err := m.%s(ctx, %s)", c.Method, given)
		e.line("return []fsm.Outcome[%s]{out}, err", record)
		e.line("},")
	default:
		e.line("Do: func(ctx context.Context, at fsm.Target, c fsmtest.Call) (fsm.Outcome[%s], error) {", record)
		e.line("return m.%s(ctx, at, %s)", c.Method, given)
		e.line("},")
	}
	e.heldly(o)
	e.line("},")
}

// effectNames lists the effects, each once, and whether one of them is atomic.
func (e *testEmitter) effectNames() (list []*spec.Effect, atomic bool) {
	seen := map[string]bool{}
	for _, o := range e.m.Operations {
		if x := o.Effect; x != nil {
			atomic = atomic || x.Atomic
			if !seen[x.Name] {
				seen[x.Name] = true
				list = append(list, x)
			}
		}
	}
	return list, atomic
}

// testEffects writes effects that note that they ran, and fail when told to.
func (e *testEmitter) testEffects(effects []*spec.Effect, atomic bool) {
	if effects == nil {
		return
	}
	receiver := "testEffects"
	if atomic {
		e.line("type testEffects[T any] struct{ fx *fsmtest.Effects }")
		receiver = "testEffects[T]"
	} else {
		e.line("type testEffects struct{ fx *fsmtest.Effects }")
	}
	e.line("")
	if atomic {
		e.line("func testEffectsOf[T any](fx *fsmtest.Effects) Effects[T] {")
	} else {
		e.line("func testEffectsOf(fx *fsmtest.Effects) Effects {")
	}
	e.line("if fx == nil {")
	e.line("return nil")
	e.line("}")
	e.line("return %s{fx}", receiver)
	e.line("}")
	e.line("")
	for _, x := range effects {
		tx, given := "", "nil"
		if x.Atomic {
			tx, given = "tx T, ", "tx"
		}
		e.line("func (x %s) %s(ctx context.Context, %sr %s, key string, e fsm.Event) error {", receiver, spec.GoName(x.Name), tx, e.n.Record)
		e.line("return x.fx.Perform(%q, r.%s(), key, e, %s)", x.Name, e.n.ours("record", "Ref"), given)
		e.line("}")
		e.line("")
	}
}

// sources writes the inputs of the calls that triggers issue.
func (e *testEmitter) sources() string {
	var parts []string
	for _, o := range e.m.Operations {
		if hasSource(o) {
			c := e.n.op(o)
			parts = append(parts, fmt.Sprintf("%s: func(%s, time.Time) (%s, error) { return %s(fx.Source(%q)), nil },",
				c.Method, e.n.Record, c.Input, e.inputFunc(o), o.Name))
		}
	}
	if parts == nil {
		return ""
	}
	return "Sources{\n" + strings.Join(parts, "\n") + "\n}"
}
