package interp_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/interp"
)

func TestSetValue(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		set  interp.Value
		want []string
	}{
		{"empty", interp.Set(), nil},
		{"sorted without repetitions", interp.Set("b", "a", "b"), []string{"a", "b"}},
		{"members that need quotes", interp.Set(`a","b`, "]", `"`), []string{`"`, `]`, `a","b`}},
		{"members that JSON and Go quote each in its way", interp.Set("\x01o", "\u2028", "\x7f"), []string{"\x01o", "\x7f", "\u2028"}},
		{"the empty member", interp.Set(""), []string{""}},
		{"bytes that are not UTF-8", interp.Set("\xff", "é"), []string{"é", "\xff"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.set.Members()); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
			if got := tt.set.IsPresent(); got != (len(tt.want) > 0) {
				t.Errorf("present: %t", got)
			}
			if !slices.Contains(tt.want, "\xff") && !json.Valid([]byte(tt.set.Text)) {
				t.Errorf("%s is not JSON", tt.set.Text)
			}
			if again := interp.Set(tt.set.Members()...); again != tt.set {
				t.Errorf("%v made again is %v", tt.set, again)
			}
		})
	}
	ab, b := interp.Set("a", "b"), interp.Set("b")
	if !ab.Covers(b) || b.Covers(ab) || !b.Covers(interp.Set()) || !ab.Has("a") || b.Has("a") || b.Union(interp.Set("a")) != ab {
		t.Error("covers, has or union is wrong")
	}
}

func TestValuesAreEqualByMeaning(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("somewhere", 3600)
	equal := [][2]interp.Value{
		{interp.Time(t0), interp.Time(t0.In(berlin))},
		{interp.Time(t0), interp.Time(t0.Add(999 * time.Nanosecond))},
		{interp.JSON(`{"a": 1}`), interp.JSON(`{"a":1}`)},
		{interp.Set("a", "b"), interp.Set("b", "a")},
	}
	for _, pair := range equal {
		if pair[0] != pair[1] {
			t.Errorf("%v and %v differ", pair[0], pair[1])
		}
	}
	differ := [][2]interp.Value{
		{interp.Time(t0), interp.Time(t0.Add(time.Microsecond))},
		{interp.JSON(`1.0`), interp.JSON(`1`)}, // numbers stay as written
		{interp.JSON(`null`), interp.Absent},
		{interp.String(""), interp.Absent},
		{interp.String("a"), interp.Word("a")},
	}
	for _, pair := range differ {
		if pair[0] == pair[1] {
			t.Errorf("%v and %v are equal", pair[0], pair[1])
		}
	}
}

func TestValueOrder(t *testing.T) {
	t.Parallel()
	ascending := [][]interp.Value{
		{interp.Absent, interp.Int(-1), interp.Int(0), interp.Int(10)},
		{interp.Absent, interp.String(""), interp.String("B"), interp.String("a"), interp.String("é")},
		{interp.Absent, interp.Time(time.Time{}), interp.Time(t0), interp.Time(at(1))},
		{interp.Absent, interp.Bool(false), interp.Bool(true)},
	}
	for _, list := range ascending {
		for i, a := range list {
			for j, b := range list {
				if got, want := a.Compare(b), min(max(i-j, -1), 1); got != want {
					t.Errorf("%v against %v: %d, want %d", a, b, got, want)
				}
			}
		}
	}
}

// A counter without a value is 0 and a set is empty: neither is ever absent.
func TestRecordWith(t *testing.T) {
	t.Parallel()
	m := parse(t, effectsSpec)
	r := interp.NewRecord(m, "a").With(m, "hits", interp.Int(3)).With(m, "seen", interp.Set("x")).With(m, "a", interp.String("x"))
	cleared := r.With(m, "hits", interp.Absent).With(m, "seen", interp.Absent).With(m, "a", interp.Absent)
	for field, want := range (in{"hits": interp.Int(0), "seen": interp.Set(), "a": interp.Absent}) {
		if got := cleared.Value(m, m.Field(field)); got != want {
			t.Errorf("%s is %v, want %v", field, got, want)
		}
	}
	if r.Value(m, m.Field("hits")) != interp.Int(3) {
		t.Error("the first record was changed")
	}
}
