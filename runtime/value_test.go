package fsm_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

func TestTime(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("x", 3600)
	a := driver.Time(time.Date(2026, 1, 2, 3, 4, 5, 678901999, zone))
	b := driver.Time(time.Date(2026, 1, 2, 2, 4, 5, 678901000, time.UTC))
	if a != b {
		t.Errorf("%v and %v are the same instant at a microsecond", a, b)
	}
	if now := driver.Time(time.Now()); now != now.Round(0) {
		t.Error("the monotonic clock is still there")
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	j := fsm.MustJSON(" { \"b\" : 1.0 , \"a\" : [ ] } ")
	if j.String() != `{"b":1.0,"a":[]}` {
		t.Errorf("got %s", j)
	}
	for _, bad := range []string{"", "{", `{"a":1} x`, "nul", "'a'"} {
		if _, err := fsm.ParseJSON(bad); err == nil {
			t.Errorf("%q was taken for JSON", bad)
		}
	}
	var back fsm.JSON
	b, err := json.Marshal(j)
	if err != nil || json.Unmarshal(b, &back) != nil || back != j {
		t.Errorf("got %s back, %v", back, err)
	}
	if b, err := json.Marshal(fsm.JSON{}); err != nil || string(b) != "null" || !(fsm.JSON{}).IsZero() {
		t.Errorf("no text is %s, %v", b, err)
	}
	var scanned fsm.JSON
	for _, src := range []any{j.String(), []byte(j.String())} {
		if err := scanned.Scan(src); err != nil || scanned != j {
			t.Errorf("Scan(%T): %s, %v", src, scanned, err)
		}
	}
	if err := scanned.Scan(7); err == nil {
		t.Error("a number was scanned as a JSON text")
	}
	if v, err := j.Value(); err != nil || v != j.String() {
		t.Errorf("Value: %v, %v", v, err)
	}
}

func TestOptional(t *testing.T) {
	t.Parallel()
	some, none := fsm.Some(7), fsm.Optional[int]{}
	if v, ok := some.Get(); v != 7 || !ok || !some.Present() || some.Or(1) != 7 || some.IsZero() {
		t.Errorf("got %v", some)
	}
	if v, ok := none.Get(); v != 0 || ok || none.Present() || none.Or(1) != 1 || !none.IsZero() {
		t.Errorf("got %v", none)
	}
	for _, o := range []fsm.Optional[int]{some, none} {
		b, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		back := fsm.Some(99)
		if err := json.Unmarshal(b, &back); err != nil || back != o {
			t.Errorf("%s came back as %v, %v", b, back, err)
		}
		v, err := o.Value()
		if err != nil {
			t.Fatal(err)
		}
		if err := back.Scan(v); err != nil || back != o {
			t.Errorf("%v was scanned as %v, %v", v, back, err)
		}
	}
	failed := fsm.Some(1)
	if err := json.Unmarshal([]byte(`"x"`), &failed); err == nil {
		t.Error("a text became a number")
	}
}

// A set behaves as a map of strings does.
func TestSet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		items := rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "c", "ä", ""}))
		a, b := items.Draw(rt, "a"), items.Draw(rt, "b")
		s, u := fsm.NewSet(a...), fsm.NewSet(b...)
		model := map[string]bool{}
		for _, item := range a {
			model[item] = true
		}
		if s.Len() != len(model) || s.IsZero() != (len(model) == 0) || !slices.IsSorted(s.Items()) {
			rt.Fatalf("got %v of %q", s, a)
		}
		covers := true
		for _, item := range b {
			covers = covers && model[item]
			if s.Has(item) != model[item] {
				rt.Fatalf("Has(%q) is %v in %v", item, s.Has(item), s)
			}
			if with := s.With(item); !with.Has(item) || !with.Covers(s) || with.Len() > s.Len()+1 {
				rt.Fatalf("%v with %q is %v", s, item, with)
			}
		}
		if s.Covers(u) != covers {
			rt.Fatalf("%v covers %v: %v", s, u, s.Covers(u))
		}
		for _, item := range s.Without(u).Items() {
			if u.Has(item) || !s.Has(item) {
				rt.Fatalf("%v without %v has %q", s, u, item)
			}
		}
		var back, scanned fsm.Set
		text, err := s.MarshalJSON()
		if err != nil || back.UnmarshalJSON(text) != nil || !back.Equal(s) {
			rt.Fatalf("%s came back as %v, %v", text, back, err)
		}
		v, err := s.Value()
		if err != nil || scanned.Scan(v) != nil || !scanned.Equal(s) || v != s.Text() {
			rt.Fatalf("%v was scanned as %v, %v", v, scanned, err)
		}
	})
	var s fsm.Set
	if s.Scan(7) == nil || s.Scan("{") == nil || s.Scan(nil) != nil || s.Scan([]byte(`["x"]`)) != nil || !s.Has("x") {
		t.Errorf("got %v", s)
	}
	if driver.CheckSet(fsm.NewSet("a", "")) == nil || driver.CheckSet(fsm.NewSet("a", "b\x00")) == nil || driver.CheckSet(fsm.NewSet("a")) != nil {
		t.Error("CheckSet takes a NUL, or refuses a text")
	}
}
