package fsm

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// sameRequest reports whether the event is that of the call: by the fingerprint, else by what
// the log holds, for JSON may be spelled in another way. An erased event has nothing to compare.
func sameRequest[R any](e *driver.Event, q *request[R]) bool {
	switch {
	case e.Fingerprint == q.fingerprint:
		return true
	case e.Redacted():
		return e.Operation == q.op.Stored || e.Operation == driver.OpPurged
	}
	return e.Operation == q.op.Stored && e.Actor == q.Actor && e.Reason == q.Reason && sameInputs(e.Inputs, q.Call.Inputs)
}

// sameInputs reports whether a log holds these inputs. Inputs that a retry may compute again do not count.
func sameInputs(stored driver.JSON, inputs []driver.Input) bool {
	members, err := stored.Members()
	if err != nil || len(members) != len(inputs) {
		return false
	}
	for i := range inputs {
		in := &inputs[i]
		raw, brought := members[in.Name]
		if !brought {
			return false
		}
		if in.Loose {
			continue
		}
		was, err := driver.DecodeValue(in.Kind, raw)
		before, isText := was.(string)
		now, _ := in.Value.(string)
		switch {
		case err != nil:
			return false
		case driver.Same(was, in.Value):
		case in.Kind != driver.KindJSON || !isText || canonical(before) != canonical(now):
			return false
		}
	}
	return true
}

// canonical returns one spelling for all JSON texts of one value: numbers are exact decimals,
// and members are in the order of their names. Members of one name keep their order.
func canonical(text string) string {
	c := canon{text: text, dec: json.NewDecoder(strings.NewReader(text))}
	c.dec.UseNumber()
	return c.value()
}

// canon reads one JSON text.
type canon struct {
	text string
	dec  *json.Decoder
}

// value reads a value. A text that is no JSON stands for itself.
func (c *canon) value() string {
	from := c.dec.InputOffset()
	t, err := c.dec.Token()
	if err != nil {
		return c.text
	}
	switch t := t.(type) {
	case json.Delim:
		return c.items(t)
	case json.Number:
		return number(t.String())
	case string:
		raw := strings.TrimLeft(c.text[from:c.dec.InputOffset()], " \t\r\n,:")
		if strings.ContainsRune(t, '\ufffd') && strings.Contains(strings.ToLower(raw), `\ud`) {
			return raw // half a surrogate pair, which decoding replaces
		}
		return string(driver.AppendText(nil, t))
	case bool:
		return strconv.FormatBool(t)
	}
	return "null"
}

// items reads the rest of an array or object.
func (c *canon) items(open json.Delim) string {
	type item struct{ name, value string }
	var list []item
	for c.dec.More() {
		var one item
		if open == '{' {
			one.name = c.value()
		}
		one.value = c.value()
		list = append(list, one)
	}
	_, _ = c.dec.Token() // its end
	if open == '{' {
		slices.SortStableFunc(list, func(a, b item) int { return strings.Compare(a.name, b.name) })
	}
	var b strings.Builder
	b.WriteString(open.String())
	for _, one := range list {
		b.WriteString(one.name + ":" + one.value + ",")
	}
	b.WriteByte(']')
	return b.String()
}

// number returns the digits of a number without zeros around them, and its exponent. One
// with an exponent beyond 32 bits stands for itself.
func number(text string) string {
	mantissa, power, _ := strings.Cut(strings.ToLower(text), "e")
	exponent := int64(0)
	if power != "" {
		var err error
		if exponent, err = strconv.ParseInt(power, 10, 32); err != nil {
			return text
		}
	}
	digits, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	short := strings.TrimRight(digits, "0")
	exponent += int64(len(digits)-len(short)) - int64(len(fraction))
	if negative {
		short = "-" + short
	}
	return short + "e" + strconv.FormatInt(exponent, 10)
}
