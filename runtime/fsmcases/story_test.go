package fsmcases

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// telling notes what Retell would say to a test.
type telling struct {
	testing.TB
	failed []string
	logged []string
}

func (t *telling) Helper() {}
func (t *telling) Errorf(format string, args ...any) {
	t.failed = append(t.failed, fmt.Sprintf(format, args...))
}
func (t *telling) Logf(format string, args ...any) {
	t.logged = append(t.logged, fmt.Sprintf(format, args...))
}
func (t *telling) Fatalf(format string, args ...any) { t.Errorf(format, args...); panic(t) }

// door is the record of a package that is made up.
type door struct{}

func (door) Ref() fsm.Ref { return fsm.Ref{ID: "d", Rev: 1} }

// doorDriver opens a machine with two operations: open performs the effect
// ring, shut answers with the given error.
func doorDriver(shut error) Package[door] {
	return Package[door]{
		Migrate: func(context.Context, fsm.Store) error { return nil },
		Open: func(_ context.Context, _ fsm.Store, fx *Effects, _ ...fsm.Option) (*Durable[door], error) {
			return &Durable[door]{
				Startup: func(context.Context) (int, error) { return 0, nil },
				Record:  func(context.Context, string) (door, error) { return door{}, nil },
				Do: func(_ context.Context, operation string, at fsm.Target, c Call) (out fsm.Outcome[door], err error) {
					switch operation {
					case "open":
						e := fsm.Event{ID: at.Ref().ID, Rev: at.Ref().Rev, At: c.At}
						e.Sum = driver.Checksum(&e)
						return out, fx.Perform("ring", at.Ref(), c.Text("bell"), e, nil)
					case "shut":
						return out, shut
					}
					return out, &NotOfferedError{Operation: operation}
				},
			}, nil
		},
	}
}

func TestRetell(t *testing.T) {
	t.Parallel()
	ring := func(bell string) StoryStep {
		return StoryStep{Record: "d", Do: "open", At: time.Unix(0, 0), Inputs: map[string]any{"bell": bell}}
	}
	shut := StoryStep{Record: "d", Do: "shut"}
	refused := func(code fsm.Code) error {
		return &fsm.Refusal{ID: "d", Code: code, Machine: "door"}
	}
	tests := []struct {
		name  string
		shut  error
		story Story
		fails string // what the test says; empty: it passes
	}{
		{"twice for one key", nil, Story{Steps: []StoryStep{ring("a"), ring("a")}, Ends: EndsTwice, Effect: "ring"}, "effect ring was applied 2 times for key a"},
		{"once for each of two keys", nil, Story{Steps: []StoryStep{ring("a"), ring("b")}, Ends: EndsTwice, Effect: "ring"}, ""},
		{"another effect", nil, Story{Steps: []StoryStep{ring("a"), ring("a")}, Ends: EndsTwice, Effect: "knock"}, ""},
		{"before its effect", nil, Story{Steps: []StoryStep{shut}, Ends: EndsEarly, Effect: "ring"}, "shut was accepted before effect ring was performed"},
		{"after its effect", nil, Story{Steps: []StoryStep{ring("a"), shut}, Ends: EndsEarly, Effect: "ring"}, ""},
		{"refused before its effect", refused(fsm.ErrGuard), Story{Steps: []StoryStep{shut}, Ends: EndsEarly, Effect: "ring"}, ""},
		{"an invariant", refused(fsm.ErrInvariant), Story{Steps: []StoryStep{shut}, Ends: EndsBroken}, "would break an invariant"},
		{"an invariant that holds", nil, Story{Steps: []StoryStep{shut}, Ends: EndsBroken}, ""},
		{"an invariant, not in the last step", refused(fsm.ErrInvariant), Story{Steps: []StoryStep{shut, ring("a")}, Ends: EndsBroken}, ""},
		{"nobody can call it", nil, Story{Steps: []StoryStep{{Record: "d", Do: "slam"}}, Ends: EndsBroken}, ""},
		{"a store that fails", errors.New("disk full"), Story{Steps: []StoryStep{shut}, Ends: EndsBroken}, "disk full"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			told := &telling{TB: t}
			func() {
				defer func() {
					if r := recover(); r != nil && r != any(told) {
						panic(r)
					}
				}()
				Retell(told, doorDriver(tt.shut), tt.story)
			}()
			if got := strings.Join(told.failed, "; "); (got == "") != (tt.fails == "") || !strings.Contains(got, tt.fails) {
				t.Errorf("it says %q, want %q", got, tt.fails)
			}
		})
	}
}

// gate is a record that is what its only operation made of it.
type gate struct{ rev int64 }

func (g gate) Ref() fsm.Ref { return fsm.Ref{ID: "g", Rev: g.rev} }

// gateDriver opens a machine whose operation answers with out and err.
func gateDriver(out fsm.Outcome[gate], err error) Package[gate] {
	return Package[gate]{
		Descriptor: &fsmimpl.Descriptor[gate]{Encode: func(g *gate) driver.Row { return driver.Row{ID: "g", Rev: g.rev, State: "open"} }},
		Migrate:    func(context.Context, fsm.Store) error { return nil },
		Open: func(context.Context, fsm.Store, *Effects, ...fsm.Option) (*Durable[gate], error) {
			return &Durable[gate]{
				Record: func(_ context.Context, id string) (gate, error) {
					if id != "g" {
						return gate{}, fsm.ErrNotFound
					}
					return gate{2}, nil
				},
				Do: func(_ context.Context, operation string, at fsm.Target, _ Call) (fsm.Outcome[gate], error) {
					switch {
					case operation != "lift":
						return fsm.Outcome[gate]{}, &NotOfferedError{Operation: operation}
					case at == nil:
						return fsm.Outcome[gate]{}, &fsm.Refusal{Code: fsm.ErrNothingToDo}
					case at.Ref() != fsm.Ref{ID: "g", Rev: 1}:
						return fsm.Outcome[gate]{}, fmt.Errorf("called at %v", at.Ref())
					}
					return out, err
				},
				Startup: func(context.Context) (int, error) { return 0, nil },
				Deliver: func(context.Context) (int, error) { return 1, nil },
			}, nil
		},
	}
}

func TestRetellAsTold(t *testing.T) {
	t.Parallel()
	lift := func(leads string) StoryStep {
		return StoryStep{Record: "g", Do: "lift", Rev: 1, Leads: leads, Is: map[string]string{"g": "open@2"}}
	}
	with := func(s StoryStep, change func(*StoryStep)) StoryStep { change(&s); return s }
	guard := &fsm.Refusal{Code: fsm.ErrGuard, Guard: "owner_only", ID: "g", State: "open"}
	tests := []struct {
		name  string
		out   fsm.Outcome[gate]
		err   error
		step  StoryStep
		fails string
	}{
		{"as it was", fsm.Outcome[gate]{}, nil, lift("accepted"), ""},
		{"refused as it was", fsm.Outcome[gate]{}, guard, with(lift("guard"), func(s *StoryStep) { s.Guard = "owner_only" }), ""},
		{"recorded", fsm.Outcome[gate]{RecordOnly: true}, nil, lift("recorded"), ""},
		{"replayed", fsm.Outcome[gate]{Replayed: true, RecordOnly: true}, nil, lift("replayed"), ""},
		{"existing", fsm.Outcome[gate]{Existing: true}, nil, lift("existing"), ""},
		{"picked", fsm.Outcome[gate]{}, nil, StoryStep{Do: "lift", Leads: "nothing_to_do"}, ""},
		{"delivered", fsm.Outcome[gate]{}, nil, StoryStep{Leads: "delivered", Is: map[string]string{"g": "open@2"}}, ""},
		{"accepted now", fsm.Outcome[gate]{}, nil, with(lift("guard"), func(s *StoryStep) { s.Guard = "owner_only" }), `step 1, lift of "g": accepted, want guard owner_only`},
		{"refused now", fsm.Outcome[gate]{}, guard, lift("accepted"), `guard owner_only, want accepted`},
		{"refused by another guard", fsm.Outcome[gate]{}, guard, with(lift("guard"), func(s *StoryStep) { s.Guard = "lease_live" }), "guard owner_only, want guard lease_live"},
		{"another revision", fsm.Outcome[gate]{}, nil, with(lift("accepted"), func(s *StoryStep) { s.Is = map[string]string{"g": "open@3"} }), `the record "g" is open@2 after it (<nil>), want open@3`},
		{"no record", fsm.Outcome[gate]{}, nil, with(lift("accepted"), func(s *StoryStep) { s.Is = map[string]string{"h": "open@2"} }), `the record "h" is  after it (no such record)`},
		{"nobody can call it", fsm.Outcome[gate]{}, nil, StoryStep{Record: "g", Do: "drop", Leads: "accepted"}, "the package offers no drop"},
		{"a store that fails", fsm.Outcome[gate]{}, errors.New("disk full"), lift("accepted"), "disk full"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			told := &telling{TB: t}
			func() {
				defer func() {
					if r := recover(); r != nil && r != any(told) {
						panic(r)
					}
				}()
				Retell(told, gateDriver(tt.out, tt.err), Story{Ends: EndsAsTold, Steps: []StoryStep{tt.step}})
			}()
			if got := strings.Join(told.failed, "; "); (got == "") != (tt.fails == "") || !strings.Contains(got, tt.fails) {
				t.Errorf("it says %q, want %q", got, tt.fails)
			}
		})
	}
}
