package inspect

import (
	"errors"
	"fmt"
	"strings"
)

// RecordsError says that a sweep, a start or a purge failed in one way for several
// records. It stands for their errors; errors.Is and errors.As find the first ones.
type RecordsError struct {
	Count int      // of the records
	IDs   []string // of the first ones, at most five
	Errs  []error  // of these
}

// firstOnes is how many records a RecordsError names.
const firstOnes = 5

// Error tells the first error, and how many records failed like that.
func (e *RecordsError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v; and %d like it:", e.Errs[0], e.Count-1)
	for _, id := range e.IDs[1:] {
		fmt.Fprintf(&b, " %q", id)
	}
	if e.Count > len(e.IDs) {
		b.WriteString(" …")
	}
	return b.String()
}

// Unwrap returns the first errors.
func (e *RecordsError) Unwrap() []error { return e.Errs }

// Failures collects the errors of records, by kind: the zero value holds none.
type Failures struct {
	kinds []any
	of    map[any]*RecordsError
}

// Add notes an error of a record. kind can be compared: one error stands for all of
// one kind.
func (f *Failures) Add(kind any, id string, err error) {
	e := f.of[kind]
	if e == nil {
		if f.of == nil {
			f.of = map[any]*RecordsError{}
		}
		e = &RecordsError{}
		f.of[kind], f.kinds = e, append(f.kinds, kind)
	}
	if e.Count++; e.Count <= firstOnes {
		e.IDs, e.Errs = append(e.IDs, id), append(e.Errs, err)
	}
}

// Join returns one error for each kind, and the further ones; nil when there is none.
func (f *Failures) Join(more ...error) error {
	var errs []error
	for _, kind := range f.kinds {
		if e := f.of[kind]; e.Count == 1 {
			errs = append(errs, e.Errs[0])
		} else {
			errs = append(errs, e)
		}
	}
	return errors.Join(append(errs, more...)...)
}
