package purekit

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// cutTime returns t as records hold it: UTC, cut to microseconds, without a
// monotonic clock.
func cutTime(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// cutOptionalTime is cutTime for a time that may be absent.
func cutOptionalTime(o Optional[time.Time]) Optional[time.Time] {
	if t, ok := o.Get(); ok {
		return Some(cutTime(t))
	}
	return o
}

// cutLength returns a length as records hold it: whole microseconds. What is less than none stays
// so, and is refused.
func cutLength(d time.Duration) time.Duration {
	if d < 0 {
		return min(d.Truncate(time.Microsecond), -time.Microsecond)
	}
	return d.Truncate(time.Microsecond)
}

// cutDuration is cutLength for a length that may be absent.
func cutDuration(o Optional[time.Duration]) Optional[time.Duration] {
	if d, ok := o.Get(); ok {
		return Some(cutLength(d))
	}
	return o
}

// maxDuration is the longest length that a record holds: 100 years of 365 days.
const maxDuration = 876000 * time.Hour

// backoff is the smaller one of longest and base × 2^n.
func backoff(base, longest time.Duration, n int64) time.Duration {
	for ; n > 0 && base > 0 && base < longest; n-- {
		base *= 2 // twice a length of 100 years at most, which is no overflow
	}
	return min(base, longest)
}

// inYears reports whether a time is in the years 1 to 9999.
func inYears(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 1 && year <= 9999
}

// checkTime looks at a time that has to be given.
func checkTime(t time.Time) error {
	if t.IsZero() {
		return errors.New("it is required and zero")
	}
	return checkYear(t)
}

// checkOptionalTime looks at a time that may be absent.
func checkOptionalTime(o Optional[time.Time]) error {
	if t, ok := o.Get(); ok {
		return checkYear(t)
	}
	return nil
}

// checkYear looks at the year of a time.
func checkYear(t time.Time) error {
	if !inYears(t) {
		return errors.New("it is outside the years 1 to 9999")
	}
	return nil
}

// checkText looks at a text that has to be given.
func checkText(s string) error {
	if s == "" {
		return errors.New("it is required and empty")
	}
	return checkCharacters(s)
}

// checkOptionalText looks at a text that may be absent.
func checkOptionalText(o Optional[string]) error {
	s, ok := o.Get()
	if ok && s == "" {
		return errors.New("it is empty; leave it out instead")
	}
	return checkCharacters(s)
}

// checkLength looks at how many characters a text has: from least to most, or at least that
// many where most is 0.
func checkLength(s string, least, most int) error {
	switch n := utf8.RuneCountInString(s); {
	case n >= least && (n <= most || most == 0):
		return nil
	case most == 0:
		return fmt.Errorf("it has %d characters, expected %d or more", n, least)
	default:
		return fmt.Errorf("it has %d characters, expected %d to %d", n, least, most)
	}
}

// checkCharacters returns an error unless a text is UTF-8 without NUL.
func checkCharacters(s string) error {
	if !utf8.ValidString(s) {
		return errors.New("it is not UTF-8")
	}
	if strings.ContainsRune(s, 0) {
		return errors.New("it holds a NUL character")
	}
	return nil
}

// checkActor returns an error unless a text can name who calls: not empty, at most 255 bytes.
func checkActor(s string) error {
	const most = 255
	if len(s) > most {
		return fmt.Errorf("it has %d bytes, at most %d are possible", len(s), most)
	}
	return checkText(s)
}

// checkJSON looks at a JSON text that has to be given.
func checkJSON(v JSON) error {
	if v.IsZero() {
		return errors.New("it is required and missing")
	}
	for rest := v.String(); ; {
		before, after, found := strings.Cut(rest, `\u0000`)
		if !found {
			return checkCharacters(v.String())
		}
		if backslashes := len(before) - len(strings.TrimRight(before, `\`)); backslashes%2 == 0 {
			return errors.New("it holds a NUL character")
		}
		rest = after
	}
}

// checkOptionalJSON looks at a JSON text that may be absent.
func checkOptionalJSON(o Optional[JSON]) error {
	v, ok := o.Get()
	if ok && v.IsZero() {
		return errors.New("it is null; leave it out instead")
	}
	if !ok {
		return nil
	}
	return checkJSON(v)
}

// checkSet returns an error unless every member is a text, and none is empty.
func checkSet(s Set) error {
	for _, item := range s.Items() {
		if item == "" {
			return errors.New("a member is empty")
		}
		if err := checkCharacters(item); err != nil {
			return fmt.Errorf("member %q: %w", item, err)
		}
	}
	return nil
}
