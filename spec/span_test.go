package spec_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/spec"
)

// leaseWith is a machine with a duration, a value and a trigger of it.
func leaseWith(typ, value, guard, trigger string) string {
	return `fsm: 1
machine: lease
entity: Lease
otherwise: reject
fields:
  length: ` + typ + `
  started: time
  until: time
  spent: {type: duration, default: 0s}
  beats: counter
states: {held: {}, gone: {final: true}}
guards: {in_time: {when: ` + guard + `, error: too_late}}
operations:
  make: {creates: held, set: {length: input, started: now, until: now + 60s}}
  beat: {from: held, to: same, require: [in_time], increment: [beats], set: {` + value + `}}
  end: {by: system, from: held, to: gone, trigger: [` + trigger + `]}
`
}

func lease(t *testing.T, typ, value, guard, trigger string) *spec.Machine {
	t.Helper()
	m, found := spec.Parse("lease.yaml", []byte(leaseWith(typ, value, guard, trigger)))
	if m == nil || len(found) > 0 {
		t.Fatal(found)
	}
	return m
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for typ, want := range map[string]string{
		"duration":                  "duration",
		"duration 0s..":             "duration",
		"duration 0ms..36500d":      "duration",
		"duration 0s..36500d":       "duration",
		"duration  1s .. 1h":        "duration 1s..1h",
		"duration 60s..3600s":       "duration 1m..1h",
		"duration 1500ms..":         "duration 1500ms..",
		"duration 24h..":            "duration 1d..",
		"duration 90s..90s":         "duration 90s..90s",
		"duration 0s..36499d":       "duration 0s..36499d",
		"duration 1ms..3153600000s": "duration 1ms..",
	} {
		m := lease(t, typ, "until: now + length", "now < until", "after until")
		if got := m.Field("length").Type; got.String() != want || got.Kind != spec.KindDuration || *got.Min < 0 || *got.Max > spec.MaxSpan {
			t.Errorf("%s is %s, want %s", typ, got, want)
		}
	}
	m := lease(t, "duration 1s..1h", "until: now + length, spent: 1500ms", "now < started + length", "after started + length")
	set := m.Operation("beat").Effects.Set
	if v := set[0].Value; v.Kind != spec.ValueSum || spec.SumKind(v.Parts) != spec.KindTime || len(v.Fields()) != 1 ||
		v.Fields()[0].Name != "length" {
		t.Errorf("until is set to %+v", v)
	}
	if v := set[1].Value; v.Kind != spec.ValueSpan || v.Int != 1_500_000 {
		t.Errorf("spent is set to %+v", v)
	}
	tr := m.Operation("end").Triggers[0]
	if tr.By != m.Field("length") || tr.Plus != 0 || tr.Text != "after started + length" {
		t.Errorf("the trigger is %+v", tr)
	}
	// A constant that is added to now alone stays what it was before there were durations.
	m = lease(t, "duration", "until: now + 500ms", "now < until", "after until + 500ms")
	if v := m.Operation("beat").Effects.Set[0].Value; v.Kind != spec.ValueNow || v.Plus != 500*time.Millisecond {
		t.Errorf("until is set to %+v", v)
	}
	if tr := m.Operation("end").Triggers[0]; tr.Plus != 500*time.Millisecond || tr.By != nil {
		t.Errorf("the trigger is %+v", tr)
	}
}

// TestSumKind holds which sums are instants, and which are lengths.
func TestSumKind(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]spec.Kind{
		"until: now + length":                        spec.KindTime,
		"until: started + length - 5m":               spec.KindTime,
		"until: until - length":                      spec.KindTime,
		"until: length + now":                        spec.KindTime,
		"until: now - started + until":               spec.KindTime,
		"until: now + backoff 1s to 1h by beats":     spec.KindTime,
		"until: now + backoff 1s to length by beats": spec.KindTime,
		"spent: now - started":                       spec.KindDuration,
		"spent: until - started - 5m":                spec.KindDuration,
		"spent: spent + length":                      spec.KindDuration,
		"spent: spent + 0s":                          spec.KindDuration,
		"spent: backoff 1s to 1h by beats":           spec.KindDuration,
		"spent: 1h + backoff 1s to 1h by beats":      spec.KindDuration,
	} {
		m := lease(t, "duration", value, "now < until", "after until")
		if v := m.Operation("beat").Effects.Set[0].Value; v.Kind != spec.ValueSum || spec.SumKind(v.Parts) != want {
			t.Errorf("%s is %+v", value, v)
		}
	}
}

// TestSpansInHashes: another length is another machine, and another way to write it is none.
func TestSpansInHashes(t *testing.T) {
	t.Parallel()
	hash := func(typ, value, guard, trigger string) string { return lease(t, typ, value, guard, trigger).Hash }
	base := []string{"duration 1m..1h", "until: now + length + 1h", "now < started + 1h", "after started + length"}
	for _, c := range []struct {
		at   int
		text string
		same bool
	}{
		{0, "duration 60s..60m", true},
		{0, "duration 60000ms..3600s", true},
		{0, "duration 1m..2h", false},
		{0, "duration 1m..", false},
		{0, "duration", false},
		{1, "until: now + length + 60m", true},
		{1, "until: now + length + 2h", false},
		{1, "until: now + length - 1h", false},
		{1, "until: now + spent + 1h", false},
		{2, "now < started + 60m", true},
		{2, "now < started + 2h", false},
		{2, "now < started + length", false},
		{3, "after started + spent", false},
		{3, "after started + 1h", false},
		{3, "after started", false},
	} {
		other := append([]string(nil), base...)
		other[c.at] = c.text
		if same := hash(base[0], base[1], base[2], base[3]) == hash(other[0], other[1], other[2], other[3]); same != c.same {
			t.Errorf("%s and %s have one hash: %t", base[c.at], c.text, same)
		}
	}
	backoff := func(text string) string {
		return hash("duration", "until: now + backoff "+text, "now < until", "after until")
	}
	if backoff("60s to 1h by beats") != backoff("1m to 60m by beats") || backoff("1m to 1h by beats") == backoff("1m to 2h by beats") ||
		backoff("1m to 1h by beats") == backoff("2m to 1h by beats") || backoff("1m to 1h by beats") == backoff("1m to length by beats") {
		t.Error("the hash of a backoff")
	}
}

func TestSpanText(t *testing.T) {
	t.Parallel()
	for micros, want := range map[int64]string{
		0: "0s", 1: "1µs", 1500: "1.5ms", 1000: "1ms", 1_500_000: "1500ms", 90_000_000: "90s", 3_600_000_000: "1h", 86_400_000_000: "1d",
		5_400_000_000: "90m", spec.MaxSpan: "36500d",
	} {
		if got := spec.SpanText(micros); got != want {
			t.Errorf("%d µs are %s, want %s", micros, got, want)
		}
	}
}

// TestBackoffLength: the smaller one of the longest and base × 2^n, for any n.
func TestBackoffLength(t *testing.T) {
	t.Parallel()
	b := &spec.Backoff{}
	for _, c := range []struct{ base, longest, n, want int64 }{
		{10, 3600, 0, 10}, {10, 3600, 1, 20}, {10, 3600, 8, 2560}, {10, 3600, 9, 3600}, {10, 3600, 1 << 62, 3600}, {10, 10, 5, 10},
		{10, 5, 0, 5}, {0, 5, 1 << 62, 0}, {1, spec.MaxSpan, 1 << 62, spec.MaxSpan},
		{spec.MaxSpan, spec.MaxSpan, 3, spec.MaxSpan}, {10, 3600, -1, 10},
	} {
		if got := b.Length(c.base, c.longest, c.n); got != c.want {
			t.Errorf("backoff %d to %d after %d is %d, want %d", c.base, c.longest, c.n, got, c.want)
		}
	}
}

// A creation has no record whose lengths a sum could read.
func TestSpansOfCreations(t *testing.T) {
	t.Parallel()
	for value, says := range map[string]string{
		"until: now + input.length":                        "",
		"until: now + backoff input.length to 1h by beats": "so field beats has no value yet",
		"until: now + length":                              "so field length has no value yet",
		"until: now + spent":                               "so field spent has no value yet",
		"until: started + 60s":                             "so field started has no value yet",
		"until: created_at + 60s":                          "write `now`",
	} {
		src := strings.Replace(leaseWith("duration", "until: now", "now < until", "after until"), "until: now + 60s", value, 1)
		_, found := spec.Parse("lease.yaml", []byte(src))
		if (says == "") != (len(found) == 0) || says != "" && !strings.Contains(fmt.Sprint(found, found[0].Hint), says) {
			t.Errorf("%s: %v, want %q", value, found, says)
		}
	}
}

// A length in another way of writing has a fix, which works.
func TestFixesOfSpans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, next string }{
		{"spent: {type: duration, default: 0s}", "spent: {type: duration, default: 1h30m}"},
		{"spent: {type: duration, default: 0s}", "spent: {type: duration, default: 30 sec}"},
		{"until: now + length", "until: now + 5min"},
		{"until: now + length", "until: now + 1m30s"},
		{"until: now + length", "until: until + 2hours"},
		{"until: now + length", "until: now + length, spent: 2 minutes"},
		{"until: now + length", "until: now + length, spent: spent + 1h30m"},
		{"until: now + length", "until: now + length, spent: 5m + 10m"},
		{"now < until", "now < until + 3days"},
		{"after until", "after until + 1h30m"},
		{"length: duration", "length: duration ..1h"},
		{"length: duration", "length: duration 1h..1s"},
	} {
		src := leaseWith("duration", "until: now + length", "now < until", "after until")
		bad := []byte(strings.Replace(src, c.old, c.next, 1))
		_, found := spec.Parse("lease.yaml", bad)
		if len(found) != 1 || len(found[0].Fix) == 0 {
			t.Errorf("%s: %v, want one finding with a fix", c.next, found)
			continue
		}
		if m, again := spec.Parse("lease.yaml", fixed(found, bad)); m == nil || len(again) > 0 {
			t.Errorf("%s: the fix leads to %v\n%s", c.next, again, fixed(found, bad))
		}
	}
}
