// Package ours holds the loads of machines over a store of ours: what each caller does,
// again and again.
package ours

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/fsmgen/fsmgen/examples/machines/paymentintent"
	"github.com/fsmgen/fsmgen/examples/machines/taskinstance"
	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/bench/child"
	"github.com/fsmgen/fsmgen/internal/lab/claims/slot"
	"github.com/fsmgen/fsmgen/internal/lab/fuzzmachines/account"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// Sessions are the connections that each process of a measurement has to PostgreSQL.
const Sessions = 8

// Store opens the store of a process.
func Store(ctx context.Context, c child.Config) (fsm.Store, error) {
	if c.Database == "sqlite" {
		return sqlite.Open(c.Address)
	}
	return postgres.Open(ctx, c.Address, postgres.WithMaxSessions(Sessions), postgres.WithLogger(Quiet()))
}

// Quiet returns a log that nobody reads.
func Quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// starts opens a machine and returns what makes a caller's step.
var starts = map[string]func(context.Context, fsm.Store) (func(name string) (func() error, error), error){
	"lifecycle": heartbeats, "paymentintent": payments, "taskinstance": tasks, "account": accounts,
	"by id": edits(func(caller string) string { return caller }), "by one id": edits(func(string) string { return "one" }), "read": reads,
}

// Run serves as a process of callers.
func Run(ctx context.Context, c child.Config) error {
	steps, err := Steps(ctx, c)
	if err != nil {
		return err
	}
	return child.Serve(child.Callers(steps))
}

// Steps returns what each caller repeats.
func Steps(ctx context.Context, c child.Config) ([]func() error, error) {
	store, err := Store(ctx, c)
	if err != nil {
		return nil, err
	}
	start, err := starts[c.Machine](ctx, store)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	steps := make([]func() error, c.Callers)
	for i := range steps {
		if steps[i], err = start(fmt.Sprint(c.Name, "-", i)); err != nil {
			return nil, errors.Join(err, store.Close())
		}
	}
	return steps, nil
}

// by is a call of a worker.
func by(request string) fsm.Call { return fsm.Call{RequestID: request, Actor: "w"} }

// numbered returns request ids of a caller.
func numbered() func() fsm.Call {
	n := 0
	return func() fsm.Call { n++; return by(fmt.Sprint("call ", n)) }
}

// Lifecycle opens the queue.
func Lifecycle(ctx context.Context, store fsm.Store) (*lifecycle.Machine, error) {
	if err := lifecycle.Migrate(ctx, store); err != nil {
		return nil, err
	}
	return lifecycle.Open(ctx, store)
}

// heartbeats: a running job is kept alive.
func heartbeats(ctx context.Context, store fsm.Store) (func(string) (func() error, error), error) {
	m, err := Lifecycle(ctx, store)
	return func(name string) (func() error, error) {
		lease, call := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond), numbered()
		in := lifecycle.EnqueueInput{Payload: fsm.Some(fsm.MustJSON(`{"url":"https://example.com/"}`))}
		job, err := m.Enqueue(ctx, name, in, by(name))
		if err == nil {
			job, err = m.ClaimNextOf(ctx, job, lifecycle.ClaimNextInput{Lease: lease}, call())
		}
		if err == nil {
			job, err = m.Start(ctx, job, call())
		}
		return func() error {
			lease = lease.Add(time.Second)
			next, err := m.Heartbeat(ctx, job, lifecycle.HeartbeatInput{Lease: lease}, call())
			job = next
			return err
		}, err
	}, err
}

// payments: one is made, confirmed, raised and captured; then the next.
func payments(ctx context.Context, store fsm.Store) (func(string) (func() error, error), error) {
	err := paymentintent.Migrate(ctx, store)
	var m *paymentintent.Machine
	if err == nil {
		m, err = paymentintent.Open(ctx, store)
	}
	return func(name string) (func() error, error) {
		var p paymentintent.Outcome
		n := 0
		return func() (err error) {
			id := fmt.Sprint(name, "-", n/4)
			request := by(fmt.Sprint("call ", n%4))
			switch n++; n % 4 {
			case 1:
				p, err = m.Create(ctx, id, paymentintent.CreateInput{
					Amount: 1000, Currency: "eur", CaptureMethod: paymentintent.CaptureMethodManual,
					ConfirmationMethod: paymentintent.ConfirmationMethodAutomatic, PaymentMethod: fsm.Some("card_1"),
				}, by(id)) // of the machine, not of the record
			case 2:
				p, err = m.Confirm(ctx, p, paymentintent.ConfirmInput{
					Outcome: paymentintent.ConfirmOutcomeApproved, CaptureBefore: fsm.Some(time.Now().Add(time.Hour)),
				}, request)
			case 3:
				p, err = m.IncrementAuthorization(ctx, p, paymentintent.IncrementAuthorizationInput{Amount: 1100}, request)
			case 0:
				p, err = m.Capture(ctx, p, paymentintent.CaptureInput{Amount: 1100, AtOnce: true}, request)
			}
			return err
		}, nil
	}, err
}

// tasks: one is scheduled, queued, started, kept alive, ended and cleared, again and again.
func tasks(ctx context.Context, store fsm.Store) (func(string) (func() error, error), error) {
	err := taskinstance.Migrate(ctx, store)
	var m *taskinstance.Machine
	if err == nil {
		m, err = taskinstance.Open(ctx, store, taskinstance.Sources{
			TimeoutQueued: func(taskinstance.TaskInstance, time.Time) (in taskinstance.TimeoutQueuedInput, err error) { return },
			Lose:          func(taskinstance.TaskInstance, time.Time) (in taskinstance.LoseInput, err error) { return },
		})
	}
	return func(name string) (func() error, error) {
		call := numbered()
		t, err := m.Create(ctx, name, taskinstance.CreateInput{DagID: "d", RunID: "r", TaskID: name, MapIndex: -1,
			MaxTries: 1}, by(name))
		n := 0
		return func() (err error) {
			switch n++; n % 6 {
			case 1:
				t, err = m.Schedule(ctx, t, call())
			case 2:
				t, err = m.QueueOf(ctx, t, call())
			case 3:
				t, err = m.Start(ctx, t, call())
			case 4:
				t, err = m.Heartbeat(ctx, t, call())
			case 5:
				t, err = m.Succeed(ctx, t, call())
			case 0:
				t, err = m.Clear(ctx, t, taskinstance.ClearInput{Retries: 1}, call())
			}
			return err
		}, err
	}, err
}

// accounts: an amount is credited, reserved and posted.
func accounts(ctx context.Context, store fsm.Store) (func(string) (func() error, error), error) {
	err := account.Migrate(ctx, store)
	var m *account.Machine
	if err == nil {
		m, err = account.Open(ctx, store)
	}
	return func(name string) (func() error, error) {
		call := numbered()
		a, err := m.OpenAccount(ctx, name, account.OpenAccountInput{Owner: "ann", Currency: account.CurrencyEur}, by(name))
		n := 0
		return func() (err error) {
			switch n++; n % 3 {
			case 1:
				a, err = m.Credit(ctx, a, account.CreditInput{Amount: 100, BalanceAfter: 100, AvailableAfter: 100}, call())
			case 2:
				a, err = m.Reserve(ctx, a, account.ReserveInput{Amount: 100, AvailableAfter: 0}, call())
			case 0:
				a, err = m.Post(ctx, a, account.PostInput{Amount: 100}, call())
			}
			return err
		}, err
	}, err
}

// edits: a record is changed in place by a caller who has its id alone.
func edits(id func(caller string) string) func(context.Context, fsm.Store) (func(string) (func() error, error), error) {
	return func(ctx context.Context, store fsm.Store) (func(string) (func() error, error), error) {
		m, err := slots(ctx, store)
		return func(name string) (func() error, error) {
			at, n := fsm.Ref{ID: id(name)}, 0
			_, err := m.Submit(ctx, at.ID, slot.SubmitInput{Rank: 1}, by(at.ID))
			return func() error {
				n++
				call := fsm.Call{RequestID: fmt.Sprint(name, " ", n), Actor: name}
				_, err := m.Edit(ctx, at, slot.EditInput{Rank: int64(n % 2)}, call)
				return err
			}, err
		}, err
	}
}

// reads: a record is read by its id.
func reads(ctx context.Context, store fsm.Store) (func(string) (func() error, error), error) {
	m, err := slots(ctx, store)
	return func(name string) (func() error, error) {
		_, err := m.Submit(ctx, name, slot.SubmitInput{Rank: 1}, by(name))
		return func() error { _, err := m.Record(ctx, name); return err }, err
	}, err
}

func slots(ctx context.Context, store fsm.Store) (*slot.Machine, error) {
	if err := slot.Migrate(ctx, store); err != nil {
		return nil, err
	}
	return slot.Open(ctx, store)
}
