package diff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// The texts below say what a part of a specification means in stored words, so
// that a rename with `was` leaves them as they are. They are compared with each
// other and shown to nobody.

func sorted[T any](list []T, text func(T) string) []string {
	words := make([]string, len(list))
	for i, x := range list {
		words[i] = text(x)
	}
	slices.Sort(words)
	return slices.Compact(words)
}

func stateWord(r spec.StateRef) string { return r.State.Stored() }
func fieldWord(r spec.FieldRef) string { return r.Field.Stored() }
func fieldName(r spec.FieldRef) string { return r.Field.Name }

func stateWords(list []spec.StateRef) []string { return sorted(list, stateWord) }
func fieldWords(list []spec.FieldRef) []string { return sorted(list, fieldWord) }

func comma(words []string) string { return strings.Join(words, ", ") }

var operators = map[spec.FactOp]string{
	spec.Eq: "==", spec.Ne: "!=", spec.Lt: "<", spec.Le: "<=", spec.Gt: ">", spec.Ge: ">=",
	spec.In: "in", spec.NotIn: "not in", spec.Covers: "covers",
}

func factWords(f *spec.Fact) string {
	switch f.Op {
	case spec.Present:
		return termWord(&f.Left) + " is present"
	case spec.Absent:
		return termWord(&f.Left) + " is absent"
	case spec.AnyOf:
		return "any " + comma(sorted(f.Any, func(facts []*spec.Fact) string { return "[" + comma(sorted(facts, factWords)) + "]" }))
	}
	return termWord(&f.Left) + " " + operators[f.Op] + " " + termWord(&f.Right)
}

func termWord(t *spec.Term) string {
	switch t.Kind {
	case spec.TermField:
		return "field " + t.Field.Stored()
	case spec.TermOld:
		return "old field " + t.Field.Stored()
	case spec.TermInput:
		if t.Input != nil {
			return "input " + inputWord(t.Input)
		}
		return "input " + t.Name
	case spec.TermWord:
		return "word " + spec.QuoteWord(t.Word.Stored())
	case spec.TermInt:
		return fmt.Sprint(t.Int)
	case spec.TermSpan:
		return spec.SpanText(t.Int)
	case spec.TermBackoff:
		return "backoff " + termWord(&t.Backoff.Base) + " to " + termWord(&t.Backoff.Max) + " by field " + t.Backoff.By.Stored()
	case spec.TermText:
		return strconv.Quote(t.Const)
	case spec.TermSum:
		return spec.SumText(t.Parts, func(t spec.Term) string { return termWord(&t) })
	}
	return t.Text
}

// inputWord is what an input is compared by: one that a field implies is called
// as the field is stored.
func inputWord(in *spec.Input) string {
	if in.Field != nil && !in.Declared {
		return in.Field.Stored()
	}
	return in.Name
}

func valueWord(v *spec.Value) string {
	switch v.Kind {
	case spec.ValueInput:
		return "input " + inputWord(v.Input)
	case spec.ValueInputOrAbsent:
		return "input " + inputWord(v.Input) + " or absent"
	case spec.ValueInputOrSame:
		return "input " + inputWord(v.Input) + " or same"
	case spec.ValueInputOrDefault:
		return "input " + inputWord(v.Input) + " or default"
	case spec.ValueInputOrReject:
		return "input " + inputWord(v.Input) + " or reject"
	case spec.ValueField:
		return "field " + v.Field.Stored()
	case spec.ValueNow:
		return "now + " + spec.SpanText(v.Plus.Microseconds())
	case spec.ValueInt:
		return fmt.Sprint(v.Int)
	case spec.ValueBool:
		return fmt.Sprint(v.Bool)
	case spec.ValueWord:
		return "word " + spec.QuoteWord(v.Word.Stored())
	case spec.ValueText:
		return strconv.Quote(v.Const)
	case spec.ValueSpan:
		return spec.SpanText(v.Int)
	case spec.ValueSum:
		return spec.SumText(v.Parts, func(t spec.Term) string { return termWord(&t) })
	}
	return "actor"
}

// effectWords lists what happens to each field.
func effectWords(e *spec.Effects) []string {
	var words []string
	for _, a := range e.Set {
		if a.Default {
			continue // the field is compared, see fields
		}
		words = append(words, a.Field.Stored()+" = "+valueWord(&a.Value))
	}
	for _, r := range e.Clear {
		words = append(words, "clear "+r.Field.Stored())
	}
	for _, r := range e.Increment {
		words = append(words, "increment "+r.Field.Stored())
	}
	for _, a := range e.Add {
		words = append(words, "add "+valueWord(&a.Value)+" to "+a.Field.Stored())
	}
	for _, a := range e.Remove {
		words = append(words, "remove "+valueWord(&a.Value)+" from "+a.Field.Stored())
	}
	for _, r := range e.Decrement {
		words = append(words, "decrement "+r.Field.Stored())
	}
	for _, r := range e.Reset {
		words = append(words, "reset "+r.Field.Stored())
	}
	slices.Sort(words)
	return words
}

// effectText is effectWords as the specification would write it.
func effectText(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	r := strings.NewReplacer("field ", "", "input ", "input.", "word ", "", " + 0s", "")
	return r.Replace(comma(words))
}

func targetWord(to *spec.StateRef, same bool) string {
	switch {
	case same:
		return "same"
	case to != nil:
		return to.State.Stored()
	}
	return ""
}

func branchWords(b *spec.Branch) string {
	outcome := targetWord(b.To, b.Same)
	switch {
	case b.RecordOnly:
		outcome = "record_only"
	case b.Reject != "":
		outcome = "reject " + b.Reject
	}
	return fmt.Sprintf("from %q when %q to %q do %q", stateWords(b.From), sorted(b.When, factWords), outcome, effectWords(&b.Effects))
}

// typeWords is a type as rows and Go code see it.
func typeWords(t *spec.Type) string {
	if t.Optional {
		return "optional " + t.Kind.String()
	}
	return t.Kind.String()
}

// memberWord says which value a field of a group has.
func memberWord(f *spec.Fact) string {
	if f.Right.Field == f.Left.Field {
		return f.Left.Field.Stored()
	}
	return f.Left.Field.Stored() + " = " + termWord(&f.Right)
}

// limitWord says how many others are too many.
func limitWord(p *spec.Peers) string {
	if p.Limit != nil {
		return termWord(&p.Limit.Left)
	}
	return p.Number()
}

func peersWords(p *spec.Peers) string {
	if p.Some {
		return fmt.Sprintf("some of %q in %q", sorted(p.Of, memberWord), stateWords(p.In))
	}
	return fmt.Sprintf("fewer than %s of %q in %q", limitWord(p), sorted(p.Of, memberWord), stateWords(p.In))
}

func names[T any](list []T, name func(T) string) string {
	words := make([]string, len(list))
	for i, x := range list {
		words[i] = name(x)
	}
	return strings.Join(words, ", ")
}

func stateNames(list []spec.StateRef) string {
	return names(list, func(r spec.StateRef) string { return r.State.Name })
}

func fieldNames(list []spec.FieldRef) string {
	return names(list, fieldName)
}
