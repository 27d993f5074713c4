package fuzzmachines_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// motifs are what machines of real systems have, and random ones did not: the tests that
// are generated for each are green.
var motifs = map[string]func(m *spec.Machine) bool{
	"a branch without `when`, for some states, above others": func(m *spec.Machine) bool {
		return anyOperation(m, func(o *spec.Operation) bool {
			i := slices.IndexFunc(o.Choose, func(b *spec.Branch) bool { return len(b.When) == 0 && b.From != nil })
			return i >= 0 && i < len(o.Choose)-1
		})
	},
	"a creation with branches": func(m *spec.Machine) bool {
		return anyOperation(m, func(o *spec.Operation) bool { return len(o.Creates) > 0 && len(o.Choose) > 0 })
	},
	"a creation that reads the record": func(m *spec.Machine) bool {
		return anyOperation(m, func(o *spec.Operation) bool {
			return len(o.Creates) > 0 && anyFact(o, func(f *spec.Fact) bool { return f.Left.Field != nil || f.Right.Field != nil })
		})
	},
	"several `unique`": func(m *spec.Machine) bool { return len(m.Unique) > 1 },
	"an effect's key of several fields": func(m *spec.Machine) bool {
		return anyOperation(m, func(o *spec.Operation) bool { return len(o.Asks) == 1 && len(o.Asks[0].Key) > 1 })
	},
	"an effect's key of an optional field": func(m *spec.Machine) bool {
		return anyKey(m, func(f *spec.Field) bool { return f.Type.Optional })
	},
	"an effect's key with the id": func(m *spec.Machine) bool { return anyKey(m, func(f *spec.Field) bool { return f == m.ID }) },
	"an actor who is none of two recorded people": func(m *spec.Machine) bool {
		return slices.ContainsFunc(m.States, func(s *spec.State) bool {
			return len(slices.DeleteFunc(slices.Clone(s.Invariant), func(f *spec.Fact) bool {
				return f.Op != spec.Ne || f.Left.Field == nil || f.Right.Field == nil
			})) > 1
		})
	},
	"a set in a guard": func(m *spec.Machine) bool {
		return anyOperation(m, func(o *spec.Operation) bool {
			return anyFact(o, func(f *spec.Fact) bool { return f.Op == spec.In || f.Op == spec.NotIn || f.Op == spec.Covers })
		})
	},
	"an offset of a trigger": func(m *spec.Machine) bool {
		return anyOperation(m, func(o *spec.Operation) bool {
			return slices.ContainsFunc(o.Triggers, func(t spec.Trigger) bool { return t.Plus > 0 })
		})
	},
	"an offset that a call names, up to a length": func(m *spec.Machine) bool {
		return slices.ContainsFunc(m.States, func(s *spec.State) bool {
			return slices.ContainsFunc(s.Invariant, func(f *spec.Fact) bool {
				return f.Op == spec.Lt && f.Left.Field != nil && f.Left.Field.Type.Kind == spec.KindInt && f.Right.Field != nil
			})
		})
	},
	"a number without bounds beside a counter": func(m *spec.Machine) bool {
		return anyOperation(m, func(o *spec.Operation) bool {
			return anyFact(o, func(f *spec.Fact) bool {
				l, r := f.Left.Field, f.Right.Field
				return l != nil && r != nil && l.Type.Kind == spec.KindCounter && r.Type.Kind == spec.KindInt && r.Type.Min == nil
			})
		})
	},
	"a large bound of `fewer`": func(m *spec.Machine) bool {
		return slices.ContainsFunc(m.Guards, func(g *spec.Guard) bool { return g.Peers != nil && g.Peers.Than >= 1000 })
	},
	"a group of another value than the record's own": func(m *spec.Machine) bool {
		return anyOperation(m, func(o *spec.Operation) bool {
			return slices.ContainsFunc(o.Require, func(q *spec.Requirement) bool { return q.Guard.Peers != nil && !q.Guard.Peers.Own() })
		})
	},
	"somebody who must stay": func(m *spec.Machine) bool {
		return anyOperation(m, func(o *spec.Operation) bool {
			return slices.ContainsFunc(o.Require, func(q *spec.Requirement) bool { return q.Guard.Peers != nil && q.Guard.Peers.Some })
		})
	},
	"a limit that the record or the call tells": func(m *spec.Machine) bool {
		return anyOperation(m, func(o *spec.Operation) bool {
			return slices.ContainsFunc(o.Require, func(q *spec.Requirement) bool { return q.Limit != nil })
		})
	},
	"an invariant that the types say": func(m *spec.Machine) bool {
		return slices.ContainsFunc(m.Invariant, func(f *spec.Fact) bool {
			l := f.Left.Field
			return l != nil && f.Right.Kind == spec.TermInt && f.Right.Int <= 0 &&
				(l.Type.Kind == spec.KindCounter || l.Type.Min != nil && *l.Type.Min >= 0)
		})
	},
	"a trigger on a caller's operation": func(m *spec.Machine) bool {
		return anyOperation(m, func(o *spec.Operation) bool { return len(o.Triggers) > 0 && o.By == spec.ByCaller })
	},
	"a pick that parks by time": func(m *spec.Machine) bool {
		return anyPick(m, func(g *spec.Guard) bool {
			return slices.ContainsFunc(g.When, func(f *spec.Fact) bool { return f.Left.Field != nil && f.Right.Kind == spec.TermNow })
		})
	},
	"a pick that parks by other records": func(m *spec.Machine) bool {
		return anyPick(m, func(g *spec.Guard) bool { return g.Peers != nil })
	},
	"a creation of the system": func(m *spec.Machine) bool {
		return anyOperation(m, func(o *spec.Operation) bool { return len(o.Creates) > 0 && o.By == spec.BySystem })
	},
	"a fact about a record's number": func(m *spec.Machine) bool {
		return slices.ContainsFunc(m.States, func(s *spec.State) bool {
			return slices.ContainsFunc(s.Invariant, func(f *spec.Fact) bool {
				return f.Right.Field != nil && f.Right.Field.Type.Kind == spec.KindSequence
			})
		})
	},
	"one of several facts in a guard, a branch and an invariant": func(m *spec.Machine) bool {
		is := func(f *spec.Fact) bool { return f.Op == spec.AnyOf }
		return slices.ContainsFunc(m.Invariant, is) && anyOperation(m, func(o *spec.Operation) bool { return anyFact(o, is) }) &&
			anyOperation(m, func(o *spec.Operation) bool {
				return slices.ContainsFunc(o.Choose, func(b *spec.Branch) bool { return slices.ContainsFunc(b.When, is) })
			})
	},
	"a sum in a value, where a guard adds too": func(m *spec.Machine) bool {
		return anyValue(m, spec.ValueSum) && anyOperation(m, func(o *spec.Operation) bool {
			return anyFact(o, func(f *spec.Fact) bool { return f.Left.Kind == spec.TermSum })
		})
	},
	"a sum in an invariant": func(m *spec.Machine) bool {
		return slices.ContainsFunc(m.Invariant, func(f *spec.Fact) bool { return f.Left.Kind == spec.TermSum })
	},
	"a length in a trigger": func(m *spec.Machine) bool {
		return anyOperation(m, func(o *spec.Operation) bool {
			return slices.ContainsFunc(o.Triggers, func(t spec.Trigger) bool { return t.By != nil })
		})
	},
	"a length that grows": func(m *spec.Machine) bool {
		return anyOperation(m, func(o *spec.Operation) bool {
			return slices.ContainsFunc(o.Effects.Set, func(a spec.Assign) bool {
				return slices.ContainsFunc(a.Value.Parts, func(p spec.Part) bool { return p.Term.Kind == spec.TermBackoff })
			})
		})
	},
	"an instant in a guard, and a length that is set": func(m *spec.Machine) bool {
		return anyValue(m, spec.ValueSum) && anyOperation(m, func(o *spec.Operation) bool {
			return anyFact(o, func(f *spec.Fact) bool {
				return f.Right.Kind == spec.TermSum && spec.SumKind(f.Right.Parts) == spec.KindTime
			})
		})
	},
	"an input or the default": func(m *spec.Machine) bool { return anyValue(m, spec.ValueInputOrDefault) },
	"an input or a refusal":   func(m *spec.Machine) bool { return anyValue(m, spec.ValueInputOrReject) },
	"each": func(m *spec.Machine) bool {
		return anyOperation(m, func(o *spec.Operation) bool { return o.Each != nil })
	},
	"a `default`": func(m *spec.Machine) bool {
		return slices.ContainsFunc(m.Fields, func(f *spec.Field) bool { return f.Default != nil })
	},
}

func anyOperation(m *spec.Machine, is func(*spec.Operation) bool) bool {
	return slices.ContainsFunc(m.Operations, is)
}

func anyValue(m *spec.Machine, kind spec.ValueKind) bool {
	return anyOperation(m, func(o *spec.Operation) bool {
		list := o.Effects.Assigned()
		for _, b := range o.Choose {
			list = append(list, b.Effects.Assigned()...)
		}
		return slices.ContainsFunc(list, func(a spec.Assign) bool { return a.Value.Kind == kind })
	})
}

func anyKey(m *spec.Machine, is func(*spec.Field) bool) bool {
	return anyOperation(m, func(o *spec.Operation) bool {
		return len(o.Asks) == 1 && slices.ContainsFunc(o.Asks[0].Key, func(r spec.FieldRef) bool { return is(r.Field) })
	})
}

func anyPick(m *spec.Machine, by func(*spec.Guard) bool) bool {
	return anyOperation(m, func(o *spec.Operation) bool {
		return o.Next != nil && slices.ContainsFunc(o.Require, func(r *spec.Requirement) bool { return by(r.Guard) })
	})
}

func anyFact(o *spec.Operation, is func(*spec.Fact) bool) bool {
	return slices.ContainsFunc(o.Require, func(r *spec.Requirement) bool { return slices.ContainsFunc(r.When, is) }) ||
		slices.ContainsFunc(o.Choose, func(b *spec.Branch) bool { return slices.ContainsFunc(b.When, is) })
}

// TestMotifs demands that each motif is in some of the sound machines.
func TestMotifs(t *testing.T) {
	t.Parallel()
	const least = 3
	seen, sound := map[string]int{}, 0
	rare := func() (list []string) {
		for name := range motifs {
			if seen[name] < least {
				list = append(list, name)
			}
		}
		slices.Sort(list)
		return list
	}
	for s := uint64(1); s <= 400 && len(rare()) > 0; s++ {
		_, m := soundMachine(s)
		if m == nil {
			continue
		}
		sound++
		for name, is := range motifs {
			if is(m) {
				seen[name]++
			}
		}
	}
	if list := rare(); len(list) > 0 {
		t.Errorf("of %d sound machines fewer than %d have: %s", sound, least, strings.Join(list, "; "))
	}
	t.Logf("%d sound machines: %v", sound, seen)
}

// TestCreationsReadNothing: before a record is made its fields are absent, its counters 0 and
// its sets empty. A guard of a creation that can hold then is accepted, any other refused.
func TestCreationsReadNothing(t *testing.T) {
	t.Parallel()
	for fact, want := range map[string]bool{
		"note is absent": true, "note is present": false, "size is absent": true, "size == 2": false, "size < 2": false,
		"tries < 3": true, "tries >= 1": false, "tries == 0": true, "names is absent": true, "names is present": false,
		"owner == actor": false, "owner != actor": false, "actor in names": false, "actor not in names": true, "due <= now": false,
		"input.x in names": false, "input.x not in names": true, "input.x == owner": false, "created_at <= now": true,
	} {
		_, found := validate.Source("creation.yaml", []byte(`fsm: 1
machine: creation
entity: Thing
otherwise: reject
fields:
  note: optional string
  owner: optional string
  size: optional int
  due: optional time
  tries: {type: counter, changed_by: [finish]}
  names: {type: set, changed_by: [finish]}
states: {open: {}, done: {terminal: true}}
guards:
  first: {when: `+fact+`, error: not_first}
operations:
  make: {creates: open, input: {x: string}, require: [first], set: {note: input or absent, size: input or absent}}
  finish: {from: open, to: done, set: {owner: actor, due: input}, increment: [tries], add: {names: input.y}, input: {y: string}}
`))
		never := slices.ContainsFunc(found, func(d spec.Diagnostic) bool { return d.Code == "FSM204" })
		if never == want || found.HasErrors() == want {
			t.Errorf("%s: accepted %t, want %t:\n%v", fact, !found.HasErrors(), want, found)
		}
	}
}
