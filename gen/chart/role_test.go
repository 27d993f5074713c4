package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/spec"
)

// Colours come from what the machine says. A name says nothing, however it
// sounds.
func TestRoles(t *testing.T) {
	t.Parallel()
	const src = `fsm: 1
machine: parcel
entity: Parcel
otherwise: reject
fields: {due: {type: time, changed_by: [make]}}
states:
  failed: {}
  on_the_way: {}
  dropped_off: {terminal: true}
  error_free: {final: true}
  dead: {kind: success}
  fine: {terminal: true, kind: trouble}
operations:
  make: {creates: failed, set: {due: input}}
  send: {from: failed, to: on_the_way}
  drop: {from: on_the_way, to: dropped_off}
  late: {from: on_the_way, to: dead, by: system, trigger: [after due]}
  bury: {from: dead, to: fine, by: system, trigger: [after due]}
  remind: {from: failed, to: same, by: system, trigger: [after due]}
  bless: {from: [on_the_way, dead], to: error_free}
  lose: {from: on_the_way, to: fine}
`
	m, found := spec.Parse("parcel.yaml", []byte(src))
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, n := range Of(m).Nodes {
		if n.Kind == State {
			got[n.Name] = n.Role.String()
			if n.Timed {
				got[n.Name] += ", timed"
			}
		}
	}
	want := map[string]string{
		"failed": "initial", "on_the_way": "normal, timed", "dropped_off": "terminal", "error_free": "final", "dead": "success, timed", "fine": "trouble",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
	bare := strings.NewReplacer("kind: success", "", ", kind: trouble", "").Replace(src)
	if plain, _ := spec.Parse("parcel.yaml", []byte(bare)); plain.Hash != m.Hash || bare == src {
		t.Error("the hash of the meaning depends on `kind`")
	}
}
