package fsm_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// Time cuts as Truncate does, at any instant and in any zone.
func TestTimeCuts(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("east", 5*3600+1800)
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(-100_000_000_000, 300_000_000_000).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		if rapid.Bool().Draw(t, "zone") {
			at = at.In(zone)
		}
		if got, want := fsm.Time(at), at.UTC().Truncate(time.Microsecond); got != want {
			t.Fatalf("%v is cut to %v, want %v", at, got, want)
		}
	})
	if now := time.Now(); fsm.Time(now) != now.UTC().Truncate(time.Microsecond) {
		t.Errorf("%v keeps its monotonic clock: %v", now, fsm.Time(now))
	}
}

// CheckText says what its two conditions say, for texts of every length.
func TestCheckTextOfEveryLength(t *testing.T) {
	t.Parallel()
	parts := []string{"a", "Z9_-", "\x7f", "\x80", "ü", "日本", "\x00", "\xff", "\xc3", strings.Repeat("x", 20)}
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 12).Draw(t, "parts"), "")
		want := ""
		switch {
		case !utf8.ValidString(s):
			want = "UTF-8"
		case strings.ContainsRune(s, 0):
			want = "NUL"
		}
		err := fsm.CheckText(s)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Fatalf("CheckText(%q): got %v, want %q", s, err, want)
		}
	})
	// Each place of a short and of a long text is looked at.
	for _, n := range []int{1, 39, 40, 41, 200} {
		for i := range n {
			b := []byte(strings.Repeat("x", n))
			b[i] = 0
			if fsm.CheckText(string(b)) == nil {
				t.Errorf("a NUL at %d of %d is not seen", i, n)
			}
		}
	}
}
