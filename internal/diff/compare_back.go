package diff

import "github.com/fsmgen/fsmgen/spec"

// goesBack reports a counter or a set that something can take from for the first time:
// code and old triggers may rely on it only growing.
func (c *comparison) goesBack(where at, o, n *spec.Field) {
	if o.Type.Kind != n.Type.Kind || c.old.Lowers(o) || !c.next.Lowers(n) {
		return
	}
	what := "counter %s can fall"
	if n.Type.Kind == spec.KindSet {
		what = "set %s can lose members"
	}
	c.report("FSM705", where, "look for code that relies on it only growing", what, n.Name)
}
