package spec

import "slices"

// ofInput reports whether a value names an input.
func (k ValueKind) ofInput() bool { return ValueInput <= k && k <= ValueInputOrReject }

// input is how a value names its input.
func (v astValue) input() string {
	if v.named {
		return "input." + v.name
	}
	return "input"
}

// rejects refuses `or reject` of an operation itself, whose calls all need the input, and of the
// branches of a creation: what a store finds by `dedupe_by` it answers before a branch is taken
// (FSM021).
func (r *resolver) rejects(e *astEffects, own, creation bool) {
	for _, s := range slices.Concat(e.set, e.add, e.remove) {
		switch v := s.value; {
		case v.kind != ValueInputOrReject:
		case own:
			r.at(codeTogether, v.text, "write `"+v.input()+"`, which each call must bring",
				"`or reject` is for branches: the operation itself always needs the input").fix(v.text, v.input())
		case creation:
			name := s.field.text
			if v.named {
				name = v.name
			}
			r.at(codeTogether, v.text, "declare the input "+name+" optional, write `input."+name+"`, and above it a branch that refuses: "+
				"`{when: input."+name+" is absent, reject: missing}`",
				"`or reject` is for branches of an operation on a record, and this is one of a creation")
		}
	}
}

// OrWays lists how a value of a field can name an input that may be left out.
func (f *Field) OrWays(input string, creation, branch bool) []string {
	var ways []string
	if f.Type.Optional {
		ways = append(ways, input+" or absent")
	}
	if f.Default != nil {
		ways = append(ways, input+" or default")
	}
	if !creation && f.Type.Kind != KindSet {
		ways = append(ways, input+" or same")
	}
	if branch && !creation {
		ways = append(ways, input+" or reject")
	}
	return ways
}

// orWays writes them for a hint, with other ways.
func orWays(f *Field, v astValue, creation, branch bool, others ...string) string {
	ways := append(others, f.OrWays(v.input(), creation, branch)...)
	for i, w := range ways {
		ways[i] = "`" + w + "`"
	}
	if len(ways) == 0 {
		return "make the input required"
	}
	return "write " + alternatives(ways)
}

// Rejects lists the inputs without which the branch refuses the call, each once, in the
// order of its effects.
func (b *Branch) Rejects() []*Input {
	var list []*Input
	for _, a := range b.Effects.Assigned() {
		if a.Value.Kind == ValueInputOrReject && !slices.Contains(list, a.Value.Input) {
			list = append(list, a.Value.Input)
		}
	}
	return list
}

// Bare lists the values that name an optional input and say nothing of a call without it.
func (e *Effects) Bare() []Assign {
	return slices.DeleteFunc(e.Assigned(), func(a Assign) bool {
		return a.Value.Kind != ValueInput || !a.Value.Input.Type.Optional
	})
}
