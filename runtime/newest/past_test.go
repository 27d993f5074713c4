package newest

import (
	"iter"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// logOf is a reader of one record's log.
type logOf struct {
	driver.Reader
	events []driver.Event
}

func (l logOf) Events(_ string, from int64) iter.Seq2[driver.Event, error] {
	return func(yield func(driver.Event, error) bool) {
		for _, e := range l.events {
			if e.Rev >= from && !yield(e, nil) {
				return
			}
		}
	}
}

// long has so many notes at the first revision, and so many revisions.
func long(notes, revs int64) (l logOf) {
	for rev := int64(1); rev <= revs; rev++ {
		e := driver.Event{ID: "p", Rev: rev}
		if rev == 1 || rev%driver.ImageEvery == 0 {
			e.Image = driver.MustJSON(`{}`)
		}
		l.events = append(l.events, e)
		for n := int64(1); rev == 1 && n <= notes; n++ {
			l.events = append(l.events, driver.Event{ID: "p", Rev: 1, N: n})
		}
	}
	return l
}

// Of a long log the newest part up to a revision is read, and what the record is folded of.
func TestPastOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		log            logOf
		last           int64
		until          bool
		first, end     int64 // revisions
		earlier, newer bool
	}{
		"short":              {long(0, 3), 3, false, 1, 3, false, false},
		"its end":            {long(0, 1201), 1201, false, 702, 1201, true, false},
		"in the middle":      {long(0, 1201), 701, true, 202, 701, true, true},
		"its beginning":      {long(0, 1201), 201, true, 1, 201, false, true},
		"many notes":         {long(2500, 3), 3, false, 1, 3, true, false},
		"many notes, before": {long(2500, 3), 2, true, 1, 2, true, true},
		"many notes, first":  {long(2500, 3), 1, true, 1, 1, true, true},
	} {
		p, err := PastOf(c.log, "p", c.last, c.until, 500)
		if err != nil || len(p.Lines) == 0 || len(p.Lines) > 500 {
			t.Errorf("%s: %d events, %v", name, len(p.Lines), err)
			continue
		}
		first, end := p.Lines[0].Rev, p.Lines[len(p.Lines)-1].Rev
		if first != c.first || end != c.end || p.Earlier != c.earlier || p.Newer != c.newer {
			t.Errorf("%s: revisions %d to %d, earlier %t, newer %t; want %+v", name, first, end, p.Earlier, p.Newer, c)
		}
		if n := len(p.Folds); n == 0 || p.Folds[n-1].Rev != c.end || p.Folds[0].Image.IsZero() || int64(n) != c.end-p.Folds[0].Rev+1 {
			t.Errorf("%s: the record is folded of %d events", name, n)
		}
	}
}
