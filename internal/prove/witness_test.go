package prove_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/internal/prove"
	"github.com/fsmgen/fsmgen/spec"
)

// Each way has a witness: guards that look at other records too, branches below
// others, a redundant invariant has none.
func TestWays(t *testing.T) {
	t.Parallel()
	m, found := spec.Parse("q.yaml", []byte(`
fsm: 1
machine: q
entity: Q
otherwise: reject
fields:
  asker: string
  first: optional string
  size: int 0..
invariant: [size >= -5]
states:
  asked: {absent: [first]}
  half: {present: [first], invariant: [first != asker]}
  done: {terminal: true}
guards:
  other: {when: asker != actor, error: own}
  alone: {none: {same: asker, in: [half]}, error: busy}
  same: {when: asker != actor, error: own_too}
operations:
  ask: {creates: asked, set: {asker: actor, size: 0}}
  approve:
    from: [asked, half]
    require: [other, alone, same]
    choose:
      - {from: asked, to: half, set: {first: actor}}
      - {when: first == actor, reject: twice}
      - {to: done}
`))
	if m == nil {
		t.Fatal(found)
	}
	asked := 0
	ways := prove.Ways(m, m.Operation("approve"), func(prove.Way) bool { asked++; return true })
	if len(ways) != 6 || asked != 5 {
		t.Fatalf("%d ways, %d witnesses", len(ways), asked)
	}
	for i, w := range ways {
		if never := i == 2; w.Never != never || (w.Witness == nil) != never {
			t.Errorf("way %d: never %t, witness %v", i+1, w.Never, w.Witness)
		}
	}
	if e := ways[5].Witness; e.From.Name != "half" || e.Actor == e.Before[m.Field("asker")].Text || e.Actor == e.Before[m.Field("first")].Text {
		t.Errorf("the last branch is taken by %+v", e)
	}
	half := m.State("half")
	if e, never := prove.Sound(m, half); e == nil || never || !e.Before[m.Field("first")].Present ||
		e.Before[m.Field("first")].Text == e.Before[m.Field("asker")].Text {
		t.Errorf("a sound record in half is %v", e)
	}
	// What does not hold after all is looked for in the next state, and is unknown in the end.
	for i, w := range prove.Ways(m, m.Operation("approve"), func(prove.Way) bool { return false }) {
		if w.Witness != nil || w.Never != (i == 2) {
			t.Errorf("way %d: %+v", i+1, w)
		}
	}
}
