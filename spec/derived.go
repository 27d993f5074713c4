package spec

import (
	"slices"
	"sync"
)

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

// The keys of the maps from names to places.
type (
	fieldPlaces     struct{}
	statePlaces     struct{}
	operationPlaces struct{}
)

func (f *Field) name() string     { return f.Name }
func (s *State) name() string     { return s.Name }
func (o *Operation) name() string { return o.Name }

// indexOf returns where something of that name stands in a list of the machine, or -1.
// A long list has a map, which is believed where it is right: tests change copies
// of a machine.
func indexOf[T any](m *Machine, list []T, key any, name func(T) string, wanted string) int {
	const short = 8
	if len(list) > short && m.derived != nil {
		at := Derived(m, key, func(*Machine) map[string]int {
			places := make(map[string]int, len(list))
			for i, x := range slices.Backward(list) { // the first of equal names stays
				places[name(x)] = i
			}
			return places
		})
		if i, ok := at[wanted]; ok && i < len(list) && name(list[i]) == wanted {
			return i
		}
	}
	return slices.IndexFunc(list, func(x T) bool { return name(x) == wanted })
}
