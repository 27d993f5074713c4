package effects

import (
	"errors"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func made(t *testing.T) Thing {
	t.Helper()
	j, e, err := Make("t", MakeInput{Data: fsm.MustJSON("{}"), Start: 2, Names: fsm.NewSet("x")}, "me", now)
	if err != nil {
		t.Fatal(err)
	}
	want := Event{Name: EventMake, To: StateMade}
	if e != want {
		t.Errorf("the event is %+v, expected %+v", e, want)
	}
	return j
}

// TestOldRecord proves that every right side reads the old record.
func TestOldRecord(t *testing.T) {
	j := made(t)
	j.Right = fsm.Some("right")
	if _, err := j.Swap(now); err != nil {
		t.Fatal(err)
	}
	if j.Left != fsm.Some("right") || j.Right != fsm.Some("me") {
		t.Errorf("left is %v and right is %v after a swap", j.Left, j.Right)
	}
	if _, err := j.Copy(now); err != nil {
		t.Fatal(err)
	}
	if j.Wake != fsm.Some(j.At) || j.Least != fsm.Some(int64(3)) || j.Seen != fsm.Some(true) || j.Owner != fsm.Some("right") {
		t.Errorf("copied into %+v", j)
	}
}

// TestInputOrSame proves that what was not sent stays.
func TestInputOrSame(t *testing.T) {
	j := made(t)
	before := j
	if _, err := j.Keep(KeepInput{}, now); err != nil {
		t.Fatal(err)
	}
	before.Rev++
	if !j.Equal(before) {
		t.Errorf("an empty request made %+v of %+v", j, before)
	}
	wake := now.Add(time.Hour + 5*time.Nanosecond).In(time.FixedZone("elsewhere", 3600))
	if _, err := j.Keep(KeepInput{Left: fsm.Some("left"), Size: fsm.Some(int64(10)), Mode: fsm.Some(ModeFast), Data: fsm.Some(fsm.MustJSON("0"))}, now); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Hold(HoldInput{Wake: fsm.Some(wake), Active: fsm.Some(false), Extra: fsm.Some(fsm.MustJSON("2"))}, now); err != nil {
		t.Fatal(err)
	}
	if j.Left != fsm.Some("left") || j.Size != 10 || j.Wake != fsm.Some(now.Add(time.Hour)) || j.Active || j.Mode != ModeFast ||
		j.Data.String() != "0" || j.Extra != fsm.Some(fsm.MustJSON("2")) {
		t.Errorf("a full request made %+v", j)
	}
}

// TestInputOrDefault proves that what was not sent becomes the default.
func TestInputOrDefault(t *testing.T) {
	j := made(t)
	if _, err := j.Rest(RestInput{Gait: fsm.Some(RestGaitFast), Limit: fsm.Some(int64(9))}, now); err != nil {
		t.Fatal(err)
	}
	if j.Pace != PaceFast || j.Limit != 9 || j.Usual != fsm.Some(UsualFast) {
		t.Errorf("a full request made %+v", j)
	}
	if _, err := j.Rest(RestInput{}, now); err != nil {
		t.Fatal(err)
	}
	if j.Pace != PaceHalting || j.Limit != 4 || j.Usual.Present() {
		t.Errorf("an empty request made %+v", j)
	}
}

// TestInputOrReject proves that a branch refuses without what it needs, and that no other
// branch asks for it.
func TestInputOrReject(t *testing.T) {
	j := made(t)
	j.Size = 5
	before := j
	refused := func(in DriveInput, name string) {
		t.Helper()
		var r *fsm.Refusal
		if _, err := j.Drive(in, now); !errors.As(err, &r) || r.Code != fsm.ErrInvalidInput || r.Name != name || !j.Equal(before) {
			t.Errorf("%+v: %v, and the record is %+v", in, err, j)
		}
	}
	refused(DriveInput{Gait: fsm.Some(DriveGaitFast), Limit: fsm.Some(int64(2))}, "name")
	refused(DriveInput{Name: fsm.Some("a")}, "limit")
	if _, err := j.Drive(DriveInput{Name: fsm.Some("a"), Limit: fsm.Some(int64(2))}, now); err != nil {
		t.Fatal(err)
	}
	if j.Left != fsm.Some("a") || j.Limit != 2 || j.Pace != PaceHalting || !j.Names.Has("a") {
		t.Errorf("taken, it made %+v", j)
	}
	j.Size = 4
	if _, err := j.Drive(DriveInput{Name: fsm.Some("a")}, now); err != nil || j.Names.Has("a") || !j.Others.Has("a") {
		t.Errorf("the branch that asks for no limit: %v, %+v", err, j)
	}
	before = j
	refused(DriveInput{}, "gait")
	if _, err := j.Drive(DriveInput{Gait: fsm.Some(DriveGaitSlow)}, now); err != nil || j.Pace != PaceSlow {
		t.Errorf("the last branch: %v, %+v", err, j)
	}
}

// TestBranches proves that the effects of a branch come beside those of the
// operation, and that a branch looks at the record after the latter.
func TestBranches(t *testing.T) {
	j := made(t)
	j.Tries = 8
	e, err := j.Try(TryInput{Name: "y", Other: "z", Left: "l"}, "me", now.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if e.To != StateDone || j.State != StateDone || j.Tries != 9 || !j.Names.Equal(fsm.NewSet("x", "y")) || !j.Others.IsZero() || j.Owner != fsm.Some("me") {
		t.Errorf("%+v led to %+v", e, j)
	}
	if !j.UpdatedAt.Equal(now.Add(time.Minute)) || j.Rev != 2 {
		t.Errorf("the record is of %v at revision %d", j.UpdatedAt, j.Rev)
	}
}

// TestTimeNeverRunsBack proves that updated_at is the larger of old and new.
func TestTimeNeverRunsBack(t *testing.T) {
	j := made(t)
	e, err := j.Swap(now.Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if !j.UpdatedAt.Equal(now) || e.Name != EventSwap {
		t.Errorf("updated_at is %v, the event is %v", j.UpdatedAt, e)
	}
}
