package steps

import (
	"errors"
	"fmt"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func bidden(t *testing.T, cents int64) Auction {
	t.Helper()
	a, _, err := Start("a", StartInput{Ends: now}, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Bid(BidInput{Amount: cents}, "ann", now); err != nil {
		t.Fatal(err)
	}
	return a
}

// The guards refuse what the rules would, so no call of a sound record meets a rule.
func TestGuardsComeFirst(t *testing.T) {
	a := bidden(t, 5)
	before := a
	if _, err := a.Bid(BidInput{Amount: 5}, "ben", now); !errors.Is(err, ErrTooLow) || !a.Equal(before) {
		t.Errorf("the same bid again: %v", err)
	}
	if _, err := a.Bid(BidInput{Amount: 6}, "ben", now); err != nil || a.Bids != 2 {
		t.Errorf("a higher one: %v, %d bids", err, a.Bids)
	}
}

// A record that somebody else wrote breaks a rule over the step alone, and stays as it is.
func TestRuleRefuses(t *testing.T) {
	a := bidden(t, 5)
	a.Locked = true // no open auction is
	before := a
	_, err := a.Unlock(now)
	var r *fsm.Refusal
	if !errors.As(err, &r) || r.Code != fsm.ErrInvariant || r.Name != "old.locked == false or locked == true" || !a.Equal(before) {
		t.Errorf("a lock that is taken off: %v", err)
	}
}

// An audit asks each step of the log, and neither the creation nor what was recorded only.
func TestAudit(t *testing.T) {
	store := memstore.New()
	if err := Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	m, err := Open(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Start(t.Context(), "a", StartInput{Ends: now}, fsm.Call{RequestID: "1"}); err != nil {
		t.Fatal(err)
	}
	for i, cents := range []int64{5, 9} {
		call := fsm.Call{RequestID: fmt.Sprint("bid ", cents), Actor: "ann"}
		if _, err := m.Bid(t.Context(), fsm.Ref{ID: "a", Rev: int64(i) + 1}, BidInput{Amount: cents}, call); err != nil {
			t.Fatal(err)
		}
	}
	found := func() (list []string) {
		for f, err := range audit.Run(t.Context(), m.Core()) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprint(f.Check, " ", f.Rev, " ", f.Must, ": ", f.Message))
		}
		return list
	}
	if list := found(); list != nil {
		t.Errorf("a lawful log: %q", list)
	}
	moved := descriptor.Moved
	defer func() { descriptor.Moved = moved }()
	falls := func(before, after *Auction) string { // as if bids had been to fall
		if moved(before, after) == "" && moved(after, before) == "high_cents >= old.high_cents" && before.HighCents == 5 {
			return "high_cents <= old.high_cents"
		}
		return ""
	}
	descriptor.Moved = falls
	if list := found(); len(list) != 1 || list[0] != "rule 3 true: the step breaks the rule high_cents <= old.high_cents" {
		t.Errorf("a step that breaks a rule: %q", list)
	}
	version := descriptor.Schema.Version
	defer func() { descriptor.Schema.Version = version }()
	descriptor.Schema.Version = version + 1 // which may have a rule that the version of the log had not
	softly := "rule 3 false: the step breaks the rule high_cents <= old.high_cents; version 1 may have had none, this is version 2"
	if list := found(); len(list) != 1 || list[0] != softly {
		t.Errorf("a step of an older version: %q", list)
	}
	descriptor.Schema.Version = version - 1
	if list := found(); list != nil {
		t.Errorf("a step of a newer version: %q", list)
	}
	descriptor.Schema.Version, descriptor.Moved = version, moved
	erased := audit.RedactOptions{Actor: "op", Reason: "asked", Fields: []string{"leader"}}
	if _, _, err := audit.Redact(t.Context(), m.Core(), "a", erased); err != nil {
		t.Fatal(err)
	}
	descriptor.Moved = falls
	if list := found(); list != nil {
		t.Errorf("a step of which something was erased: %q", list)
	}
}
