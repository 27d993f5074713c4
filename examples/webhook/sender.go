package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/examples/webhook/notice"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// sendConfig are the settings of the sender.
type sendConfig struct {
	db, to                    string
	publish, topics, workers  int
	name                      string
	pause                     time.Duration
	timeout, backoff, longest time.Duration
	stay, acks                bool
	retry, operator           string
}

// sender is a running sender.
type sender struct {
	sendConfig
	m   *notice.Machine
	out io.Writer
}

// errDelivered ends a sender that has nothing left to do.
var errDelivered = errors.New("all is delivered")

// send publishes what it is told to, and drains the outbox until all is
// delivered or dead.
func send(ctx context.Context, c sendConfig, effects notice.Effects, out io.Writer) error {
	store, err := sqlite.Open(c.db)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := notice.Migrate(ctx, store); err != nil {
		return err
	}
	// A try ends by itself before its part of the lease does.
	m, err := notice.Open(ctx, store, effects, fsm.WithBackoff(c.backoff, c.longest), fsm.WithDelivery(2*c.timeout, c.workers))
	if err != nil {
		return err
	}
	s := &sender{c, m, out}
	fmt.Fprintln(out, "ready")
	if c.retry != "" {
		if err := s.again(ctx); err != nil {
			return err
		}
	}
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	begin := func(f func(context.Context) error) {
		all.Go(func() {
			if err := f(work); err != nil && work.Err() == nil {
				cancel(err)
			}
		})
	}
	published := make(chan struct{})
	begin(func(ctx context.Context) error {
		defer close(published)
		return s.produce(ctx)
	})
	begin(s.drain)
	begin(s.sweep)
	if !c.stay {
		begin(func(ctx context.Context) error { return s.wait(ctx, published) })
	}
	all.Wait()
	if err := context.Cause(work); !errors.Is(err, errDelivered) && !errors.Is(err, context.Canceled) {
		return err
	}
	return s.report(context.WithoutCancel(ctx))
}

// produce publishes. A producer that starts again says the same once more and is
// told the same: the request ids are.
func (s *sender) produce(ctx context.Context) error {
	for n := range s.publish {
		out, err := s.m.Publish(ctx, "", notice.PublishInput{Topic: fmt.Sprintf("order-%d", n%s.topics), Body: fsm.MustJSON(fmt.Sprintf(`{"text":"%s-%d"}`, s.name, n))}, fsm.Call{RequestID: fmt.Sprintf("%s-%d", s.name, n), Actor: "producer"})
		if err != nil {
			return err
		}
		if s.acks {
			fmt.Fprintf(s.out, "ack %s\n", out.Record.ID)
		}
		if err := sleep(ctx, s.pause); err != nil {
			return err
		}
	}
	return nil
}

// drain delivers what is due, again and again.
func (s *sender) drain(ctx context.Context) error {
	for {
		n, err := s.m.Deliver(ctx)
		var failed *fsm.EffectError
		switch {
		case errors.As(err, &failed):
			log.Printf("not taken, to be sent again: %v", failed)
		case errors.Is(err, fsm.ErrBusy):
		case err != nil:
			return err // of the store: whoever watches over this process starts it again
		}
		if n == 0 {
			if err := sleep(ctx, 10*time.Millisecond); err != nil {
				return err
			}
		}
	}
}

// sweep makes dead letters of what was not taken in time.
func (s *sender) sweep(ctx context.Context) error {
	return s.m.Core().RunSweeper(ctx, time.Second, func(n int, err error) {
		if n > 0 || err != nil {
			log.Printf("%d dead letters, %v", n, err)
		}
	})
}

// again sends every dead letter again. A request id is remembered as long as its
// record, so each time has one of its own: the revision tells them apart.
func (s *sender) again(ctx context.Context) error {
	for letter, err := range s.m.List(ctx, notice.StateDead) {
		if err != nil {
			return err
		}
		_, err = s.m.Retry(ctx, letter, fsm.Call{RequestID: fmt.Sprintf("retry-%d", letter.Rev), Actor: s.operator, Reason: s.retry})
		if err != nil {
			return err
		}
	}
	return nil
}

// wait ends the sender when nothing is due any more.
func (s *sender) wait(ctx context.Context, published <-chan struct{}) error {
	select {
	case <-published:
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		counts, err := s.m.Count(ctx, notice.StateDue)
		if err != nil {
			return err
		}
		if counts[notice.StateDue] == 0 {
			return errDelivered
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// report says what became of the notices.
func (s *sender) report(ctx context.Context) error {
	counts, err := s.m.Count(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%d delivered, %d due, %d dead\n",
		counts[notice.StateDelivered], counts[notice.StateDue], counts[notice.StateDead])
	return err
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
