package spec

import "slices"

// checkGroupValues reports creations that tell a group by what is not known when its records are
// counted: the time of the call, or what a branch decides (FSM021).
func (r *resolver) checkGroupValues() {
	for i, o := range r.m.Operations {
		if len(o.Creates) == 0 {
			continue
		}
		for _, f := range r.m.told(o) {
			for _, a := range o.Effects.Set {
				if a.Field == f && a.Value.ReadsNow() {
					r.at(codeTogether, word{pos: a.Value.Pos, text: a.Value.Text, size: len([]rune(a.Value.Text))}, "set it to an input",
						"field %s tells a group of records, which is counted before %s has its time", f.Name, o.Name)
				}
			}
			for k, b := range o.Choose {
				for _, a := range b.Effects.Set {
					if a.Field == f {
						r.at(codeTogether, r.ast.operations[i].choose[k].setOf(f.Name), "set it under `set` of the operation",
							"field %s tells a group of records, which is counted before a branch of %s is taken", f.Name, o.Name)
					}
				}
			}
		}
	}
}

// told lists the fields by which a creation tells a group of records: for a guard that counts, a
// sequence or `dedupe_by`.
func (m *Machine) told(o *Operation) []*Field {
	var list []*Field
	for _, q := range o.Require {
		for _, f := range q.Of {
			if f.Right.Field != nil {
				list = append(list, f.Right.Field)
			}
		}
	}
	for _, f := range m.Fields {
		if f.Type.Kind == KindSequence {
			list = append(list, f.Per...)
		}
	}
	if o.DedupeBy != nil {
		for _, ref := range o.DedupeBy.Fields {
			list = append(list, ref.Field)
		}
	}
	var once []*Field
	for _, f := range list {
		if !slices.Contains(once, f) {
			once = append(once, f)
		}
	}
	return once
}

// setOf is where the branch sets a field.
func (b *astBranch) setOf(field string) word {
	for _, s := range b.effects.set {
		if s.field.text == field {
			return s.field
		}
	}
	return word{pos: b.pos, size: 1}
}
