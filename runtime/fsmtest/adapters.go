package fsmtest

import (
	"context"
	"encoding"
	"fmt"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/internal/oracle"
)

// Opt returns an optional input: absent when the call does not send it.
// get is one of the methods above: Opt(c, "lease", Call.Time).
func Opt[T any](c Call, name string, get func(Call, string) T) fsm.Optional[T] {
	if c.Inputs[name] == nil {
		return fsm.Optional[T]{}
	}
	return fsm.Some(get(c, name))
}

// Word returns an enum input: the zero value, which is no word, when the call
// does not send it.
func Word[T ~uint8 | ~uint16, P interface {
	*T
	encoding.TextUnmarshaler
}](c Call, name string) T {
	var v T
	s, ok := c.Inputs[name].(string)
	switch {
	case s == oracle.NoWord:
		return ^v
	case ok:
		if err := P(&v).UnmarshalText([]byte(s)); err != nil {
			panic(fmt.Sprintf("fsmtest: input %s: %v", name, err))
		}
	}
	return v
}

// Named returns the value with that name. It panics when there is none: then
// the test file and the package are not of one specification.
func Named[T fmt.Stringer](values []T, name string) T {
	for _, v := range values {
		if v.String() == name {
			return v
		}
	}
	panic(fmt.Sprintf("fsmtest: none of %v is named %q", values, name))
}

// Ends returns what the states of a package say of themselves.
func Ends[S interface {
	fmt.Stringer
	Terminal() bool
}](states []S) []End {
	var list []End
	for _, s := range states {
		final, ok := any(s).(interface{ Final() bool })
		list = append(list, End{State: s.String(), Terminal: s.Terminal(), Final: ok && final.Final()})
	}
	return list
}

// Opened makes what a test file's Open returns: the machine whose operations call calls.
func Opened[M, R any](
	core func(M) *fsm.Machine[R],
	call func(context.Context, M, string, fsm.Target, Call) (fsm.Outcome[R], error),
) func(M, error) (*Durable[R], error) {
	return func(m M, err error) (*Durable[R], error) {
		if err != nil {
			return nil, err
		}
		return oracle.Over(m, core, call), nil
	}
}

// OrNil returns the value of an optional, nil when it is absent.
func OrNil[T any](o fsm.Optional[T]) any {
	if v, ok := o.Get(); ok {
		return v
	}
	return nil
}
