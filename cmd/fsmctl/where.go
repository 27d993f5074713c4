package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/spec"
)

// whereOps are the comparisons of --where, those of two characters first.
var whereOps = []struct {
	text string
	op   driver.Op
}{
	{"!=", driver.OpNe}, {"<=", driver.OpLe}, {">=", driver.OpGe}, {"=", driver.OpEq}, {"<", driver.OpLt}, {">", driver.OpGt},
}

// readWhere reads a comparison: owner=w1, attempt>=3, lease<now, "owner absent".
func readWhere(m *spec.Machine, text string, now time.Time) (driver.Cond, error) {
	at := strings.IndexAny(text, "=<>!")
	if at < 0 {
		name, word, _ := strings.Cut(text, " ")
		op, known := map[string]driver.Op{"present": driver.OpPresent, "absent": driver.OpAbsent}[strings.TrimSpace(word)]
		if !known {
			return driver.Cond{}, cli.Usagef("--where %q compares nothing; write FIELD=VALUE, or one of != < <= > >= for =, or \"FIELD absent\"", text)
		}
		f, err := fieldOf(m, name)
		if err != nil {
			return driver.Cond{}, err
		}
		return driver.Cond{Column: f.Stored(), Op: op}, nil
	}
	f, err := fieldOf(m, strings.TrimSpace(text[:at]))
	if err != nil {
		return driver.Cond{}, err
	}
	for _, o := range whereOps {
		value, found := strings.CutPrefix(text[at:], o.text)
		if !found {
			continue
		}
		c := driver.Cond{Column: f.Stored(), Op: o.op}
		if f.Type.Kind != spec.KindString || strings.HasPrefix(value, " ") {
			value = strings.TrimSpace(value)
		}
		if c.Value, err = readValue(f, o.text, value, now); err != nil {
			return c, err
		}
		return c, nil
	}
	return driver.Cond{}, cli.Usagef("--where %q has no comparison; write one of = != < <= > >= behind the field", text)
}

// fieldOf finds a field by its name.
func fieldOf(m *spec.Machine, name string) (*spec.Field, error) {
	var names []string
	for _, f := range m.Fields {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return nil, cli.Usagef("--where: %s has no field %q; it has %s", m.Name, name, strings.Join(names, ", "))
}

// readValue reads a value of a field as a person writes it, into what rows hold.
func readValue(f *spec.Field, op, text string, now time.Time) (any, error) {
	wrong := func(expected string) error {
		return cli.Usagef("--where: %s is %s, not %q", f.Name, expected, text)
	}
	switch f.Type.Kind {
	case spec.KindInt, spec.KindCounter, spec.KindSequence:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, wrong("a whole number")
		}
		return n, nil
	case spec.KindDuration:
		n, err := spec.ParseSpan(text)
		if err != nil {
			return nil, wrong("a length of time, such as 90s or 2h")
		}
		return n, nil
	case spec.KindBool:
		if text != "true" && text != "false" {
			return nil, wrong("true or false")
		}
		return text == "true", nil
	case spec.KindTime:
		t, ok := readTime(text, now)
		if !ok {
			return nil, wrong("a time: " + timeForm)
		}
		return t, nil
	case spec.KindEnum:
		var words []string
		for _, w := range f.Type.Values {
			words = append(words, w.Name)
			if w.Name == text && (op == "=" || op == "!=") {
				return w.Stored(), nil
			}
		}
		if slices.Contains(words, text) {
			return nil, cli.Usagef("--where: the words of %s have no order; write = or != for %s", f.Name, op)
		}
		return nil, wrong("one of " + strings.Join(words, ", "))
	case spec.KindJSON, spec.KindSet:
		return nil, cli.Usagef("--where: %s holds more than one value; ask for \"%s present\" or \"%s absent\"", f.Name, f.Name, f.Name)
	}
	return text, nil
}

// timeForm is how a time is written.
const timeForm = "2026-01-02T15:04:05Z, 2026-01-02, now, or a length such as 90m for that long ago"

// readTime reads a time, in UTC where it names no zone.
func readTime(text string, now time.Time) (time.Time, bool) {
	if text == "now" {
		return driver.Time(now), true
	}
	if micros, err := spec.ParseSpan(text); err == nil {
		return driver.Time(now.Add(-time.Duration(micros) * time.Microsecond)), true
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(form, text); err == nil {
			return driver.Time(t), true
		}
	}
	return time.Time{}, false
}

// flagTime reads the time of a flag; zero without one.
func flagTime(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, ok := readTime(text, now); ok {
		return t, nil
	}
	return time.Time{}, cli.Usagef("--%s is %q; write a time: %s", flag, text, timeForm)
}

// statesOf finds states by their names.
func statesOf(m *spec.Machine, names []string) (words []string, err error) {
	for _, name := range names {
		i := slices.IndexFunc(m.States, func(s *spec.State) bool { return s.Name == name })
		if i < 0 {
			var all []string
			for _, s := range m.States {
				all = append(all, s.Name)
			}
			return nil, cli.Usagef("--state: %s has no state %q; it has %s", m.Name, name, strings.Join(all, ", "))
		}
		words = append(words, m.States[i].Stored())
	}
	return words, nil
}

// stamp writes a time for people.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// lasted writes how long something took.
func lasted(d time.Duration) string { return fmt.Sprint(max(0, d).Round(time.Second)) }
