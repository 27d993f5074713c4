package gen

import (
	"strings"

	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// engineFile writes what the suites about the engine reach of a package, for the
// repository of fsmgen; nil where nobody asked for it.
func engineFile(m *spec.Machine, n *names, opt Options) ([]byte, error) {
	if !opt.EngineTests {
		return nil, nil
	}
	body := &engineEmitter{testEmitter: testEmitter{m: m, n: n, opt: opt}, held: newHeld(m, n)}
	body.engine()
	body.probes()
	return formatted(m, n, opt, &body.testEmitter)
}

type engineEmitter struct {
	testEmitter
	held *held
}

// engine writes the test, and how it reaches an opened machine.
func (e *engineEmitter) engine() {
	record := e.n.Record
	m := func(name string) string { return e.n.ours("machine", name) }
	e.line("// TestEngine judges what fsmgen makes of the machine. A project that uses fsmgen has no such test.")
	e.line("func TestEngine(t *testing.T) { enginetest.Run(t, testPackage, engineReach) }")
	e.line("")
	e.line("// engineReach is what it reaches of an opened machine.")
	e.line("func engineReach(machine any) *enginetest.Engine[%s] {", record)
	e.line("m := machine.(*Machine)")
	e.line("return &enginetest.Engine[%s]{", record)
	e.line("Record: m.%s,", m("Record"))
	e.line("List: func(ctx context.Context, states ...string) iter.Seq2[%s, error] {", record)
	e.line("return m.%s(ctx, enginetest.All(States(), states)...)", m("List"))
	e.line("},")
	e.line("Count: func(ctx context.Context, states ...string) (map[string]int64, error) {")
	e.line("return enginetest.ByName(m.%s(ctx, enginetest.All(States(), states)...))", m("Count"))
	e.line("},")
	e.line("History: m.%s,", m("History"))
	if len(e.m.Probes) > 0 {
		e.line("Probes: func(answer func(string) (bool, error)) []fsmimpl.Probe[%s] {", record)
		e.line("return m.%s(engineProbes(answer))", m("Probes"))
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
	if has(func(o *spec.Operation) bool { return o.MayAsk(false) }) {
		e.line("Deliver: m.%s,", m("Deliver"))
	}
	e.line("Batch: enginetest.Batch(m.%s),", m("Batch"))
	e.line("Join: enginetest.Join(m.%s),", m("In"))
	e.lookups()
	e.bare()
	e.handles()
	e.line("Operations: map[string]enginetest.Ways[%s]{", record)
	for _, o := range e.m.Operations {
		if !interp.Internal(e.m, o) {
			e.ways(o)
		}
	}
	e.line("},")
	e.line("}")
	e.line("}")
	e.line("")
}

// lookups writes the adapters to look-ups.
func (e *engineEmitter) lookups() {
	if len(e.m.Lookups) == 0 {
		return
	}
	e.line("Lookups: map[string]enginetest.Find[%s]{", e.n.Record)
	for _, l := range e.m.Lookups {
		args := "ctx"
		for _, r := range l.Fields {
			t := r.Field.Type
			t.Optional = false
			args += ", " + e.callValue(r.Field.Name, t, e.n.fieldEnum(r.Field))
		}
		call, page := fmt.Sprintf("m.%s(%s, p)", spec.MethodName(l.Name), args), "p"
		if e.m.OneRecord(l) {
			call, page = fmt.Sprintf("enginetest.OneRecord(m.%s(%s))", spec.MethodName(l.Name), args), "_"
		}
		e.line("%q: func(ctx context.Context, c fsmcases.Call, %s fsm.Page) ([]%s, fsm.Page, error) {",
			l.Name, page, e.n.Record)
		e.line("return %s", call)
		e.line("},")
	}
	e.line("},")
}

// bare writes how the machine is opened without its effects.
func (e *engineEmitter) bare() {
	effects, atomic := e.effectNames()
	if effects == nil && len(e.m.Uses) == 0 {
		return
	}
	used := strings.Repeat(", nil", len(e.m.Uses))
	if effects != nil {
		used = ", nil" + used
	}
	sources, open := "", e.n.ours("package", "Open")
	if e.sources() != "" {
		sources = ", Sources{}"
	}
	e.line("Bare: func(ctx context.Context, store fsm.Store) error {")
	if atomic {
		e.line("switch s := store.(type) {")
		for _, tx := range e.transactions() {
			e.line("case driver.Transactional[%s]:", tx)
			e.line("_, err := %s(ctx, s, Effects[%s](nil)%s%s)", open, tx, strings.TrimPrefix(used, ", nil"), sources)
			e.line("return err")
		}
		e.line("}")
		e.line("return nil")
	} else {
		e.line("_, err := %s(ctx, store%s%s)", open, used, sources)
		e.line("return err")
	}
	e.line("},")
}

// probes writes probes that answer as they are told.
func (e *engineEmitter) probes() {
	if len(e.m.Probes) == 0 {
		return
	}
	e.line("type engineProbes func(name string) (bool, error)")
	e.line("")
	for _, p := range e.m.Probes {
		e.line("func (p engineProbes) %s(context.Context, %s) (bool, error) { return p(%q) }", spec.MethodName(p.Name), e.n.Record, p.Name)
		e.line("")
	}
}

// ways writes the adapters to one operation.
func (e *engineEmitter) ways(o *spec.Operation) {
	c, given := e.n.op(o), e.given(o)
	handles := e.held.any() && o.By == spec.ByCaller
	if o.Next == nil && o.Each == nil && !handles {
		return
	}
	e.line("%q: {", o.Name)
	if o.Next != nil {
		e.line("Pick: func(ctx context.Context, n int, c fsmcases.Call) ([]%s, error) {", e.n.outcome())
		e.line("if n > 0 {")
		e.line("return m.%s(ctx, n, %s)", c.N, given)
		e.line("}")
		e.line("out, err := m.%s(ctx, %s)", c.Method, given)
		e.line("return []%s{out}, err", e.n.outcome())
		e.line("},")
	}
	if o.Each != nil {
		e.line("Pick: func(ctx context.Context, _ int, c fsmcases.Call) ([]%s, error) {", e.n.outcome())
		e.line("return m.%s(ctx, %s)", c.Each, given)
		e.line("},")
	}
	if handles {
		e.heldly(o)
	}
	e.line("},")
}
