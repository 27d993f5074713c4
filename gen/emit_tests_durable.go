package gen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// testStore is a store in a database that generated tests can run over.
type testStore struct {
	name  string // for Options.TestStore; the SQL dialect
	store string // the call that opens it
}

var testStores = []testStore{
	{"sqlite", `sqlite.Open(filepath.Join(t.TempDir(), "test.db"), sqlite.WithEnforce("checks"))`},
	{"postgres", `postgres.Open(t.Context(), fsmcases.PostgresSchema(t), postgres.WithEnforce("checks"))`},
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
			list = append(list, fmt.Sprintf("{Name: %q, Open: func(t *testing.T) fsm.Store {\nreturn fsmcases.UseStore(t)(%s)\n}},", s.name, s.store))
		}
	}
	if list != nil { // at a level that lets records begin in any state
		e.line("Stores: []fsmcases.Store{\n%s\n},", strings.Join(list, "\n"))
	}
}

// opens writes how the tests open the machine, with effects that only note that they ran.
func (e *testEmitter) opens() {
	effects, atomic := e.effectNames()
	sources := ""
	if list := e.sources(); list != "" {
		sources = ", " + list
	}
	fx, open := "_", e.n.ours("package", "Open")
	if effects != nil || sources != "" || len(e.m.Uses) > 0 {
		fx = "fx"
	}
	e.line("Open: func(ctx context.Context, store fsm.Store, %s *fsmcases.Effects, opts ...fsm.Option) (*fsmcases.Durable[%s], error) {", fx, e.n.Record)
	switch {
	case len(e.m.Uses) > 0:
		e.line("return testOpened(openWith(ctx, store, testFunctions(fx)%s, opts...))", sources)
	case atomic:
		e.line("switch s := store.(type) {")
		for _, tx := range e.transactions() {
			e.line("case driver.Transactional[%s]:", tx)
			e.line("return testOpened(%s(ctx, s, testEffects[%s]{fx}%s, opts...))", open, tx, sources)
		}
		e.line("}")
		e.line(`return nil, fmt.Errorf("a %%T has no transaction for the effects", store)`)
	case effects != nil:
		e.line("return testOpened(%s(ctx, store, testEffects{fx}%s, opts...))", open, sources)
	default:
		e.line("return testOpened(%s(ctx, store%s, opts...))", open, sources)
	}
	e.line("},")
}

// transactions are the types of the transactions of the stores that are tested.
func (e *testEmitter) transactions() []string {
	list := []string{"*memstore.Tx"}
	if slices.ContainsFunc(testStores, func(s testStore) bool { return e.opt.tests(s.name) }) {
		list = append(list, "*sql.Tx")
	}
	return list
}

// durable writes the calls of the methods of the machine.
func (e *testEmitter) durable() {
	e.line("// testOpened is what the tests reach of an opened machine.")
	e.line("var testOpened = fsmcases.Opened((*Machine).%s, testCall)", e.n.ours("machine", "Core"))
	e.line("")
	e.line("// testCall calls the method of an operation. Without at it makes a record, or lets the")
	e.line("// machine pick one.")
	e.line("func testCall(ctx context.Context, m *Machine, operation string, at fsm.Target, c fsmcases.Call) (%s, error) {", e.n.outcome())
	e.line("switch operation {")
	for _, o := range e.m.Operations {
		if interp.Internal(e.m, o) && len(o.Triggers) == 0 {
			continue
		}
		c, given := e.n.op(o), e.given(o)
		e.line("case %q:", o.Name)
		switch {
		case interp.Internal(e.m, o):
			e.line("// Nobody but the engine calls it.")
			e.line("return m.core.Apply(ctx, at, %s(%s, %s))", c.Call, e.n.desc(o), given)
		case creates(o):
			e.line("return m.%s(ctx, %s)", c.Method, given)
		case o.Next != nil:
			e.line("if at == nil {")
			e.line("return m.%s(ctx, %s)", c.Method, given)
			e.line("}")
			e.line("return m.%s(ctx, at, %s)", c.Of, given)
		case o.Each != nil:
			e.line("if at == nil {")
			e.line("return fsmcases.One(m.%s(ctx, %s))", c.Each, given)
			e.line("}")
			e.line("return m.%s(ctx, at, %s)", c.Method, given)
		default:
			e.line("return m.%s(ctx, at, %s)", c.Method, given)
		}
	}
	e.line("}")
	e.line("return %s{}, &fsmcases.NotOfferedError{Operation: operation}", e.n.outcome())
	e.line("}")
	e.line("")
}

// effectNames lists the effects, each once, and whether one of them is atomic.
func (e *testEmitter) effectNames() (list []*spec.Effect, atomic bool) {
	list = e.m.Performed()
	return list, slices.ContainsFunc(list, func(x *spec.Effect) bool { return x.Atomic })
}

// effects writes effects that note that they ran, and fail when told to.
func (e *testEmitter) effects() {
	effects, atomic := e.effectNames()
	if len(e.m.Uses) > 0 {
		e.functions()
		return
	}
	if effects == nil {
		return
	}
	receiver := "testEffects"
	e.line("// testEffects notes what is performed.")
	if atomic {
		e.line("type testEffects[T any] struct{ fx *fsmcases.Effects }")
		receiver = "testEffects[T]"
	} else {
		e.line("type testEffects struct{ fx *fsmcases.Effects }")
	}
	e.line("")
	for _, x := range effects {
		tx, given := "", "nil"
		if x.Atomic {
			tx, given = "tx T, ", "tx"
		}
		e.line("func (x %s) %s(ctx context.Context, %sr %s, key string, e fsm.Event) error {", receiver, spec.MethodName(x.Name), tx, e.n.Record)
		e.line("return x.fx.Perform(%q, r.%s(), key, e, %s)", x.Name, e.n.ours("record", "Ref"), given)
		e.line("}")
		e.line("")
	}
}

// functions writes the functions of all effects, those among them that move records of other
// machines: what these do is for the tests of both.
func (e *testEmitter) functions() {
	e.line("// testFunctions note what is performed, and which records of other machines would move.")
	e.line("func testFunctions(fx *fsmcases.Effects) map[string]fsmimpl.EffectFunc[%s] {", e.n.Record)
	e.line("functions := map[string]fsmimpl.EffectFunc[%s]{}", e.n.Record)
	e.line("for _, name := range []string{%s} {", quoted(effectNames(e.m.AllAsks())))
	e.line("functions[name] = func(_ context.Context, tx fsm.Tx, r %s, key string, e fsm.Event) error {", e.n.Record)
	e.line("return fx.Perform(name, r.%s(), key, e, tx)", e.n.ours("record", "Ref"))
	e.line("}")
	e.line("}")
	e.line("return functions")
	e.line("}")
	e.line("")
}

func quoted(list []string) string {
	parts := make([]string, len(list))
	for i, text := range list {
		parts[i] = strconv.Quote(text)
	}
	return strings.Join(parts, ", ")
}

// sources writes the inputs of the calls that triggers issue.
func (e *testEmitter) sources() string {
	var parts []string
	for _, o := range e.m.Operations {
		if hasSource(o) {
			c := e.n.op(o)
			parts = append(parts, fmt.Sprintf("%s: func(%s, time.Time) (%s, error) {\nc := fx.Source(%q)\nreturn %s, nil\n},",
				c.Method, e.n.Record, c.Input, o.Name, e.inputsOf(o)))
		}
	}
	if parts == nil {
		return ""
	}
	return "Sources{\n" + strings.Join(parts, "\n") + "\n}"
}
