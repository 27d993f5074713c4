package console

import (
	"testing"
	"time"
)

// A figure of times is exact where it is known, and else the least that it can be.
func TestTimesOf(t *testing.T) {
	t.Parallel()
	const h = time.Hour
	stays := func(known int, d time.Duration, unknown int, least time.Duration) (list []stay) {
		for range known {
			list = append(list, stay{d, false})
		}
		for range unknown {
			list = append(list, stay{least, true})
		}
		return list
	}
	for name, c := range map[string]struct {
		list                []stay
		half, most, longest string
	}{
		"two":           {append(stays(1, time.Minute, 0, 0), stay{2 * h, false}), "1 min 0 s", "2 h 0 min", "2 h 0 min"},
		"one of twenty": {append(stays(19, time.Minute, 0, 0), stay{10 * h, false}), "1 min 0 s", "1 min 0 s", "10 h 0 min"},
		"all unknown":   {stays(0, 0, 3, h), "more than 1 h 0 min", "more than 1 h 0 min", "more than 1 h 0 min"},
		"few unknown":   {append(stays(9, h, 0, 0), stay{2 * h, true}), "1 h 0 min", "more than 2 h 0 min", "more than 2 h 0 min"},
		"short unknown": {append(stays(1, 20*h, 0, 0), stay{time.Minute, true}), "more than 1 min 0 s", "more than 20 h 0 min", "more than 20 h 0 min"},
		"half unknown":  {append(stays(5, h, 10, 2*h), stays(6, 20*h, 0, 0)...), "more than 2 h 0 min", "more than 20 h 0 min", "more than 20 h 0 min"},
	} {
		got := timesOf("held", c.list)
		if got.Half != c.half || got.Most != c.most || got.Longest != c.longest {
			t.Errorf("%s: %q, %q, %q; want %q, %q, %q", name, got.Half, got.Most, got.Longest, c.half, c.most, c.longest)
		}
	}
}
