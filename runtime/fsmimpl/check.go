package fsmimpl

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// The seconds in which the years 1 and 10000 begin, after 1970. Comparing them
// takes a tenth of what it takes to ask a time for its year.
const (
	yearOne         = -62135596800
	yearTenThousand = 253402300800
)

// InYears reports whether every store can hold the time.
func InYears(t time.Time) bool {
	s := t.Unix()
	return s >= yearOne && s < yearTenThousand
}

// The Check functions return one of these when something is wrong with an input, or an
// error of the driver's Check functions.
var (
	errZeroTime      = errors.New("it is required and zero")
	errYear          = errors.New("it is outside the years 1 to 9999")
	errEmpty         = errors.New("it is required and empty")
	errEmptyOptional = errors.New("it is empty; leave it out instead")
	errMissing       = errors.New("it is required and missing")
	errNull          = errors.New("it is required and null")
	errNotJSON       = errors.New("it is not JSON")
	errNullOptional  = errors.New("it is null; leave it out instead")
)

// CheckTime looks at a time that has to be given.
func CheckTime(t time.Time) error {
	if t.IsZero() {
		return errZeroTime
	}
	return checkYear(t)
}

func checkYear(t time.Time) error {
	if !InYears(t) {
		return errYear
	}
	return nil
}

// CheckOptionalTime looks at a time that may be absent.
func CheckOptionalTime(o driver.Optional[time.Time]) error {
	if t, ok := o.Get(); ok {
		return checkYear(t)
	}
	return nil
}

// CutTime brings a time that may be absent into the form that records hold.
func CutTime(o driver.Optional[time.Time]) driver.Optional[time.Time] {
	if t, ok := o.Get(); ok {
		return driver.Some(driver.Time(t))
	}
	return o
}

// CheckText looks at a text that has to be given.
func CheckText(s string) error {
	if s == "" {
		return errEmpty
	}
	return driver.CheckText(s)
}

// CheckOptionalText looks at a text that may be absent.
func CheckOptionalText(o driver.Optional[string]) error {
	s, ok := o.Get()
	if ok && s == "" {
		return errEmptyOptional
	}
	return driver.CheckText(s)
}

// CheckLength looks at how many characters a text has: from least to most, or at least that
// many where most is 0.
func CheckLength(s string, least, most int) error {
	switch n := utf8.RuneCountInString(s); {
	case n >= least && (n <= most || most == 0):
		return nil
	case most == 0:
		return fmt.Errorf("it has %d characters, expected %d or more", n, least)
	default:
		return fmt.Errorf("it has %d characters, expected %d to %d", n, least, most)
	}
}

// CheckJSON looks at a JSON text that has to be given.
func CheckJSON(j driver.JSON) error {
	if j.IsZero() {
		return errMissing
	}
	if j.String() == "null" {
		return errNull
	}
	return driver.CheckJSON(j.String())
}

// CheckOptionalJSON looks at a JSON text that may be absent.
func CheckOptionalJSON(o driver.Optional[driver.JSON]) error {
	j, ok := o.Get()
	switch {
	case !ok:
		return nil
	case j.IsZero():
		return errNotJSON
	case j.String() == "null":
		return errNullOptional
	}
	return driver.CheckJSON(j.String())
}
