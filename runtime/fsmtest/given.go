package fsmtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// Given puts a record into a store as if it had just come to its state, and
// returns it as it is there, at revision 1. Only the state has to be set: where
// the state asks for more, what is zero in r gets a value (an id, a name, a time
// an hour after Start), and what is set in r stays as it is. A test that cannot
// have its record fails, with the rules that it breaks.
//
// The machine is opened over that store or one around it, such as Faulty. In a
// database its schema has to allow records to begin anywhere: level `checks`
// (gen --enforce checks), or the store in memory.
func Given[R any](tb testing.TB, store fsm.Store, m *fsm.Machine[R], r R) R {
	tb.Helper()
	made, err := Arrange(tb.Context(), store, m, r)
	if err != nil {
		tb.Fatal(err)
	}
	return made
}

// Arrange is Given outside of a test.
func Arrange[R any](ctx context.Context, store fsm.Store, m *fsm.Machine[R], r R) (R, error) {
	d := m.Descriptor()
	a := arrangement[R]{d: d, row: d.Encode(&r)}
	var none R
	if err := a.fill(); err != nil {
		return none, fmt.Errorf("%s: %w", d.Schema.Machine, err)
	}
	a.row.Rev = 1
	if err := Seed(ctx, store, d.Schema, a.row); err != nil {
		return none, fmt.Errorf("%s: %w", d.Schema.Machine, err)
	}
	return d.Decode(a.row)
}

// arrangement is a record on its way to being sound.
type arrangement[R any] struct {
	d    *fsmimpl.Descriptor[R]
	row  driver.Row
	free [][]any // by column, what it may be; nil: it was given
}

// fill gives values to what is zero, as few as it takes.
func (a *arrangement[R]) fill() error {
	known := func(st driver.StateInfo) bool { return st.Stored == a.row.State }
	if !slices.ContainsFunc(a.d.Schema.States, known) {
		return errors.New("the record has no state; set State to one of the package's constants")
	}
	if a.row.ID == "" {
		a.row.ID = driver.NewID()
	}
	if a.row.CreatedAt.IsZero() {
		a.row.CreatedAt = Start
	}
	a.row.CreatedAt = driver.Time(a.row.CreatedAt)
	if a.row.UpdatedAt.IsZero() || a.row.UpdatedAt.Before(a.row.CreatedAt) {
		a.row.UpdatedAt = a.row.CreatedAt
	}
	a.row.UpdatedAt = driver.Time(a.row.UpdatedAt)
	a.free = make([][]any, len(a.row.Values))
	for i, c := range a.d.Schema.Columns {
		if !unset(c, a.row.Values[i]) {
			continue
		}
		a.free[i] = candidates(c, i)
		if !c.Optional && (c.Kind == driver.KindString || c.Kind == driver.KindEnum || c.Kind == driver.KindTime || c.Kind == driver.KindJSON || c.Kind == driver.KindSequence) {
			a.row.Values[i] = a.free[i][0]
		}
	}
	for {
		broken, err := a.broken()
		if err != nil || len(broken) == 0 {
			return err
		}
		if !a.better(len(broken)) {
			return fmt.Errorf("nothing that is not set makes this a sound record in %s; set what these rules ask for: %s",
				a.row.State, strings.Join(broken, "; "))
		}
	}
}

// broken lists the rules that the record breaks.
func (a *arrangement[R]) broken() ([]string, error) {
	rec, err := a.d.Decode(a.row)
	if err != nil {
		return nil, err
	}
	var rules []string
	for _, v := range a.d.Check(&rec) {
		rules = append(rules, v.Rule)
	}
	return rules, nil
}

// better changes one free value, or two, so that fewer rules are broken.
func (a *arrangement[R]) better(than int) bool {
	fewer := func() bool {
		rules, err := a.broken()
		return err == nil && len(rules) < than
	}
	try := func(i int, then func() bool) bool {
		before := a.row.Values[i]
		for _, v := range a.free[i] {
			if a.row.Values[i] = v; then() {
				return true
			}
		}
		a.row.Values[i] = before
		return false
	}
	for i := range a.free {
		if try(i, fewer) {
			return true
		}
	}
	for i := range a.free {
		for j := range i {
			if try(i, func() bool { return try(j, fewer) }) {
				return true
			}
		}
	}
	return false
}

// unset reports whether a value is what a Go field holds that nobody set.
func unset(c driver.Column, v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == "" || c.Kind == driver.KindSet && v == "[]" || c.Kind == driver.KindEnum && !slices.Contains(c.Words, v)
	case int64:
		return v == 0
	case bool:
		return !v
	case time.Time:
		return v.IsZero()
	}
	return false
}

// candidates lists what a column may be filled with.
func candidates(c driver.Column, index int) []any {
	switch c.Kind {
	case driver.KindString:
		return []any{c.Fit("some " + c.Name)}
	case driver.KindEnum:
		var words []any
		for _, w := range c.Words {
			words = append(words, w)
		}
		return words
	case driver.KindBool:
		return []any{true}
	case driver.KindTime:
		return []any{Start.Add(time.Hour + time.Duration(index)*time.Minute)}
	case driver.KindJSON:
		return []any{"{}"}
	case driver.KindSet:
		return []any{`["some ` + c.Name + `"]`}
	}
	return []any{int64(1), int64(2), int64(3), int64(5), int64(10), int64(100), int64(1000)}
}
