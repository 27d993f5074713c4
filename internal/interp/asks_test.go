package interp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
)

const pods = `
fsm: 1
machine: pods
entity: Pods
otherwise: reject
requests: {request_id: none, expected_rev: none}
fields:
  failed: {type: counter, changed_by: [fail]}
states:
  active: {}
  failing: {}
  gone: {terminal: true}
operations:
  start: {creates: active, effect: {name: make_pod}}
  fail:
    from: active
    increment: [failed]
    effect: [{name: note, atomic: true}, {name: tell}]
    choose:
      - {when: failed > 2, to: failing, effect: {name: delete_pods, then: deleted}}
      - {when: failed == 2, to: same, effect: [{name: tell, key: [id, failed]}, {name: again, atomic: true}]}
      - {to: same}
  deleted: {by: system, from: failing, to: gone}
  stop:
    from: active
    choose:
      - {when: failed == 0, to: failing, then: deleted}
      - {to: gone}
`

// Each branch asks for what the operation asks for, then its own, in order.
func TestAsks(t *testing.T) {
	t.Parallel()
	s := tell(t, parse(t, pods))
	asked := func(out interp.Outcome) (list []string) {
		for _, e := range out.Events {
			for _, x := range e.Asks {
				list = append(list, fmt.Sprintf("%s %s", x.Name, interp.EffectKey(s.m, x, out.Record)))
			}
		}
		return list
	}
	is := func(out interp.Outcome, want ...string) {
		t.Helper()
		if got := asked(out); !slices.Equal(got, want) {
			t.Errorf("it asks for %q, want %q", got, want)
		}
	}
	is(s.does(s.call("start", nil)), "make_pod pods/a/1/make_pod")
	is(s.does(s.call("fail", nil)), "note pods/a/2/note", "tell pods/a/2/tell")
	is(s.does(s.call("fail", nil)), "note pods/a/3/note", "tell pods/a/3/tell", `tell "a"/2`, "again pods/a/3/again")
	is(s.does(s.call("fail", nil)), "note pods/a/4/note", "tell pods/a/4/tell", "delete_pods pods/a/4/delete_pods")
	var waits []string
	for _, d := range s.w.Outbox {
		waits = append(waits, fmt.Sprintf("%d.%d %s", d.Rev, d.N, d.Effect.Name))
	}
	if want := []string{"1.0 make_pod", "2.0 tell", "3.0 tell", "3.1 tell", "4.0 tell", "4.1 delete_pods"}; !slices.Equal(waits, want) {
		t.Errorf("%q wait, want %q", waits, want)
	}
	out, w, refusal := interp.Deliver(s.m, s.w, s.w.Outbox[5], at(9))
	if refusal != nil || len(out.Events) != 1 || out.Record.State.Name != "gone" || len(w.Outbox) != 5 {
		t.Errorf("delivered: %+v, %v, %v", out, w.Outbox, refusal)
	}
	if out, _, refusal := interp.Deliver(s.m, s.w, s.w.Outbox[3], at(9)); refusal != nil || len(out.Events) > 0 {
		t.Errorf("delivered: %+v, %v", out, refusal)
	}
}

// A branch has a step of its own behind it, in the same transaction.
func TestBranchThen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fails int
		want  string
	}{{0, "stop deleted"}, {1, "stop"}} {
		s := tell(t, parse(t, pods))
		s.does(s.call("start", nil))
		for range c.fails {
			s.does(s.call("fail", nil))
		}
		out := s.does(s.call("stop", nil))
		var did []string
		for _, e := range out.Events {
			did = append(did, e.Op.Name)
		}
		if got := fmt.Sprint(did); got != "["+c.want+"]" || out.Record.State.Name != "gone" {
			t.Errorf("after %d failures: %s, %s", c.fails, got, out.Record.State.Name)
		}
	}
}

// What only the delivery of an effect leads to is called by nobody.
func TestInternalAsks(t *testing.T) {
	t.Parallel()
	m := parse(t, pods)
	deleted := m.Operation("deleted")
	if interp.Internal(m, deleted) {
		t.Error("deleted follows stop at once, and yet nobody may call it")
	}
	alone := strings.Replace(pods, ", then: deleted}\n      - {to: gone}", "}\n      - {to: gone}", 1)
	m = parse(t, strings.Replace(alone, "failing: {}", "failing: {allow: {FSM111: the cluster answers}}", 1))
	if deleted = m.Operation("deleted"); !interp.Internal(m, deleted) {
		t.Error("deleted follows an effect alone, and yet everybody may call it")
	}
}
