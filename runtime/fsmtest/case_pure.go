package fsmtest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// words tests the texts of states and enums, and what the states say of themselves.
func (p *Package[R]) words(t *testing.T) {
	for _, w := range p.Words {
		t.Run(w.Name, w.Test)
	}
	var want []End
	for _, text := range list(p.States) {
		name, end, _ := strings.Cut(text, " ")
		want = append(want, End{State: name, Terminal: end == "(terminal)", Final: end == "(final)"})
	}
	for i, e := range p.Ends {
		if i < len(want) && e != want[i] {
			t.Errorf("state %+v, want %+v", e, want[i])
		}
	}
	if v := p.Descriptor.Schema.Version; v != p.Version {
		t.Errorf("the version is %d, want %d", v, p.Version)
	}
	var fields []string
	for _, c := range p.Descriptor.Schema.Columns {
		text := c.Name
		if c.Stored != c.Name {
			text += " (" + c.Stored + ")"
		}
		fields = append(fields, text)
	}
	if got := strings.Join(fields, ", "); got != p.Fields {
		t.Errorf("the fields are %q, want %q", got, p.Fields)
	}
	if len(p.Ends) != len(want) {
		t.Errorf("the package has %d states, want %d", len(p.Ends), len(want))
	}
}

// moves calls every operation in every state, and in none.
func (p *Package[R]) moves(test *testing.T) {
	t := &report{T: test}
	defer t.done()
	var states []string
	terminal := map[string]bool{}
	for _, e := range p.Ends {
		states = append(states, e.State)
		terminal[e.State] = e.Terminal
	}
	var none R
	records := map[string]R{"": none}
	for _, s := range states {
		r, err := p.decoded(p.row(caseID, s, ""))
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		records[s] = r
	}
	for _, o := range slices.Sorted(maps.Keys(p.Moves)) {
		p.described(t, o)
		if p.creates(o) {
			continue
		}
		leads := p.table(o)
		var from []string
		for _, s := range states {
			if leads[s] != nil && !slices.Contains(leads[s], "(recorded)") {
				from = append(from, s)
			}
		}
		possible := strings.Join(from, ", ")
		i := slices.IndexFunc(p.Cases, func(c Case) bool { return c.Do == o })
		call := Case{}
		if i >= 0 {
			call = p.Cases[i]
		}
		made := call.call(call.With)
		for _, s := range append(states, "") {
			r := records[s]
			can := p.Can(r, cmp.Or(p.Stored[o], o))
			_, err := p.Pure(&r, o, made)
			code := fsm.ErrWrongState
			if terminal[s] {
				code = fsm.ErrTerminal
			}
			outside := func(err error) bool { return errors.Is(err, fsm.ErrWrongState) || errors.Is(err, fsm.ErrTerminal) }
			refuses := func(err error) bool {
				refusal, ok := err.(*fsm.Refusal)
				return ok && refusal.Code == code && refusal.Allowed == possible && refusal.Machine == p.Descriptor.Schema.Machine && refusal.Operation == o && refusal.State == s
			}
			switch allowed := leads[s] != nil; {
			case allowed && can != nil:
				t.Errorf("%s in %s: Can says %v%s", o, s, can, p.where("operations", o))
			case allowed && outside(err):
				t.Errorf("%s in %s: %v%s", o, s, err, p.where("operations", o))
			case !allowed && !refuses(can):
				t.Errorf("%s in %s: Can says %v, want %s", o, s, can, fmt.Sprintf("refused %s (%s)", string(code), possible))
			case !allowed && !refuses(err):
				t.Errorf("%s in %s: %v, want %s", o, s, err, fmt.Sprintf("refused %s (%s)", string(code), possible))
			case !allowed && !p.Equal(r, records[s]):
				t.Errorf("%s in %s was refused, and changed the record", o, s)
			}
		}
	}
}

// creates reports whether an operation makes records.
func (p *Package[R]) creates(operation string) bool {
	return strings.HasPrefix(p.Moves[operation], "(new) -> ")
}

// table lists where an operation leads, by the state that it leads out of.
func (p *Package[R]) table(operation string) map[string][]string {
	table := map[string][]string{}
	for _, move := range list(p.Moves[operation]) {
		from, to, _ := strings.Cut(move, " -> ")
		table[from] = append(table[from], to)
	}
	return table
}

// onlyRecords reports whether a call in the state changes nothing.
func (p *Package[R]) onlyRecords(operation, state string) bool {
	return slices.Contains(p.table(operation)[state], "(recorded)")
}

// described compares what the package says of an operation to the engine, and to audits.
func (p *Package[R]) described(t *report, operation string) {
	i := slices.IndexFunc(p.Descriptor.Operations, func(o *fsmimpl.Operation[R]) bool { return o.Name == operation })
	if i < 0 {
		t.Errorf("the engine knows no operation %s", operation)
		return
	}
	o := p.Descriptor.Operations[i]
	word := func(state string) string {
		if state == "(new)" {
			return ""
		}
		return p.state(state)
	}
	var moves []fsmimpl.Move
	var recorded []string
	for _, move := range list(p.Moves[operation]) {
		from, to, _ := strings.Cut(move, " -> ")
		switch to {
		case "(nothing)":
		case "(recorded)":
			recorded = append(recorded, word(from))
		default:
			moves = append(moves, fsmimpl.Move{From: word(from), To: word(to)})
		}
	}
	for _, m := range moves {
		if !slices.Contains(o.Moves, m) {
			t.Errorf("the engine does not know that %s leads from %q to %q", operation, m.From, m.To)
		}
	}
	if len(o.Moves) != len(moves) {
		t.Errorf("the engine knows the moves %v of %s, want %v", o.Moves, operation, moves)
	}
	for _, state := range recorded {
		if !slices.Contains(o.Recorded, state) {
			t.Errorf("the engine does not know that %s is recorded only in %q", operation, state)
		}
	}
	if stored := cmp.Or(p.Stored[operation], operation); o.Stored != stored {
		t.Errorf("the log has %q for %s, want %q", o.Stored, operation, stored)
	}
}

// decoded makes a record of a row.
func (p *Package[R]) decoded(row driver.Row) (R, error) {
	for i, c := range p.Descriptor.Schema.Columns {
		if row.Values[i] == nil && !c.Optional {
			row.Values = slices.Clone(row.Values)
			row.Values[i] = anyValue(c)
		}
	}
	return p.Descriptor.Decode(row)
}

// anyValue is some value of a column that nothing has set.
func anyValue(c driver.Column) any {
	switch c.Kind {
	case driver.KindEnum:
		return c.Words[0]
	case driver.KindTime:
		return casesNow
	case driver.KindJSON:
		return "{}"
	}
	return "a"
}

// pure makes the calls of the cases by the pure methods.
func (p *Package[R]) pure(test *testing.T) {
	t := &report{T: test}
	defer t.done()
	for i := range p.Cases {
		c := &p.Cases[i]
		if c.Do == "" || c.By == BySweep || c.By == ByStartup || c.storesOnly() || !p.creates(c.Do) && c.In == "" {
			continue
		}
		var r R
		before := driver.Row{ID: caseID}
		if c.In != "" {
			before = p.row(caseID, c.In, c.Given)
			var err error
			if r, err = p.Descriptor.Decode(before); err != nil {
				t.Fatalf("case %d: %s: Decode: %v", i, c, err)
			}
			if d := p.differ(before, p.Descriptor.Encode(&r)); d != "" {
				t.Errorf("case %d: %s: written again: %s", i, c, d)
			}
		}
		was := r
		call := c.call(c.With)
		event, err := p.Pure(&r, c.Do, call)
		got := p.told(event, err)
		if got != c.Want {
			t.Errorf("case %d: %s:\n\t%s\nwant\t%s%s", i, c, got, c.Want, p.see(c, got))
			continue
		}
		if err != nil {
			if d := p.aside(err, c.Do, c.In); d != "" {
				t.Errorf("case %d: %s: %s: %s%s", i, c, got, d, p.see(c, got))
			}
			if !p.Equal(r, was) {
				t.Errorf("case %d: %s: was refused, and changed the record to %+v", i, c, r)
			}
			continue
		}
		want := p.rows(before, call.At, c.steps()[:1])[0]
		after := p.Descriptor.Encode(&r)
		if d := p.differ(want, after); d != "" {
			t.Errorf("case %d: %s: %s: %s%s", i, c, got, d, p.see(c, got))
		}
		if same := c.In != "" && p.differ(before, after) == ""; p.Equal(r, was) != same || !p.Equal(r, r) {
			t.Errorf("case %d: %s: Equal says that before and after are the same: %t", i, c, !same)
		}
	}
}

// limits makes calls with ids and actors that no call can have.
func (p *Package[R]) limits(test *testing.T) {
	t := &report{T: test}
	defer t.done()
	long := strings.Repeat("a", driver.MaxID+1)
	seen := map[string]bool{}
	for i := range p.Cases {
		c := &p.Cases[i]
		try := func(what string, change func(*Call)) {
			if seen[c.Do+what] {
				return
			}
			seen[c.Do+what] = true
			var r R
			if c.In != "" {
				r, _ = p.Descriptor.Decode(p.row(caseID, c.In, c.Given))
			}
			call := c.call(c.With)
			change(&call)
			if _, err := p.Pure(&r, c.Do, call); refused(err) != "refused invalid_input "+what || p.aside(err, c.Do, c.In) != "" {
				t.Errorf("%s with an %s of %d bytes: %v %s", c, what, driver.MaxID+1, err, p.aside(err, c.Do, c.In))
			}
		}
		if p.creates(c.Do) && len(c.steps()) > 0 {
			try("id", func(c *Call) { c.ID = long })
		}
		if c.Want == "refused "+string(fsm.ErrActorMissing) {
			try("actor", func(c *Call) { c.Actor = long })
		}
	}
}

// storesOnly reports whether the answer follows from what a store has besides.
func (c *Case) storesOnly() bool {
	return c.Want == "existing" || strings.HasPrefix(c.Want, "refused "+string(fsm.ErrNotUnique)) || strings.HasPrefix(c.Want, "refused "+string(fsm.ErrExists))
}

// told tells what came of a pure call in one line.
func (p *Package[R]) told(event any, err error) string {
	if err != nil {
		return refused(err)
	}
	v := reflect.ValueOf(event)
	from, to := "(new)", fmt.Sprint(v.FieldByName("To").Interface())
	if f := v.FieldByName("From"); !f.IsZero() {
		from = fmt.Sprint(f.Interface())
	}
	if v.FieldByName("RecordOnly").Bool() {
		if to != from {
			return fmt.Sprintf("recorded only, and moved from %s to %s", from, to)
		}
		to = "(recorded)"
	}
	if guard := v.FieldByName("Guard").String(); guard != "" {
		to += " for " + guard
	}
	return v.FieldByName("Name").String() + ": " + from + " -> " + to
}

// checks looks at records that break rules, and at some that do not.
func (p *Package[R]) checks(test *testing.T) {
	t := &report{T: test}
	defer t.done()
	first := map[string]driver.Row{}
	for _, c := range p.Checks {
		row, there := first[c.In]
		if !there {
			row = p.row(caseID, c.In, c.Given)
			first[c.In] = row
		}
		p.put(&row, c.But)
		r, err := p.Descriptor.Decode(row)
		if err != nil {
			t.Errorf("in %s, but %s: Decode: %v", c.In, c.But, err)
			continue
		}
		for name, found := range map[string][]fsm.Violation{"Check": p.Check(r), "Descriptor.Check": p.Descriptor.Check(&r)} {
			if got := broken(found, c.Broken); got != c.Broken {
				t.Errorf("in %s, but %s: %s says %q, want %q%s", c.In, c.But, name, got, c.Broken, p.where("states", c.In))
			}
		}
	}
	var none R
	if got := broken(p.Check(none), "state"); got != "state" {
		t.Errorf("a record in no state breaks %q, want state", got)
	}
}

// broken writes the rules that were found broken. What the type of a field asks for is
// its name alone where the case has it so.
func broken(found []fsm.Violation, want string) string {
	var rules []string
	for _, v := range found {
		rule := v.Rule
		if !v.Must {
			rule = "should: " + rule
		}
		if name, _, _ := strings.Cut(rule, " "); !slices.Contains(strings.Split(want, "; "), rule) && slices.Contains(strings.Split(want, "; "), name) {
			rule = name
		}
		rules = append(rules, rule)
	}
	slices.Sort(rules)
	return strings.Join(rules, "; ")
}

// groups looks at what the projection makes of groups of records.
func (p *Package[R]) groups(test *testing.T) {
	t := &report{T: test}
	defer t.done()
	for i, g := range p.Groups {
		var records []R
		counts := map[string]int64{}
		for j, text := range g.Records {
			state, given, _ := strings.Cut(text, " ")
			row := p.row(fmt.Sprint("r-", j), state, given)
			r, err := p.decoded(row)
			if err != nil {
				t.Fatalf("group %d: %s: %v", i, text, err)
			}
			records = append(records, r)
			counts[row.State]++
		}
		got := p.Project(records)
		if got.State != g.State {
			t.Errorf("group %d: %q is projected to %q, want %q", i, g.Records, got.State, g.State)
		}
		if audited := p.Descriptor.Projection.State(counts); audited != g.State {
			t.Errorf("group %d: the audit takes %q for %q, want %q", i, g.Records, audited, g.State)
		}
		for name, v := range object(g.Fields) {
			is, there := got.Fields[name]
			if !there {
				is = got.Key[name]
			}
			if want := v.plain(); want != normal(is) {
				t.Errorf("group %d: %q has %s %s, want %s", i, g.Records, name, show(is), show(want))
			}
		}
	}
	if p.Derived.Entity == "" {
		return
	}
	d := p.Descriptor.Projection
	if key := strings.Join(d.Key, ", "); d.Entity != p.Derived.Entity || key != p.Derived.Key {
		t.Errorf("the audit knows %s by %s, want %s by %s", d.Entity, key, p.Derived.Entity, p.Derived.Key)
	}
	moves := list(p.Derived.Moves)
	var known []string
	for _, m := range d.Moves {
		known = append(known, m.From+" -> "+m.To)
	}
	if len(moves) > 0 || len(known) > 0 {
		slices.Sort(known)
		if want := slices.Sorted(slices.Values(moves)); !slices.Equal(known, want) {
			t.Errorf("the audit allows the moves %q, want %q", known, want)
		}
	}
	for _, from := range list(p.Derived.States) {
		for _, to := range list(p.Derived.States) {
			if p.Leads == nil {
				continue
			}
			if want := slices.Contains(moves, fmt.Sprint(from, " -> ", to)); p.Leads(from, to) != want {
				t.Errorf("%s may lead to %s: %t, want %t", from, to, !want, want)
			}
		}
	}
}

// plain reads a value as a projection has it.
func (r raw) plain() any {
	switch {
	case r == "null":
		return nil
	case strings.HasPrefix(string(r), `"@`) && !strings.HasPrefix(string(r), `"@@`):
		return r.time()
	case r == "true" || r == "false":
		return r == "true"
	case strings.HasPrefix(string(r), `"`):
		s, _ := textOf(r)
		return s
	}
	var n int64
	r.into(&n)
	return n
}
