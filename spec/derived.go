package spec

import "sync"

// derived holds what was worked out of a machine, by the key of who did it.
type derived struct{ values sync.Map }

// Derived returns what derive makes of the machine, which is worked out once for
// each key: a machine does not change after Parse. Keys are values of types that
// only the caller has.
func Derived[T any](m *Machine, key any, derive func(*Machine) T) T {
	if m.derived == nil { // made by hand, in a test
		return derive(m)
	}
	once, _ := m.derived.values.LoadOrStore(key, sync.OnceValue(func() T { return derive(m) }))
	return once.(func() T)() //nolint:forcetypeassert // one key has one type
}
