package purekit

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestOptional(t *testing.T) {
	t.Parallel()
	for want, text := range map[Optional[int]]string{{}: "null", Some(7): "7"} {
		got := Some(8)
		b, err := json.Marshal(want)
		if failed := json.Unmarshal([]byte(text), &got); err != nil || failed != nil || string(b) != text || got != want {
			t.Errorf("%v is %s (%v) and %s is %v (%v)", want, b, err, text, got, failed)
		}
		v, ok := want.Get()
		there := text == "7"
		if ok != there || want.Present() != there || want.IsZero() == there || v != want.Or(0) || (want.Or(9) == 7) != there {
			t.Errorf("%v has %d, %t", want, v, ok)
		}
		if name := want.String(); (name == "7") != there || (name == "absent") == there {
			t.Errorf("%q is the text of %s", name, text)
		}
	}
	if bad := Some(1); json.Unmarshal([]byte(`"x"`), &bad) == nil || bad.Present() {
		t.Errorf("a text is read as %v", bad)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{`{ "a": [1.0] }`: `{"a":[1.0]}`, "null": "", "[": "", "": ""} {
		v, err := ParseJSON(text)
		b, failed := json.Marshal(v)
		var to any
		bad, written := text == "[" || text == "", want
		if want == "" {
			written = "null"
		}
		if (err != nil) != bad || failed != nil || string(b) != written || v.String() != want || v.IsZero() != (want == "") ||
			(v.Decode(&to) == nil) != (want != "") {
			t.Errorf("%q is %q (%v), written %s (%v)", text, v, err, b, failed)
		}
		var back JSON
		if err := json.Unmarshal([]byte(text), &back); (err != nil) != bad || back != v {
			t.Errorf("%q is read as %q (%v)", text, back, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("[ is JSON")
		}
	}()
	MustJSON("[")
}

func TestSet(t *testing.T) {
	t.Parallel()
	a, ab := NewSet("a"), NewSet("b", "a", "b")
	if a.With("b") != ab || ab.With("a") != ab || !ab.Equal(NewSet("a", "b")) || ab.Equal(a) || ab.Len() != 2 || ab.String() != "{a, b}" {
		t.Errorf("%v and %v are the sets of a, and of a and b", a, ab)
	}
	if ab.Without(a) != NewSet("b") || !a.Without(ab).IsZero() || a.Without(NewSet("b")) != a {
		t.Errorf("%v without %v: %v", ab, a, ab.Without(a))
	}
	if !ab.Has("b") || a.Has("b") || !ab.Covers(a) || a.Covers(ab) || !a.Covers(NewSet()) || a.IsZero() || !NewSet().IsZero() {
		t.Errorf("%v and %v have the wrong members", a, ab)
	}
	for want, text := range map[Set]string{ab: `["a","b"]`, {}: "[]", NewSet(`"`, ","): `["\"",","]`} {
		var read Set
		b, err := json.Marshal(want)
		if failed := json.Unmarshal(b, &read); string(b) != text || err != nil || failed != nil || read != want {
			t.Errorf("%v is written %s (%v) and read as %v (%v)", want, b, err, read, failed)
		}
		if json.Unmarshal([]byte("7"), &read) == nil {
			t.Error("7 is read as a set")
		}
	}
}

// What an input is refused for is what the runtime refuses it for.
func TestChecks(t *testing.T) {
	t.Parallel()
	late := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	early := time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct{ good, bad []error }{
		"text": {
			[]error{checkText("a"), checkOptionalText(Some("a")), checkOptionalText(Optional[string]{}), checkCharacters("")},
			[]error{checkText(""), checkText("a\x00"), checkText("\xff"), checkOptionalText(Some("")), checkOptionalText(Some("\x00"))},
		},
		"length": {
			[]error{checkLength("ab", 2, 3), checkLength("äöü", 2, 3), checkLength(strings.Repeat("a", 99), 2, 0)},
			[]error{checkLength("ä", 2, 3), checkLength("abcd", 2, 3), checkLength("a", 2, 0)},
		},
		"actor": {[]error{checkActor(strings.Repeat("a", 255))}, []error{checkActor(strings.Repeat("a", 256)), checkActor(""), checkActor("\xff")}},
		"time": {
			[]error{checkTime(time.Now()), checkOptionalTime(Optional[time.Time]{}), checkOptionalTime(Some(time.Time{}))},
			[]error{checkTime(time.Time{}), checkTime(late), checkTime(early), checkOptionalTime(Some(late))},
		},
		"json": {
			[]error{checkJSON(MustJSON(`"\\u0000"`)), checkOptionalJSON(Some(MustJSON("{}"))), checkOptionalJSON(Optional[JSON]{})},
			[]error{checkJSON(JSON{}), checkJSON(MustJSON(`["\u0000"]`)), checkOptionalJSON(Some(JSON{})), checkJSON(JSON{"\"\xff\""})},
		},
		"set": {[]error{checkSet(NewSet("a")), checkSet(NewSet())}, []error{checkSet(NewSet("a", "")), checkSet(NewSet("\x00"))}},
	} {
		for i, err := range c.good {
			if err != nil {
				t.Errorf("%s %d: %v", name, i, err)
			}
		}
		for i, err := range c.bad {
			if err == nil {
				t.Errorf("%s %d is not refused", name, i)
			}
		}
	}
	zone := time.FixedZone("x", 3600)
	cut := cutTime(time.Date(2026, 1, 2, 3, 4, 5, 678901999, zone))
	if want := time.Date(2026, 1, 2, 2, 4, 5, 678901000, time.UTC); cut != want || cutOptionalTime(Some(cut.In(zone))) != Some(want) || cutOptionalTime(Optional[time.Time]{}).Present() {
		t.Errorf("the time is cut to %v", cut)
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	own := newError("not_owner", "not the owner")
	for _, c := range []struct {
		refusal Refusal
		want    string
	}{
		{Refusal{Code: ErrTerminal, State: "shut"}, "door: open in state shut: the record is in a terminal state"},
		{Refusal{Code: ErrWrongState, State: "shut", Allowed: "a, b"}, "door: open in state shut: not possible in this state; possible in a, b"},
		{Refusal{Code: ErrInvalidInput, Name: "key", Message: "it is empty"}, "door: open: the input is invalid: key: it is empty"},
		{Refusal{Code: ErrGuard, Guard: "mine", Cause: own, Values: "owner ben"}, "door: open: guard mine refuses: not the owner (owner ben)"},
		{Refusal{Code: ErrGuard, Guard: "mine", Cause: own, Message: "go away"}, "door: open: guard mine refuses: go away"},
		{Refusal{Code: ErrActorMissing}, "door: open: the call names no actor"},
		{Refusal{Code: ErrReasonMissing}, "door: open: the call gives no reason"},
		{Refusal{Code: ErrInvariant, Name: "x"}, "door: open: the record would break an invariant: x"},
		{Refusal{Code: ErrOverflow, Name: "n"}, "door: open: a field cannot hold its new value: n"},
		{Refusal{Code: "else"}, "door: open: else"},
	} {
		c.refusal.Machine, c.refusal.Operation = "door", "open"
		var err error = &c.refusal
		if err.Error() != c.want || !errors.Is(err, c.refusal.Code) || errors.Is(err, Code("other")) {
			t.Errorf("%q, want %q", err, c.want)
		}
		if name := c.refusal.ErrorName(); c.refusal.Cause != nil && (name != "not_owner" || !errors.Is(err, own)) || c.refusal.Cause == nil && name != string(c.refusal.Code) {
			t.Errorf("%q is called %s", err, name)
		}
	}
	if ErrGuard.Error() != "a guard refuses" {
		t.Errorf("a guard says %q", ErrGuard.Error())
	}
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	got := valuesOf("owner", Some("ben"), "n", int64(3), "at", at, "long", strings.Repeat("ä", 81))
	if want := "owner ben, n 3, at 2026-01-01T12:00:00Z, long " + strings.Repeat("ä", 80) + "…"; got != want {
		t.Errorf("the values are %q, want %q", got, want)
	}
}

// A length is kept in whole microseconds, and one that grows is never longer than it may be.
func TestLengths(t *testing.T) {
	t.Parallel()
	if got := cutDuration(Some(1500 * time.Nanosecond)); got != Some(time.Microsecond) || cutDuration(Optional[time.Duration]{}).Present() {
		t.Errorf("1500ns is cut to %v", got)
	}
	for d, want := range map[time.Duration]time.Duration{-1: -1000, -500: -1000, -1000: -1000, -2500: -2000, 0: 0, 999: 0, 1001: 1000, -1 << 63: -1 << 63 / 1000 * 1000} {
		if got := cutLength(d); got != want || cutDuration(Some(d)) != Some(want) {
			t.Errorf("%d ns are cut to %d, want %d", d, got, want)
		}
	}
	if got := microsOf(Some(2 * time.Second)); got != Some(int64(2_000_000)) || microsOf(Optional[time.Duration]{}).Present() {
		t.Errorf("2s are %v microseconds", got)
	}
	if got := ofMicros(Some(int64(1) << 62)); got != Some(time.Duration(-1)) {
		t.Errorf("more microseconds than a length has are %v", got)
	}
	if got := ofMicros(Some(int64(2_000_000))); got != Some(2*time.Second) || ofMicros(Optional[int64]{}).Present() {
		t.Errorf("2 000 000 microseconds are %v", got)
	}
	for _, tt := range []struct {
		base, longest time.Duration
		n             int64
		want          time.Duration
	}{
		{10 * time.Second, time.Hour, 0, 10 * time.Second}, {10 * time.Second, time.Hour, 3, 80 * time.Second},
		{10 * time.Second, time.Hour, 9, time.Hour}, {10 * time.Second, time.Hour, 1 << 62, time.Hour},
		{time.Minute, time.Second, 0, time.Second}, {0, time.Second, 5, 0}, {time.Second, maxDuration, 1 << 40, maxDuration},
	} {
		if got := backoff(tt.base, tt.longest, tt.n); got != tt.want {
			t.Errorf("%v to %v after %d is %v, want %v", tt.base, tt.longest, tt.n, got, tt.want)
		}
	}
}
