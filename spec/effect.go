package spec

import "slices"

// Effect is work outside the record.
type Effect struct {
	Pos     Pos
	NamePos Pos
	Name    string
	Key     []FieldRef // fields, or ID and Rev of the machine; empty: machine/id/rev/name
	Atomic  bool
	Then    *OperationRef // the step that notes the delivery; nil without one
	More    []EffectKey   // the keys that the file writes beside the name

	Other *OtherStep // the step of another machine's record that it is; nil: the program performs it

	Attempts int           // tries before it gives up; 0: only its handler ends them
	Failed   *OperationRef // the step when it gave up; nil without one
}

// MaxAttempts is the greatest number of tries of an effect.
const MaxAttempts = 1_000_000

// ErrorInput is the input of a `failed` operation that the last error is handed to.
const ErrorInput = "error"

// mostError is the greatest length, in bytes, of an error that a `failed` operation gets: the
// outbox keeps no more of one.
const mostError = 1000

// TakesError reports whether an input takes any error of an effect that gave up.
func (in *Input) TakesError() bool {
	t := in.Type
	return t.Kind == KindString && (t.Min == nil || *t.Min <= 1) && (t.Max == nil || *t.Max >= mostError)
}

// Waits reports whether a step follows the delivery, or its end without success. Such a
// delivery is dropped when its record goes on.
func (e *Effect) Waits() bool { return e.Then != nil || e.Failed != nil }

// Spent reports whether the effect has no try left after so many.
func (e *Effect) Spent(tries int) bool { return e.Attempts > 0 && tries >= e.Attempts }

// EffectKey is a key of an effect beside its name.
type EffectKey struct {
	Pos  Pos
	Name string
}

// OfRecord reports whether each record has keys of its own.
func (e *Effect) OfRecord() bool {
	return len(e.Key) == 0 || slices.ContainsFunc(e.Key, func(r FieldRef) bool {
		return r.Field.Builtin && (r.Field.Name == "id" || r.Field.Name == "rev")
	})
}
