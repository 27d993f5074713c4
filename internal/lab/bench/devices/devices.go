// Package devices measures five machines without a store, each written three times: as a
// file for fsmgen, with github.com/qmuntal/stateless and with github.com/looplab/fsm. All
// have the same states, rules and actions, and a test holds that they answer every call of
// a walk alike. The lines of the three are counted, and what a walk costs is measured.
//
// What the peers do not have is left out of the comparison: fsmgen proves what each state
// promises, refuses inputs by their types, and generates tests and diagrams.
package devices

import (
	"fmt"
	"strings"
	"time"
)

// Device is a machine of one side. Do makes a step, and the device hands what it does to
// the function that it was made with.
type Device interface {
	Do(op string, arg any, now time.Time) error
	State() string
}

// Side makes devices in one way.
type Side struct {
	Name string
	Make map[string]func(now time.Time, act func(string)) Device // by machine
}

// Sides lists all sides; the first one is generated.
func Sides() []Side {
	return []Side{
		{"fsmgen", map[string]func(time.Time, func(string)) Device{
			"lift": generatedLift, "atm": generatedATM, "light": generatedLight, "wizard": generatedWizard, "tcp": generatedTCP,
		}},
		{"qmuntal/stateless", map[string]func(time.Time, func(string)) Device{
			"lift": statelessLift, "atm": statelessATM, "light": statelessLight, "wizard": statelessWizard, "tcp": statelessTCP,
		}},
		{"looplab/fsm", map[string]func(time.Time, func(string)) Device{
			"lift": looplabLift, "atm": looplabATM, "light": looplabLight, "wizard": looplabWizard, "tcp": looplabTCP,
		}},
	}
}

// Machines are the names of the machines.
var Machines = []string{"lift", "atm", "light", "wizard", "tcp"}

// Step is one call of a walk, so many seconds after the one before it.
type Step struct {
	Op    string
	Arg   any
	After time.Duration
}

// Walks are the calls that each machine gets, with refused ones among them.
var Walks = map[string][]Step{
	"lift": {
		{"hold", nil, 0}, {"call", 3, 0}, {"depart", nil, 0}, {"reach", nil, 5}, {"depart", nil, 0}, {"reach", nil, 5}, {"depart", nil, 0},
		{"hold", nil, 3}, {"call", 1, 1}, {"call", 2, 0}, {"depart", nil, 4}, {"reach", nil, 5}, {"depart", nil, 4}, {"reach", nil, 5},
		{"depart", nil, 4}, {"call", 4, 0}, {"depart", nil, 0}, {"halt", nil, 1}, {"halt", nil, 1}, {"call", 2, 0}, {"resume", nil, 9},
		{"depart", nil, 0}, {"reach", nil, 5},
	},
	"atm": {
		{"withdraw", 10, 0}, {"enter_pin", "1", 0}, {"enter_pin", "1234", 0}, {"withdraw", 101, 0}, {"withdraw", 30, 0}, {"eject", nil, 0},
		{"jammed", nil, 5}, {"withdraw", 20, 0}, {"dispensed", 80, 9}, {"dispensed", 70, 0}, {"time_out", nil, 29}, {"time_out",
			nil, 1}, {"eject", nil, 0},
	},
	"light": {
		{"tick", nil, 9}, {"tick", nil, 1}, {"press", nil, 0}, {"repair", nil, 0}, {"tick", nil, 1}, {"tick", nil, 3}, {"press", nil, 0},
		{"tick", nil, 8}, {"tick", nil, 4}, {"tick", nil, 1}, {"tick", nil, 2}, {"tick", nil, 10}, {"fault", nil, 0}, {"fault", nil, 0},
		{"tick", nil, 99}, {"press", nil, 0}, {"repair", nil, 0}, {"tick", nil, 2},
	},
	"wizard": {
		{"submit", nil, 0}, {"enter", "ann", 0}, {"back", nil, 0}, {"enter", "ann", 0}, {"enter", "street", 0}, {"enter", "1", 0},
		{"edit", "person", 0}, {"enter", "ben", 0}, {"edit", "front", 0}, {"edit", "payment", 0}, {"back", nil, 0}, {"enter", "road", 0},
		{"submit", nil, 0}, {"back", nil, 0},
	},
	"tcp": {
		{"send", nil, 0}, {"active_open", nil, 0}, {"receive_syn_ack", nil, 0}, {"close", nil, 0}, {"send", nil, 0}, {"receive_ack", nil, 0},
		{"receive_fin", nil, 0}, {"time_out", nil, 0}, {"passive_open", nil, 0}, {"receive_syn", nil, 0}, {"receive_ack", nil, 0},
		{"receive_fin", nil, 0}, {"close", nil, 0}, {"reset", nil, 0}, {"reset", nil, 0},
	},
}

// Begin is when every walk begins.
var Begin = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Walk makes the calls of a machine's walk, and tells what came of each.
func (s Side) Walk(machine string) string {
	var told strings.Builder
	now := Begin
	device := s.Make[machine](now, func(what string) { fmt.Fprintf(&told, " [%s]", what) })
	for _, step := range Walks[machine] {
		now = now.Add(step.After * time.Second)
		fmt.Fprintf(&told, " -> %s\n%s", device.State(), step.Op)
		if err := device.Do(step.Op, step.Arg, now); err != nil {
			told.WriteString(" refused")
		}
	}
	return told.String() + " -> " + device.State()
}

// Run makes a walk n times without a note of it, and returns how many calls were refused.
func (s Side) Run(machine string, n int) (refused int) {
	steps, work := Walks[machine], s.Make[machine]
	for range n {
		now := Begin
		device := work(now, func(string) {})
		for i := range steps {
			now = now.Add(steps[i].After * time.Second)
			if device.Do(steps[i].Op, steps[i].Arg, now) != nil {
				refused++
			}
		}
	}
	return refused
}
