package fsmimpl

import (
	"time"

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

// The Bad functions say what is wrong with an input, or nothing.

// BadTime looks at a time that has to be given.
func BadTime(t time.Time) string {
	if t.IsZero() {
		return "it is required and zero"
	}
	return badYear(t)
}

func badYear(t time.Time) string {
	if !InYears(t) {
		return "it is outside the years 1 to 9999"
	}
	return ""
}

// BadOptionalTime looks at a time that may be absent.
func BadOptionalTime(o driver.Optional[time.Time]) string {
	if t, ok := o.Get(); ok {
		return badYear(t)
	}
	return ""
}

// CutTime brings a time that may be absent into the form that records hold.
func CutTime(o driver.Optional[time.Time]) driver.Optional[time.Time] {
	if t, ok := o.Get(); ok {
		return driver.Some(driver.Time(t))
	}
	return o
}

// BadText looks at a text that has to be given.
func BadText(s string) string {
	if s == "" {
		return "it is required and empty"
	}
	return problem(driver.CheckText(s))
}

// BadOptionalText looks at a text that may be absent.
func BadOptionalText(o driver.Optional[string]) string {
	s, ok := o.Get()
	if ok && s == "" {
		return "it is empty; leave it out instead"
	}
	return problem(driver.CheckText(s))
}

// BadJSON looks at a JSON text that has to be given.
func BadJSON(j driver.JSON) string {
	if j.IsZero() {
		return "it is required and missing"
	}
	if j.String() == "null" {
		return "it is required and null"
	}
	return problem(driver.CheckJSON(j.String()))
}

// BadOptionalJSON looks at a JSON text that may be absent.
func BadOptionalJSON(o driver.Optional[driver.JSON]) string {
	j, ok := o.Get()
	switch {
	case !ok:
		return ""
	case j.IsZero():
		return "it is not JSON"
	case j.String() == "null":
		return "it is null; leave it out instead"
	}
	return problem(driver.CheckJSON(j.String()))
}

// BadSet looks at a set.
func BadSet(s driver.Set) string { return problem(driver.CheckSet(s)) }

func problem(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
