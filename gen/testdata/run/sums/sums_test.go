package sums

import (
	"errors"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

const limit = 1 << 60

func paid(t *testing.T, net int64, tip fsm.Optional[int64]) Payment {
	t.Helper()
	p, _, err := Pay("p", PayInput{Net: net, Fee: 2, Servers: 3, Tip: tip}, now)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A sum is of the record before the step, and a guard that reads one refuses what the rule would.
func TestRefunds(t *testing.T) {
	p := paid(t, 3, fsm.Optional[int64]{})
	if p.Paid != 10 {
		t.Errorf("paid is %d", p.Paid)
	}
	for _, amount := range []int64{4, 5} {
		if _, err := p.Refund(RefundInput{Amount: amount}, now); err != nil {
			t.Fatal(err)
		}
	}
	before := p
	if _, err := p.Refund(RefundInput{Amount: 2}, now); !errors.Is(err, ErrRefundTooBig) || p != before {
		t.Errorf("one too much: %v", err)
	}
	if p.Refunded != 9 || p.Tries != 2 {
		t.Errorf("refunded %d in %d steps", p.Refunded, p.Tries)
	}
}

// A comparison with a sum that lacks a part is false, with != too.
func TestAbsentPart(t *testing.T) {
	p := paid(t, 3, fsm.Optional[int64]{})
	if _, err := p.Ask(AskInput{Least: 77}, now); !errors.Is(err, ErrTip) {
		t.Errorf("without a tip: %v", err)
	}
	p = paid(t, 3, fsm.Some(int64(5)))
	if _, err := p.Ask(AskInput{Least: 7}, now); !errors.Is(err, ErrTip) {
		t.Errorf("with the same sum: %v", err)
	}
	if _, err := p.TipMore(TipMoreInput{Least: 8, More: fsm.Some(int64(1))}, now); err != nil || p.Tip != fsm.Some(int64(4)) {
		t.Errorf("tip is %v, %v", p.Tip, err)
	}
}

// No number of a sum leaves the limit.
func TestLimit(t *testing.T) {
	if _, _, err := Pay("p", PayInput{Net: limit - 6, Servers: 3}, now); !errors.Is(err, fsm.ErrOverflow) {
		t.Errorf("7 more than the limit: %v", err)
	}
	if _, _, err := Pay("p", PayInput{Net: limit + 1, Servers: 3}, now); !errors.Is(err, fsm.ErrInvalidInput) {
		t.Errorf("an input beyond the limit: %v", err)
	}
	p := paid(t, limit-7, fsm.Optional[int64]{})
	if _, err := p.Refund(RefundInput{Amount: limit}, now); err != nil || p.Refunded != limit {
		t.Errorf("all of it: %d, %v", p.Refunded, err)
	}
}

// A branch sees the record after the effects of the operation.
func TestMajority(t *testing.T) {
	p := paid(t, 3, fsm.Optional[int64]{})
	for n := range int64(2) {
		if p.State != StateOpen || p.Votes != n {
			t.Errorf("state %v with %d votes", p.State, p.Votes)
		}
		if _, err := p.Vote(now); err != nil {
			t.Fatal(err)
		}
	}
	if p.State != StateElected {
		t.Errorf("state %v with %d of %d votes", p.State, p.Votes, p.Servers)
	}
}
