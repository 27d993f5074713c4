package diff

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// Beside returns why programs of the old version may not go on working on the
// tables once they are those of the new one, during a roll-out; none when they
// may. They may when nothing breaks anybody, events tell the two versions apart,
// and whatever an old program writes is whole without what it does not know.
// Records in a state that it does not know are quarantined for it.
func (r *Report) Beside() []string {
	if r.Old.Hash == r.New.Hash {
		return nil
	}
	var why []string
	if r.New.Version <= r.Old.Version {
		why = append(why, fmt.Sprintf("the version is still %d, so events cannot tell the two apart", r.New.Version))
	}
	for _, c := range r.Changes {
		if c.Breaking() {
			why = append(why, fmt.Sprintf("%s: %s [%s]", c.Class, c.Message, c.Code))
		}
	}
	for _, f := range r.New.Fields {
		if !f.Type.Optional && f.Default == nil &&
			!slices.ContainsFunc(r.Old.Fields, func(o *spec.Field) bool { return o.Stored() == f.Stored() }) {
			why = append(why, fmt.Sprintf("field %s is not optional and has no default: the rows that the old version makes have no value for it",
				f.Name))
		}
	}
	for _, o := range r.New.Operations {
		if o.MayAsk(false) && !slices.ContainsFunc(r.Old.Operations, func(p *spec.Operation) bool { return p.Stored() == o.Stored() }) {
			why = append(why, fmt.Sprintf("operation %s is new and leaves an effect to be delivered, which the old version would try and fail at", o.Name))
		}
	}
	return why
}
