// Package pure measures transitions in memory: the generated methods of the
// machine lifecycle beside the same work written by hand and done by other state
// machines for Go.
//
// The work is the life of a job: queued, claimed, running, three heartbeats,
// succeeded. That is six transitions, of which the heartbeats stay in their state.
// A library that can serve many records by one machine is configured once, and
// each life begins with a fresh record. Beside it stands the library as its own
// README uses it, with a machine for each record (EachRecord); there a life begins
// with making that machine.
//
// There are three depths of work, and every subject says which one it does:
//
//   - Full: what a generated method does. It checks the actor, the inputs, the
//     state, the owner and what the target state promises, cuts times to
//     microseconds, changes the record and returns the event; a refusal is typed.
//   - Rules: what a careful programmer writes without a generator: revision,
//     state, owner and promises, and it changes the record.
//   - Bare: the state alone.
package pure

import (
	"errors"
	"fmt"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// Steps is the number of transitions in a life.
const Steps = 6

// The depths of work.
const (
	Full  = "full"
	Rules = "rules"
	Bare  = "bare"
)

// EachRecord ends the name of a subject that makes a machine for each record, as
// the README of its library does.
const EachRecord = ", a machine for each record"

// The refusals that are measured.
const (
	WrongOwner = "wrong owner"
	WrongState = "wrong state"
	Terminal   = "terminal"
)

// Refusals lists them in the order of the report.
var Refusals = []string{WrongOwner, WrongState, Terminal}

// End is what the record is at the end of a life, as far as the subject keeps it.
type End struct {
	State   string
	Rev     int64
	Attempt int64
	Owner   string
	Lease   bool
	Result  string
}

// Subject is one way of doing the work.
type Subject struct {
	Name  string
	Depth string
	// Life lives n lives and returns the end of the last one.
	Life func(n int) (End, error)
	// Refuse tries something n times that must be refused and returns the last
	// refusal; nil where it was let through. It is empty where refusing is no
	// other than for the same library without EachRecord.
	Refuse map[string]func(n int) error
}

// Subjects returns all subjects, the generated methods first.
func Subjects() []Subject {
	return []Subject{
		generated(), handFull(), handRules(), mapOfMaps(),
		statelessRules(), statelessBare(), looplabRules(), looplabBare(),
		statelessEachRules(), statelessEachBare(), looplabEachRules(), looplabEachBare(),
	}
}

const (
	worker   = "worker-7"
	stranger = "worker-8"
)

var (
	begin    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	instants [Steps]time.Time
	leases   [Steps]time.Time
	answer   = fsm.MustJSON(`{"bytes":1024,"sha256":"9f86d081884c7d65"}`)
)

func init() {
	for i := range Steps {
		instants[i] = begin.Add(time.Duration(i) * time.Second)
		leases[i] = instants[i].Add(time.Minute)
	}
}

var errLetThrough = errors.New("it was not refused")

// refused repeats a call that must be refused.
func refused(call func() error) func(n int) error {
	return func(n int) (err error) {
		for range n {
			if err = call(); err == nil {
				return nil
			}
		}
		return err
	}
}

// plain is an error of the size that a refusal of ours has.
type plain struct{ refusal fsm.Refusal }

func (p *plain) Error() string { return p.refusal.Error() }

// alone makes plain errors and does nothing else.
func alone(n int) error {
	for range n {
		if newPlain() == nil {
			return errLetThrough
		}
	}
	return nil
}

//go:noinline
func newPlain() error { return &plain{fsm.Refusal{ID: "job-1", State: "running"}} }

// lived is the work of measuring a subject's lives.
func (s Subject) lived(n int) error {
	_, err := s.Life(n)
	if err != nil {
		return fmt.Errorf("%s (%s): %w", s.Name, s.Depth, err)
	}
	return nil
}

// refusing is the work of measuring a subject's refusals of one kind.
func (s Subject) refusing(kind string) func(n int) error {
	f := s.Refuse[kind]
	return func(n int) error {
		if f(n) == nil {
			return fmt.Errorf("%s (%s), %s: %w", s.Name, s.Depth, kind, errLetThrough)
		}
		return nil
	}
}
