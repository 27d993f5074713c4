package fsmcases

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// raw is a value of a case: JSON, with times as they stand to the time of cases.
type raw string

// into reads a value that the generator wrote.
func (r raw) into(v any) {
	if err := json.Unmarshal([]byte(r), v); err != nil {
		panic(fmt.Sprintf("fsmcases: %s in a case: %v", r, err))
	}
}

// object reads the members of an object; none where the text is empty.
func object(text string) map[string]raw {
	members := map[string]json.RawMessage{}
	if text != "" {
		raw(text).into(&members)
	}
	list := make(map[string]raw, len(members))
	for name, v := range members {
		list[name] = raw(v)
	}
	return list
}

// value reads what a column of a kind holds; nil stands for null.
func (r raw) value(kind driver.Kind) any {
	if r == "null" {
		return nil
	}
	switch kind {
	case driver.KindInt, driver.KindCounter, driver.KindSequence:
		var n int64
		r.into(&n)
		return n
	case driver.KindBool:
		return r == "true"
	case driver.KindTime:
		return r.time()
	case driver.KindJSON:
		return string(r)
	case driver.KindSet:
		var members []string
		r.into(&members)
		return fsm.NewSet(members...).Text()
	}
	var s string
	r.into(&s)
	return strings.TrimPrefix(s, "@") // "@@" is an @
}

// plain reads a value whose kind shows in its text.
func (r raw) plain() any {
	switch {
	case strings.HasPrefix(string(r), `"@`) && !strings.HasPrefix(string(r), `"@@`):
		return r.time()
	case r == "true" || r == "false":
		return r.value(driver.KindBool)
	case r == "null" || strings.HasPrefix(string(r), `"`):
		return r.value(driver.KindString)
	}
	return r.value(driver.KindInt)
}

// time reads "@now", "@now+1h" and "@now-1µs"; "@zero" is the zero time.
func (r raw) time() time.Time {
	var s string
	r.into(&s)
	at, err := casesNow, error(nil)
	switch from, ok := strings.CutPrefix(s, "@now"); {
	case s == "@zero":
		at = time.Time{}
	case !ok:
		at, err = time.Parse(time.RFC3339Nano, strings.TrimPrefix(s, "@"))
	case from != "":
		var d time.Duration
		d, err = time.ParseDuration(from)
		at = at.Add(d)
	}
	if err != nil {
		panic(fmt.Sprintf("fsmcases: the time %s in a case: %v", r, err))
	}
	return at
}

// normal brings a time into the form that compares with ==.
func normal(v any) any {
	if t, ok := v.(time.Time); ok {
		return driver.Time(t)
	}
	return v
}

// show prints a value of a row.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "absent"
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case string:
		return strconv.Quote(v)
	}
	return fmt.Sprint(v)
}

// list reads names separated by commas, which may stand in single quotes.
func list(s string) []string {
	var names []string
	for s = strings.TrimLeft(s, ", "); s != ""; s = strings.TrimLeft(s, ", ") {
		if !strings.HasPrefix(s, "'") {
			name, rest, _ := strings.Cut(s, ",")
			names, s = append(names, strings.TrimSpace(name)), rest
			continue
		}
		end := 1 + strings.Index(strings.ReplaceAll(s[1:], "''", "--"), "'")
		names, s = append(names, strings.ReplaceAll(s[1:end], "''", "'")), s[end+1:]
	}
	return names
}
