package storetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// A retry may spell its JSON in another way: it is the same request while the value is the same.
var spellingTests = []test{
	{"a retry spells its JSON in another way", func(b *bench) {
		d := b.open()
		out := d.register("p1", "a")
		random := rand.New(rand.NewPCG(5, 36))
		respelled := 0
		for i := range 60 {
			value := randomValue(random, 0)
			note := func(v spelled) fsm.Optional[fsm.JSON] { return fsm.Some(fsm.MustJSON(v.spell(random))) }
			try := func(v spelled) (outcome, error) {
				return d.Apply(d.ctx, fsm.Ref{ID: "p1"}, Annotate(Meta{RequestID: fmt.Sprint("r", i)}, note(v), fsm.Optional[string]{}, fsm.Optional[bool]{}))
			}
			first := d.must(try(value))
			for range 5 {
				again, err := try(value)
				if err != nil || !again.Replayed || again.Record.Note != first.Record.Note {
					b.Fatalf("%d: %s again, in another spelling: %v, %v", i, first.Record.Note, again.Record.Note, err)
				}
				respelled++
			}
			d.refused(fsm.ErrRequestReused, func() (outcome, error) { return try(another(random, value)) })
			out = first
		}
		if out.Record.Rev != 61 || respelled < 100 {
			b.Errorf("revision %d after %d other spellings, want 61", out.Record.Rev, respelled)
		}
	}},
}

// spelled is a JSON value that can be written in several ways: nil, a bool, a string, a decimal, an array
// or an object.
type spelled struct {
	is any // string: a text, decimal, []spelled, object
}

// decimal is digits times a power of ten.
type decimal struct{ digits, power int64 }

// object has the values of names.
type object map[string]spelled

// randomValue draws a value. Every container holds something that can be spelled twice.
func randomValue(random *rand.Rand, depth int) spelled {
	kind := random.IntN(6)
	if depth == 0 {
		kind = 4 + random.IntN(2)
	} else if depth > 3 {
		kind = random.IntN(4)
	}
	switch kind {
	case 0:
		return spelled{[]any{nil, true, false}[random.IntN(3)]}
	case 1, 2:
		digits := []int64{0, 1, -1, 10, 250, -7, 9007199254740993, 9223372036854775807}
		return spelled{decimal{digits[random.IntN(len(digits))], random.Int64N(9) - 4}}
	case 3:
		texts := []string{"", "a", "<&>", "\u2028", "é", "😀", `\`, `"`, "/", "\n", "1", "null", "\ufffd"}
		return spelled{texts[random.IntN(len(texts))] + texts[random.IntN(len(texts))]}
	case 4:
		var list []spelled
		for range random.IntN(4) + 1 {
			list = append(list, randomValue(random, depth+1))
		}
		return spelled{list}
	}
	o := object{}
	for range random.IntN(4) + 2 {
		o[[]string{"", "a", "b", "é", `"`, "a.b", "A"}[random.IntN(7)]] = randomValue(random, depth+1)
	}
	return spelled{o}
}

// another returns a value that is not v: one place of it is changed.
func another(random *rand.Rand, v spelled) spelled {
	switch is := v.is.(type) {
	case string:
		return spelled{is + "x"}
	case decimal:
		return spelled{decimal{is.digits + 1, is.power}}
	case []spelled:
		list, i := append([]spelled{}, is...), random.IntN(len(is))
		list[i] = another(random, list[i])
		return spelled{list}
	case object:
		o := object{}
		for name, value := range is {
			o[name] = value
		}
		for name := range is {
			if o[name] = another(random, o[name]); random.IntN(3) == 0 {
				delete(o, name)
			}
			break
		}
		return spelled{o}
	case bool:
		return spelled{!is}
	}
	return spelled{"not null"}
}

// spell writes a value in one of the ways there are.
func (v spelled) spell(random *rand.Rand) string {
	blank := func() string { return []string{"", "", " ", "\n\t"}[random.IntN(4)] }
	list, ends := []string{}, "[]"
	switch is := v.is.(type) {
	case string:
		return spellText(random, is)
	case decimal:
		return is.spell(random)
	case []spelled:
		for _, item := range is {
			list = append(list, blank()+item.spell(random))
		}
	case object:
		ends = "{}"
		for name, value := range is { // in any order
			list = append(list, blank()+spellText(random, name)+blank()+":"+blank()+value.spell(random))
		}
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	default:
		b, _ := json.Marshal(is)
		return string(b)
	}
	return ends[:1] + strings.Join(list, blank()+",") + blank() + ends[1:]
}

// spellText writes each character by itself or as an escape.
func spellText(random *rand.Rand, s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		plain, _ := json.Marshal(string(c))
		switch {
		case random.IntN(3) > 0 && c == '/':
			b.WriteString(`\/`)
		case random.IntN(3) == 0 && c < 0x10000:
			fmt.Fprintf(&b, []string{`\u%04x`, `\u%04X`}[random.IntN(2)], c)
		default:
			b.Write(plain[1 : len(plain)-1])
		}
	}
	return b.String() + `"`
}

// spell writes a number with zeros behind it, with a fraction, or with an exponent.
func (d decimal) spell(random *rand.Rand) string {
	zeros := random.Int64N(3)
	digits := fmt.Sprint(d.digits)
	if d.digits != 0 {
		digits += strings.Repeat("0", int(zeros))
	}
	power := d.power - zeros
	sign, digits := "", digits
	if rest, negative := strings.CutPrefix(digits, "-"); negative {
		sign, digits = "-", rest
	}
	switch {
	case d.digits == 0:
		return []string{"0", "-0", "0.0", "0e5", "0E-7"}[random.IntN(5)]
	case power < 0 && random.IntN(2) == 0: // as a fraction
		for int64(len(digits)) <= -power {
			digits = "0" + digits
		}
		at := int64(len(digits)) + power
		return sign + digits[:at] + "." + digits[at:]
	case power >= 0 && random.IntN(2) == 0:
		return sign + digits + strings.Repeat("0", int(power)) + []string{"", ".0"}[random.IntN(2)]
	}
	return fmt.Sprintf("%s%s%s%d", sign, digits, []string{"e", "E"}[random.IntN(2)], power)
}
