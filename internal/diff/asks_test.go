package diff_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/diff"
)

const asks = `
fsm: 1
machine: ticket
entity: Ticket
otherwise: reject
fields:
  urgent: {type: bool}
states:
  open: {}
  sending: {}
  solved: {terminal: true}
operations:
  ask: {creates: open, set: {urgent: input}}
  solve:
    from: open
    %s
    choose:
      - {when: urgent == true, to: sending%s}
      - {to: solved%s}
  sent: {by: system, from: sending, to: solved}
  over: {by: system, from: sending, to: solved}
`

// What asks for an effect, under which key and with which step behind it, are changes of their own.
func TestAsks(t *testing.T) {
	t.Parallel()
	text := func(parts ...string) string { return fmt.Sprintf(asks, parts[0], parts[1], parts[2]) }
	for name, c := range map[string]struct {
		old, next []string
		want      string
	}{
		"to one branch": {[]string{"effect: {name: mail, key: id}", "", ""}, []string{"", ", effect: {name: mail, key: id}", ""},
			"FSM710 effect mail is asked for by other steps of solve"},
		"to another branch": {[]string{"", ", effect: {name: mail}", ""}, []string{"", "", ", effect: {name: mail}"},
			"FSM710 effect mail is asked for by other steps of solve"},
		"one more in the list": {[]string{"effect: {name: mail}", "", ""}, []string{"effect: [{name: mail}, {name: ring}]", "", ""},
			"FSM710 solve has the effect ring"},
		"one key more of a branch": {[]string{"", ", effect: {name: mail, key: id}", ", effect: {name: mail, key: [id, urgent]}"},
			[]string{"", ", effect: [{name: mail, key: id}, {name: mail, key: [id, urgent]}]", ", effect: {name: mail, key: [id, urgent]}"},
			"FSM710 effect mail is asked for by other steps of solve"},
		"another key of the second branch": {[]string{"", ", effect: {name: mail, key: id}", ", effect: {name: mail, key: [id, urgent]}"},
			[]string{"", ", effect: {name: mail, key: id}", ", effect: {name: mail, key: id}"},
			"FSM712 the key of effect mail is id, it was id, urgent"},
		"keys that change places": {[]string{"", ", effect: {name: mail, key: id}", ", effect: {name: mail, key: [id, urgent]}"},
			[]string{"", ", effect: {name: mail, key: [id, urgent]}", ", effect: {name: mail, key: id}"},
			"FSM712 the key of effect mail is id, urgent, it was id"},
		"another order": {[]string{"effect: [{name: mail, atomic: true}, {name: ring, atomic: true}]", "", ""},
			[]string{"effect: [{name: ring, atomic: true}, {name: mail, atomic: true}]", "", ""},
			"FSM710 the effects of solve run in another order"},
		"a step behind it": {[]string{"", ", effect: {name: mail}", ""}, []string{"", ", effect: {name: mail, then: sent}", ""},
			"FSM712 effect mail is followed by sent, it was followed by nothing"},
		"another step behind it": {[]string{"", ", effect: {name: mail, then: sent}", ""}, []string{"", ", effect: {name: mail, then: over}", ""},
			"FSM710 effect mail is followed by over, it was followed by sent"},
		"it may give up": {[]string{"", ", effect: {name: mail}", ""}, []string{"", ", effect: {name: mail, failed: sent}", ""},
			"FSM712 when effect mail gives up, sent follows; it never gave up"},
		"it may give up, too": {[]string{"", ", effect: {name: mail, then: sent}", ""}, []string{"", ", effect: {name: mail, then: sent, failed: over}", ""},
			"FSM710 when effect mail gives up, over follows; it never gave up"},
		"a step for both ends": {[]string{"", ", effect: {name: mail}", ""}, []string{"", ", effect: {name: mail, then: sent, failed: over}", ""},
			"FSM710 when effect mail gives up, over follows; it never gave up; FSM712 effect mail is followed by sent, it was followed by nothing"},
		"it gives up otherwise": {[]string{"", ", effect: {name: mail, failed: sent}", ""}, []string{"", ", effect: {name: mail, failed: over}", ""},
			"FSM710 when effect mail gives up, over follows, it was sent"},
		"it gives up no more": {[]string{"", ", effect: {name: mail, failed: sent}", ""}, []string{"", ", effect: {name: mail}", ""},
			"FSM710 effect mail never gives up, it gave up with sent"},
		"other tries": {[]string{"", ", effect: {name: mail, attempts: 1, failed: sent}", ""}, []string{"", ", effect: {name: mail, attempts: 4, failed: sent}", ""},
			"FSM710 effect mail is tried 4 times, it was tried once"},
		"no limit": {[]string{"", ", effect: {name: mail, attempts: 4, failed: sent}", ""}, []string{"", ", effect: {name: mail, failed: sent}", ""},
			"FSM710 effect mail is tried until it succeeds or gives up itself, it was tried 4 times"},
		"another step behind a branch": {[]string{"", ", then: sent", ""}, []string{"", ", then: over", ""},
			"FSM710 other operations follow the branches of solve"},
		"the same": {[]string{"effect: [{name: mail}]", "", ""}, []string{"effect: {name: mail}", "", ""}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := diff.Machines(parse("old.yaml", text(c.old...)), parse("new.yaml", text(c.next...)))
			var got []string
			for _, x := range r.Changes {
				if strings.HasPrefix(x.Code, "FSM710") || strings.HasPrefix(x.Code, "FSM712") {
					got = append(got, x.Code+" "+x.Message)
				}
			}
			want := []string{}
			if c.want != "" {
				want = regexp.MustCompile("; FSM").Split(c.want, -1)
				for i := range want[1:] {
					want[i+1] = "FSM" + want[i+1]
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

const borders = `
fsm: 1
machine: a
entity: A
version: %s
otherwise: reject
states:
  new: {}
  b: {%s}
  c: {}
  end: {terminal: true}
state_groups:
%s
operations:
  make: {creates: new}
  one: {from: new, to: %s}
  two: {from: new, to: b}
  stop: {from: [b, c], to: end}
`

// What is asked for at a border is lost by the operations that no longer cross one with it.
func TestBorders(t *testing.T) {
	t.Parallel()
	const gone = "FSM712 one no longer has the effect bin"
	type parts [3]string
	group := func(states string) string { return "  g: {states: [" + states + "], enter: {name: bin}}" }
	two := func(first, second string) string {
		return "  " + first + ": {states: [b, c], enter: {name: m" + first + "}}\n  " + second + ": {states: [b, c], enter: {name: m" + second + "}}"
	}
	for name, c := range map[string]struct {
		old, next parts
		want      string
	}{
		"to another state": {parts{"enter: {name: bin}", "  g: [b]", "b"}, parts{"enter: {name: bin}", "  g: [b]", "c"}, gone},
		"a group moves away": {parts{"", group("b"), "c"}, parts{"", group("c"), "c"},
			"FSM712 two no longer has the effect bin; FSM710 group g has other states: other steps ask for its effects"},
		"to the state": {parts{"", group("b"), "b"}, parts{"enter: {name: bin}", "  g: [b]", "b"},
			"FSM710 entering b has the effect bin; FSM710 entering g no longer has the effect bin"},
		"groups change places": {parts{"", two("g", "h"), "b"}, parts{"", two("h", "g"), "b"},
			"FSM710 groups stand in another order, h, g: where a step crosses several, their effects run in that order"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := func(version string, p parts) string { return fmt.Sprintf(borders, version, p[0], p[1], p[2]) }
			r := diff.Machines(parse("old.yaml", text("1", c.old)), parse("new.yaml", text("2", c.next)))
			var got []string
			for _, x := range r.Changes {
				if strings.Contains(x.Message, "effect") {
					got = append(got, x.Code+" "+x.Message)
				}
			}
			want := strings.Split(c.want, "; ")
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
