package storetest

import (
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// longest is the longest length that the language has, in microseconds.
const longest = int64(876000 * time.Hour / time.Microsecond)

// deadlines makes rows with a time and a length, which lie at the bounds or are absent.
func (b *bench) deadlines() {
	b.Helper()
	for _, x := range []struct {
		id     string
		after  time.Duration
		micros int64 // below zero: absent
	}{
		{"a", time.Hour, int64(30 * time.Minute / time.Microsecond)},
		{"b", 2 * time.Hour, 0},
		{"c", time.Hour, int64(time.Hour/time.Microsecond) + 1},
		{"d", time.Hour, -1},
		{"f", 30 * time.Minute, int64(90 * time.Minute / time.Microsecond)},
		{"g", time.Hour, longest},
	} {
		p := parcel(x.id, "x")
		if x.micros >= 0 {
			p.Weight = fsm.Some(x.micros)
		}
		b.makeHeld(p, "ann", instant.Add(x.after))
	}
	p := parcel("e", "x")
	p.Weight = fsm.Some(int64(5))
	b.make(p)
}

// laterCases list queries over deadlines, which ask for due and weight together, and what they find.
func laterCases() []struct {
	name string
	q    driver.Query
	want string
} {
	at, last := instant.Add(2*time.Hour), driver.Later(instant.Add(time.Hour), longest)
	where := func(op driver.Op, value any) []driver.Cond {
		return []driver.Cond{{Column: "due", By: "weight", Op: op, Value: value}}
	}
	up, down := []driver.Order{{Column: "due", By: "weight"}}, []driver.Order{{Column: "due", By: "weight", Descending: true}}
	held := []string{"held"}
	return []struct {
		name string
		q    driver.Query
		want string
	}{
		{"at most", driver.Query{Where: where(driver.OpLe, at)}, "a b f"},
		{"less", driver.Query{Where: where(driver.OpLt, at)}, "a"},
		{"equal", driver.Query{Where: where(driver.OpEq, at)}, "b f"},
		{"not equal passes over absent", driver.Query{Where: where(driver.OpNe, at)}, "a c g"},
		{"greater", driver.Query{Where: where(driver.OpGt, at)}, "c g"},
		{"at least", driver.Query{Where: where(driver.OpGe, at)}, "b c f g"},
		{"the last", driver.Query{Where: where(driver.OpGe, last)}, "g"},
		{"behind the last", driver.Query{Where: where(driver.OpGt, last)}, ""},
		{"present", driver.Query{Where: where(driver.OpPresent, nil)}, "a b c f g"},
		{"either is absent", driver.Query{Where: where(driver.OpAbsent, nil)}, "d e"},
		{"compared with what is absent", driver.Query{Where: where(driver.OpNe, nil)}, ""},
		{"what all records have", driver.Query{Where: []driver.Cond{{Column: "created_at", By: "weight", Op: driver.OpLe, Value: instant.Add(time.Hour)}}}, "a b e"},
		{"of states, with a limit", driver.Query{States: held, Where: where(driver.OpLe, at), Limit: 2}, "a b"},
		{"beside the column alone", driver.Query{
			Where: append(where(driver.OpGe, at), driver.Cond{Column: "due", Op: driver.OpLt, Value: at}),
		}, "c f g"},
		{"order, absent last", driver.Query{Order: up}, "a b f c g d e"},
		{"descending, absent last", driver.Query{Order: down}, "g c b f a d e"},
		{"order and limit", driver.Query{States: held, Where: where(driver.OpLe, at), Order: up, Limit: 2}, "a b"},
		{"behind a tie", driver.Query{Order: up, After: "b", Behind: []any{at}}, "f c g d e"},
		{"behind, descending", driver.Query{Order: down, After: "b", Behind: []any{at}}, "f a d e"},
		{"behind an absent value", driver.Query{Order: up, After: "d", Behind: []any{nil}}, "e"},
		{"behind, of what is due", driver.Query{States: held, Where: where(driver.OpLe, at), Order: up, After: "a", Behind: []any{instant.Add(90 * time.Minute)}}, "b f"},
		{"in another order", driver.Query{Where: where(driver.OpLe, at), Order: []driver.Order{{Column: "due"}}}, "f a b"},
	}
}

// A length is added to a time before the two are compared.
var laterTests = []test{
	{"a time and a length", func(b *bench) {
		b.deadlines()
		for _, c := range laterCases() {
			if got := strings.Join(b.ids(c.q), " "); got != c.want {
				b.Errorf("%s: got %q, want %q", c.name, got, c.want)
			}
			b.view(func(r driver.Reader) error {
				if len(c.q.Behind) > 0 || c.q.Limit > 0 {
					return nil
				}
				got, err := r.Count(c.q)
				if want := len(strings.Fields(c.want)); got != int64(want) {
					b.Errorf("%s: counted %d, want %d", c.name, got, want)
				}
				return err
			})
		}
	}},
	{"a time and a length of another kind", func(b *bench) {
		b.deadlines()
		for _, k := range []driver.Order{{Column: "weight", By: "weight"}, {Column: "due", By: "lane"}, {Column: "due", By: "created_at"}, {Column: "due", By: "nothing"}} {
			b.view(func(r driver.Reader) error {
				for _, q := range []driver.Query{
					{Order: []driver.Order{k}}, {Where: []driver.Cond{{Column: k.Column, By: k.By, Op: driver.OpPresent}}},
				} {
					var refused error
					for _, err := range r.Rows(q) {
						refused = err
						break
					}
					if refused == nil {
						b.Errorf("%q was added to %q", k.By, k.Column)
					}
				}
				return nil
			})
		}
	}},
	{"the sweeper adds a field", func(b *bench) {
		d := b.open()
		descriptor := Descriptor(b.schema)
		for i, op := range descriptor.Operations {
			if op.Name == "release" {
				other := *op
				other.Triggers = []fsmimpl.Trigger{{After: "due", By: "weight"}}
				descriptor.Operations[i] = &other
			}
		}
		m := d.machine(descriptor)
		d.hold("p1", "a") // until an hour from instant
		in := RegisterInput{ID: "p2", Lane: "b", Weight: fsm.Some(int64(time.Minute / time.Microsecond))}
		d.must(d.Apply(d.ctx, d.must(d.Create(d.ctx, Register(Meta{}, in))), Hold(Meta{Actor: "ann"}, "b", instant.Add(time.Hour))))
		d.tick(time.Hour + time.Minute - time.Microsecond)
		if n := d.swept(m); n != 0 {
			d.Errorf("swept %d before the deadline", n)
		}
		d.tick(time.Microsecond)
		if n := d.swept(m); n != 1 {
			d.Errorf("swept %d, want 1: without a length no deadline comes", n)
		}
		d.tick(time.Duration(longest) * time.Microsecond)
		if n := d.swept(m); n != 0 {
			d.Errorf("swept %d without a length", n)
		}
	}},
}
