package fsm_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fsmgen/fsmgen/runtime/driver"
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
		if got, want := driver.Time(at), at.UTC().Truncate(time.Microsecond); got != want {
			t.Fatalf("%v is cut to %v, want %v", at, got, want)
		}
	})
	if now := time.Now(); driver.Time(now) != now.UTC().Truncate(time.Microsecond) {
		t.Errorf("%v keeps its monotonic clock: %v", now, driver.Time(now))
	}
}

// The function driver.CheckText refuses what a database would not store as it is.
func TestCheckText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "plain": "", "日本": "", "a\x00b": "NUL", "\x80": "UTF-8", "x\xc3": "UTF-8",
	} {
		err := driver.CheckText(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("CheckText(%q): got %v, want %q", text, err, want)
		}
	}
	for size := range 20 {
		for at := range size {
			for c := range 256 {
				b := bytes.Repeat([]byte{'a', 1, 127}, size)[:size]
				b[at] = byte(c)
				if got, want := driver.CheckText(string(b)) == nil, c > 0 && c < 128; got != want {
					t.Errorf("CheckText(%q) lets it through: %v", b, got)
				}
			}
		}
	}
}
