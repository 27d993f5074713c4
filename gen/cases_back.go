package gen

import (
	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// leaving lists what the operation takes out of the sets that are meant, alone and beside
// another member: a search that changes one thing at a time would not put it in.
func leaving(x tried, is func(spec.Term) bool) (sets []interp.Value) {
	if x.call.Op == nil {
		return nil
	}
	for _, e := range allEffects(x.call.Op) {
		for _, a := range e.Remove {
			var v interp.Value
			switch {
			case !is(spec.Term{Kind: spec.TermField, Field: a.Field}):
			case a.Value.Input != nil:
				v = x.call.Inputs[a.Value.Input.Name]
			case a.Value.Kind == spec.ValueActor:
				v = interp.String(x.call.Actor)
			case a.Value.Kind == spec.ValueText:
				v = interp.String(a.Value.Const)
			}
			if v.Kind == interp.KindString && v.Text != "" {
				v = interp.Set(v.Text)
			}
			if v.Kind == interp.KindSet {
				sets = append(sets, v, v.Union(interp.Set("z")))
			}
		}
	}
	return sets
}
