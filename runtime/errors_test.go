package fsm_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// sentinels are all codes with what errors.Is finds and what the caller does.
var sentinels = []struct {
	code  fsm.Code
	retry fsm.Retry
}{
	{fsm.ErrNotFound, fsm.NoRetry},
	{fsm.ErrExists, fsm.NoRetry},
	{fsm.ErrWrongState, fsm.ReadAgain},
	{fsm.ErrTerminal, fsm.NoRetry},
	{fsm.ErrStale, fsm.ReadAgain},
	{fsm.ErrNothingToDo, fsm.ReadAgain},
	{fsm.ErrInvalidInput, fsm.NoRetry},
	{fsm.ErrActorMissing, fsm.NoRetry},
	{fsm.ErrReasonMissing, fsm.NoRetry},
	{fsm.ErrRequestMissing, fsm.NoRetry},
	{fsm.ErrRequestReused, fsm.NoRetry},
	{fsm.ErrGuard, fsm.ReadAgain},
	{fsm.ErrNotUnique, fsm.ReadAgain},
	{fsm.ErrInvariant, fsm.NoRetry},
	{fsm.ErrOverflow, fsm.NoRetry},
	{fsm.ErrEffect, fsm.SameCall},
	{fsm.ErrQuarantined, fsm.NoRetry},
	{fsm.ErrSchemaMismatch, fsm.NoRetry},
	{fsm.ErrTooLarge, fsm.NoRetry},
	{fsm.ErrDenied, fsm.NoRetry},
	{fsm.ErrPoisoned, fsm.NoRetry},
	{fsm.ErrFull, fsm.SameCall},
	{fsm.ErrBusy, fsm.SameCall},
	{fsm.ErrAmbiguous, fsm.SameCall},
}

// Each code is one sentinel and no other.
func TestSentinels(t *testing.T) {
	t.Parallel()
	for _, s := range sentinels {
		var err error = &fsm.Refusal{Code: s.code}
		for _, other := range sentinels {
			if got, want := errors.Is(err, other.code), s.code == other.code; got != want {
				t.Errorf("a refusal with code %q is %q: %v, want %v", string(s.code), string(other.code), got, want)
			}
		}
		if got := err.(*fsm.Refusal).Retry(); got != s.retry {
			t.Errorf("%s: retry is %d, want %d", string(s.code), got, s.retry)
		}
	}
	if (&fsm.AmbiguousError{}).Retry() != fsm.SameCall {
		t.Error("after a lost answer the same call is to be made again")
	}
	own := errors.New("not owner")
	err := error(&fsm.Refusal{Code: fsm.ErrGuard, Cause: own})
	if !errors.Is(err, own) || !errors.Is(err, fsm.ErrGuard) {
		t.Error("the machine's own sentinel is not found")
	}
}

func TestErrorTexts(t *testing.T) {
	t.Parallel()
	own := errors.New("somebody else owns it")
	for _, c := range []struct {
		err  error
		want string
	}{
		{&fsm.Refusal{Code: fsm.ErrWrongState, Machine: "m", Operation: "op", ID: "a", State: "s", Allowed: "t, u"},
			`m "a": op in state s: not possible in this state; possible in t, u`},
		{&fsm.Refusal{Code: fsm.ErrTerminal, Machine: "m", Operation: "op", ID: "a", State: "s"},
			`m "a": op in state s: the record is in a terminal state`},
		{&fsm.Refusal{ID: "a", Code: fsm.ErrStale, Machine: "m", Operation: "op", Rev: 4, Expected: 2},
			`m "a": op: the record is at revision 4, the call expected 2`},
		{&fsm.Refusal{Code: fsm.ErrGuard, Machine: "m", Operation: "op", Guard: "g", Cause: own},
			`m: op: guard g refuses: somebody else owns it`},
		{&fsm.Refusal{Code: fsm.ErrGuard, Machine: "m", Operation: "op", Guard: "g", Cause: own, Message: "why"},
			`m: op: guard g refuses: why`},
		{&fsm.Refusal{Code: fsm.ErrGuard, Machine: "m", Operation: "op", Guard: "g", Cause: own, Values: "owner ben, actor ann"},
			`m: op: guard g refuses: somebody else owns it (owner ben, actor ann)`},
		{&fsm.Refusal{Code: fsm.ErrNotUnique, Machine: "m", Operation: "op", Name: "u", Cause: own},
			`m: op: another record holds this place: u: somebody else owns it`},
		{&fsm.Refusal{Code: fsm.ErrInvalidInput, Machine: "m", Operation: "op", Name: "x", Message: "it is empty"},
			`m: op: the input is invalid: x: it is empty`},
		{&fsm.Refusal{Code: "odd", Machine: "m"}, `m: odd`},
		{&fsm.AmbiguousError{Machine: "m", ID: "a", Operation: "op", RequestID: "r", Err: own},
			`m "a": op: the call may or may not have been applied; ask again with request id "r": somebody else owns it`},
		{&fsm.EffectError{Machine: "m", ID: "a", Effect: "e", Key: "k", Rev: 3, Err: own},
			`m "a" at revision 3: effect e (key "k"): somebody else owns it`},
		{&driver.ConflictError{Rule: "u"}, `the unique rule u is taken`},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestSmallTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		got  any
		want string
	}{
		{fsm.Ref{ID: "a", Rev: 3}.String(), "a@3"},
		{fsmimpl.ClassReject.String() + " " + fsmimpl.ClassRecordOnly.String() + " " + fsmimpl.ClassTransition.String(), "reject record_only transition"},
		{fsmimpl.Class(9).String(), "Class(9)"},
		{fsm.Violation{Rule: "r", Must: true}.String(), "r (must)"},
		{fsm.Violation{Rule: "r", Message: "m"}.String(), "r (should): m"},
		{audit.Finding{ID: "a", Rev: 2, Check: audit.CheckFold, Message: "m"}.String(), `fold: "a" at revision 2: m`},
		{fsm.Some(3).String() + " " + fsm.Optional[int]{}.String(), "3 absent"},
		{fsm.NewSet("b", "a", "b").String(), "{a, b}"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// A refusal names the error as the specification does, and the status of both protocols.
func TestErrorNames(t *testing.T) {
	t.Parallel()
	own := fsmimpl.NewError("not_owner", "not owner")
	for _, c := range []struct {
		refusal    fsm.Refusal
		name       string
		http, grpc int
	}{
		{fsm.Refusal{Code: fsm.ErrGuard, Cause: own}, "not_owner", 409, 9},
		{fsm.Refusal{Code: fsm.ErrNotUnique}, "not_unique", 409, 6},
		{fsm.Refusal{Code: "odd"}, "odd", 500, 13},
	} {
		http, grpc := c.refusal.Status()
		if name := c.refusal.ErrorName(); name != c.name || http != c.http || grpc != c.grpc {
			t.Errorf("%s: name %q, status %d and %d; want %+v", string(c.refusal.Code), name, http, grpc, c)
		}
	}
	if fsmimpl.NewError("not_owner", "not owner") == own {
		t.Error("two errors of one name are equal")
	}
	for _, s := range sentinels {
		if http, grpc := s.code.Status(); http < 400 || http > 599 || grpc < 3 || grpc > 16 {
			t.Errorf("%s: status %d and %d", string(s.code), http, grpc)
		}
	}
}

// A refusal tells what a guard looked at, and cuts what is long.
func TestValues(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.FixedZone("x", 3600))
	got := fsmimpl.Values("owner", fsm.Some("ben"), "actor", "ann", "lease", fsm.Some(at), "now", at,
		"due", fsm.Optional[time.Time]{}, "nick", fsm.Optional[string]{}, "n", int64(-7), "mark", true,
		"most", 2, "cap", fsm.Some(int64(3)), "none", fsm.Optional[int64]{}, "is", fsm.Some(true), "not", fsm.Optional[bool]{},
		"ascii", strings.Repeat("a", 80), "note", strings.Repeat("é", 100))
	want := "owner ben, actor ann, lease 2026-01-02T02:04:05.000006Z, now 2026-01-02T02:04:05.000006Z, due absent, " +
		"nick absent, n -7, mark true, most 2, cap 3, none absent, is true, not absent, ascii " + strings.Repeat("a", 80) + ", note " + strings.Repeat("é", 80) + "…"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := fsmimpl.Values(); got != "" {
		t.Errorf("a guard that looked at nothing tells %q", got)
	}
}
