package gen

import (
	"fmt"
	"strconv"
	"time"

	"github.com/fsmgen/fsmgen/spec"
)

// rows turns values into Go code that gives them as rows hold them: nil, string,
// int64, bool or time.Time.
type rows struct{ n *names }

// wordOf names the method of an enum that returns the stored word.
func wordOf(values []*spec.EnumValue) string {
	for _, v := range values {
		if v.Name != v.Stored() {
			return "word"
		}
	}
	return "String"
}

// column returns the code of a value as rows hold it. A time that comes out of
// a call is brought into the form of records first.
func (r *rows) column(o operand, fromCall bool) string {
	if o.here == absent {
		return "nil"
	}
	optional := o.here == maybe
	apply := func(function, method string) string {
		switch {
		case optional:
			return fmt.Sprintf("fsmimpl.ColumnOf(%s, %s)", o.opt, function)
		case method != "":
			return o.val + "." + method + "()"
		}
		return fmt.Sprintf("%s(%s)", function, o.val)
	}
	switch o.kind {
	case spec.KindEnum:
		for _, v := range o.enum.Values {
			if v.Name == o.word {
				return strconv.Quote(v.Stored())
			}
		}
		word := wordOf(o.enum.Values)
		return apply(o.enum.Type+"."+word, word)
	case spec.KindJSON:
		return apply("fsm.JSON.String", "String")
	case spec.KindSet:
		return o.val + ".Text()"
	case spec.KindTime:
		if fromCall {
			return apply("driver.Time", "")
		}
	case spec.KindDuration:
		if o.num != nil {
			return fmt.Sprintf("int64(%d)", *o.num)
		}
		return apply("time.Duration.Microseconds", "Microseconds")
	}
	if optional {
		return "fsmimpl.Column(" + o.opt + ")"
	}
	return typed(o)
}

// created returns the column that a field of a new record gets, or an error
// when it is not known before the operation has decided.
func (r *rows) created(o *spec.Operation, f *spec.Field) (string, error) {
	for _, b := range o.Choose {
		for _, a := range b.Effects.Set {
			if a.Field == f {
				return "", fmt.Errorf("field %s of %s makes a group, and a branch sets it; set it in the operation", f.Name, o.Name)
			}
		}
	}
	s := scope{n: r.n, caller: "c.Actor", changes: &changes{}, fresh: true}
	for _, a := range o.Effects.Set {
		if a.Field != f {
			continue
		}
		switch {
		case a.Value.Kind == spec.ValueNow:
			return "", fmt.Errorf("field %s of %s makes a group, and it is set to the time of the call; set it to an input", f.Name, o.Name)
		case a.Value.Kind == spec.ValueSum && (f.Type.Kind == spec.KindTime || f.Type.Kind == spec.KindDuration):
			return "", fmt.Errorf("field %s of %s makes a group, and it is set to a sum of times; set it to an input", f.Name, o.Name)
		case a.Value.Input != nil && r.n.inputType(a.Value.Input) != r.n.fieldEnum(f):
			return "", fmt.Errorf("field %s of %s makes a group, and it is set to an input with other words; give both the same words", f.Name, o.Name)
		}
		var v operand
		switch in := a.Value.Input; {
		case a.Value.Kind == spec.ValueInputOrDefault:
			v = plain(f.Type.Kind, r.n.fieldEnum(f), s.input(in).opt+".Or("+s.value(*f.Default, f).val+")")
		case in != nil && in.Type.Optional: // no guard has said yet that it is there
			v = s.input(in)
		default:
			v = s.value(a.Value, f)
		}
		return r.column(v, a.Value.Input != nil), nil
	}
	switch v := s.stored(f); {
	case v.here == absent:
		return "nil", nil
	case isNumber(f.Type.Kind), f.Type.Kind == spec.KindDuration:
		return "int64(0)", nil
	case f.Type.Kind == spec.KindEnum, f.Type.Kind == spec.KindString:
		return `""`, nil
	default:
		v.val = r.n.zero(f.Type.Kind)
		return r.column(v, false), nil
	}
}

// textConstant returns the code of a constant that the specification holds as a
// text: a string, a time or a JSON text.
func (n *names) textConstant(f *spec.Field, text string) string {
	switch f.Type.Kind {
	case spec.KindTime:
		return timeConstant(text)
	case spec.KindJSON:
		return fmt.Sprintf("%s(%q)", n.of("fsm.MustJSON"), text)
	}
	return strconv.Quote(text)
}

func timeConstant(text string) string { return fmt.Sprintf("time.UnixMicro(%d).UTC()", microsOf(text)) }

// microsOf returns the time of a constant as microseconds since 1970.
func microsOf(text string) int64 {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic("gen: the parser took a time that is none: " + err.Error())
	}
	return at.UnixMicro()
}

// defaultColumn returns the code of a field's default as rows hold it.
func defaultColumn(f *spec.Field) string {
	switch v := f.Default; v.Kind {
	case spec.ValueInt, spec.ValueSpan:
		return fmt.Sprintf("int64(%d)", v.Int)
	case spec.ValueBool:
		return strconv.FormatBool(v.Bool)
	case spec.ValueWord:
		return strconv.Quote(v.Word.Stored())
	default:
		if f.Type.Kind == spec.KindTime {
			return timeConstant(v.Const)
		}
		return strconv.Quote(v.Const)
	}
}

// storedColumn returns the column of a field of the stored record.
func (r *rows) storedColumn(f *spec.Field) string {
	return r.column(scope{n: r.n}.stored(f), false)
}

// kindName is the runtime's name of a kind.
func kindName(k spec.Kind) string {
	return map[spec.Kind]string{
		spec.KindString: "KindString", spec.KindInt: "KindInt", spec.KindBool: "KindBool", spec.KindTime: "KindTime",
		spec.KindJSON: "KindJSON", spec.KindCounter: "KindCounter", spec.KindSet: "KindSet",
		spec.KindSequence: "KindSequence", spec.KindEnum: "KindEnum", spec.KindDuration: "KindInt",
	}[k]
}
