package mapped

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/spec"
)

// textOf is a value of the database as a text; false: it is NULL.
func textOf(raw any) (string, bool) {
	switch v := raw.(type) {
	case nil:
		return "", false
	case string:
		return v, true
	case []byte:
		return string(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case bool:
		return strconv.FormatBool(v), true
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano), true
	}
	return fmt.Sprint(raw), true
}

// shown is a value of the database for people.
func shown(raw any) string {
	text, there := textOf(raw)
	switch {
	case !there:
		return "NULL"
	case len(text) > 80:
		text = strings.ToValidUTF8(text[:80], "") + "..."
	}
	if _, isTime := raw.(time.Time); isTime {
		return text
	}
	return strconv.Quote(text)
}

// value reads a value of a column as one of its field. The problem says why it is none.
func (c *Column) value(raw any, zoned bool) (v interp.Value, problem string) {
	text, there := textOf(raw)
	if !there {
		return interp.Absent, ""
	}
	t := &c.Field.Type
	switch t.Kind {
	case spec.KindTime:
		return c.time(raw, zoned)
	case spec.KindString:
		if err := driver.CheckText(text); err != nil {
			return v, err.Error()
		}
		if text == "" && !t.Optional {
			return interp.Absent, ""
		}
		return interp.String(text), ""
	case spec.KindEnum:
		return c.word(text)
	case spec.KindInt, spec.KindCounter, spec.KindSequence, spec.KindDuration:
		n, problem := c.number(text)
		if t.Kind == spec.KindDuration {
			return interp.Span(n), problem
		}
		return interp.Int(n), problem
	case spec.KindBool:
		return boolean(text)
	case spec.KindJSON:
		if !json.Valid([]byte(text)) {
			return v, "it is no JSON"
		}
		return interp.JSON(text), ""
	case spec.KindSet:
		var members []string
		if err := json.Unmarshal([]byte(text), &members); err != nil {
			return v, "it is no JSON array of texts"
		}
		return interp.Set(members...), ""
	}
	return v, "no column can be read as this type"
}

func (c *Column) word(text string) (interp.Value, string) {
	if c.Words != nil {
		word, known := c.Words[text]
		if !known {
			return interp.Absent, "the mapping has no such word"
		}
		return interp.Word(word), ""
	}
	return interp.Word(text), ""
}

func (c *Column) number(text string) (int64, string) {
	r, ok := new(big.Rat).SetString(strings.TrimSpace(text))
	if !ok || strings.ContainsAny(text, "/eEpPxX_") {
		return 0, "it is no number"
	}
	if c.Times != 0 {
		r.Mul(r, new(big.Rat).SetInt64(c.Times))
	}
	switch {
	case !r.IsInt() && c.Times != 0:
		return 0, fmt.Sprintf("times %d it is no whole number", c.Times)
	case !r.IsInt():
		return 0, "it is no whole number"
	case !r.Num().IsInt64():
		return 0, "it is beyond 64 bits"
	}
	return r.Num().Int64(), ""
}

func boolean(text string) (interp.Value, string) {
	switch strings.ToLower(text) {
	case "true", "t", "1", "yes", "y":
		return interp.Bool(true), ""
	case "false", "f", "0", "no", "n":
		return interp.Bool(false), ""
	}
	return interp.Absent, "it is neither true nor false"
}

// layouts are the forms of times in texts; those above withZone tell their zone.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999-07", "2006-01-02 15:04:05.999999999 -0700 MST",
	"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02",
}

const withZone = 4

// time reads an instant. A time that tells no zone is one of the column's.
func (c *Column) time(raw any, zoned bool) (interp.Value, string) {
	return instant(raw, zoned, c.Zone, c.Unix)
}

func instant(raw any, zoned bool, zone *time.Location, unix time.Duration) (interp.Value, string) {
	if zone == nil {
		zone = time.UTC
	}
	at, isTime := raw.(time.Time)
	text, _ := textOf(raw)
	switch n, err := strconv.ParseInt(text, 10, 64); {
	case isTime && zoned:
	case isTime: // its clock is right, and its zone a guess of the driver
		at = time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), zone)
	case unix != 0 && err == nil:
		switch unix {
		case time.Second:
			at = time.Unix(n, 0)
		case time.Millisecond:
			at = time.UnixMilli(n)
		default:
			at = time.UnixMicro(n)
		}
	case unix != 0:
		return interp.Absent, "it is no whole number"
	case err == nil:
		return interp.Absent, "it is a number; say with `unix` what it counts"
	default:
		var ok bool
		if at, ok = parsed(text, zone); !ok {
			return interp.Absent, "it is no time"
		}
	}
	if y := at.UTC().Year(); y < 1 || y > 9999 {
		return interp.Absent, "it is outside the years 1 to 9999"
	}
	return interp.Time(at), ""
}

func parsed(text string, zone *time.Location) (time.Time, bool) {
	for i, layout := range layouts {
		if i < withZone {
			if at, err := time.Parse(layout, text); err == nil {
				return at, true
			}
		} else if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}
