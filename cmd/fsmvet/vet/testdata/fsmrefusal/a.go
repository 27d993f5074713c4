// Package fsmrefusal drops refusals, reads their texts, and does what looks alike.
package fsmrefusal

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/examples/devices/atm"
	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

func drops(ctx context.Context, m *lifecycle.Machine, job lifecycle.Job, claimed lifecycle.ClaimedJob, c fsm.Call) lifecycle.Outcome {
	m.Start(ctx, job, c)                                          // want `the error of Start is dropped: the call may have been refused and have changed nothing`
	_, _ = m.Stall(ctx, job, c)                                   // want `the error of Stall is dropped`
	out, _ := m.Start(ctx, job, c)                                // want `the error of Start is dropped`
	go claimed.Start(ctx)                                         // want `the error of Start is dropped`
	defer claimed.Stall(ctx)                                      // want `the error of Stall is dropped`
	job.Start("ann", time.Time{})                                 // want `the error of Start is dropped`
	_, _ = m.As("ann").ClaimNext(ctx, lifecycle.ClaimNextInput{}) // want `the error of ClaimNext is dropped`
	return out
}

func pure(s atm.Session) {
	s.EnterPin(atm.EnterPinInput{Code: "1"}, time.Time{}) // want `the error of EnterPin is dropped`
}

func texts(ctx context.Context, m *lifecycle.Machine, job lifecycle.Job, c fsm.Call) bool {
	_, err := m.Start(ctx, job, c)
	if err == nil {
		return true
	}
	if err.Error() == "not owner" { // want `a refusal is told apart by its text, which is for people and may change; use errors.Is\(err, lifecycle.ErrNotOwner\)`
		return false
	}
	if strings.Contains(err.Error(), "moved on") { // want `a refusal is told apart by its text, .* use errors.Is with the refusals of the generated package, or errors.As`
		return false
	}
	switch err.Error() { // want `a refusal is told apart by its text`
	case "stale":
		return true
	}
	var refusal *fsm.Refusal
	return errors.As(err, &refusal) && strings.HasPrefix(refusal.Error(), "lifecycle") // want `a refusal is told apart by its text`
}

func known(err error) bool {
	return strings.Contains(err.Error(), "lease in the past") // want `use errors.Is\(err, lifecycle.ErrLeaseInThePast\)`
}

func compares(ctx context.Context, m *lifecycle.Machine, job lifecycle.Job, c fsm.Call) bool {
	_, err := m.Start(ctx, job, c)
	if err == lifecycle.ErrNotOwner { // want `a refusal wraps lifecycle.ErrNotOwner, so == does not find it; use errors.Is`
		return true
	}
	if err != fsm.ErrStale { // want `a refusal wraps fsm.ErrStale, so == does not find it; use errors.Is`
		return true
	}
	switch err {
	case fsm.ErrTerminal: // want `a refusal wraps fsm.ErrTerminal, so a switch over the error does not find it`
		return true
	}
	_, ok := err.(*fsm.Refusal) // want `an error may wrap \*fsm.Refusal, which a type assertion does not find; use errors.As`
	return ok
}

// right tells refusals apart by what they are.
func right(ctx context.Context, m *lifecycle.Machine, job lifecycle.Job, c fsm.Call) error {
	_, err := m.Start(ctx, job, c)
	var refusal *fsm.Refusal
	switch {
	case errors.Is(err, lifecycle.ErrNotOwner), errors.Is(err, fsm.ErrStale):
		return nil
	case errors.As(err, &refusal) && refusal.Code == fsm.ErrTerminal:
		return nil
	}
	return err
}

// others are errors of somebody else.
func others(r io.Reader) bool {
	_, err := r.Read(nil)
	if err == io.EOF || strings.Contains(err.Error(), "closed") {
		return true
	}
	_, _ = r.Read(nil)
	return err.Error() == "closed"
}

// shows writes the text for people.
func shows(ctx context.Context, m *lifecycle.Machine, job lifecycle.Job, c fsm.Call) string {
	if _, err := m.Start(ctx, job, c); err != nil {
		return strings.ToUpper(err.Error())
	}
	return ""
}

// reads drops no refusal: Count is no operation.
func reads(ctx context.Context, m *lifecycle.Machine) int64 {
	n, _ := m.Count(ctx)
	return n[lifecycle.StateQueued]
}
