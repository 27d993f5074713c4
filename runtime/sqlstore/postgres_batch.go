package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Several writes are one statement to a server too: see writing.

// commitStatement commits a batch in one statement. Whoever is not among those
// it wrote tries alone: the statement passes over records that are elsewhere or
// held by another transaction, and an error of it is an error of one of them.
func (s *Store) commitStatement(on *session, batch []*job) (broken bool) {
	t, ctx := batch[0].t, context.WithoutCancel(batch[0].ctx)
	if len(batch) == 1 {
		broken, err := t.commitSingle(ctx, on, batch[0].w)
		if batch[0].answer(err); t.busy(err) {
			batch[0].fate = alone
		}
		return broken
	}
	written, err := t.commitMany(ctx, on, batch)
	if before := (*unbegun)(nil); errors.As(err, &before) {
		for _, j := range batch {
			j.answer(t.unopened(ctx, err))
		}
		return true
	}
	if err != nil && !t.dialect.aborted(err) {
		for _, j := range batch {
			j.answer(t.lost(j.w, err))
		}
		return true
	}
	for _, j := range batch {
		if j.fate = alone; err == nil && written[j.w.Prev.ID] {
			j.answer(nil)
		}
	}
	return false
}

// togetherInStatement reports whether two writes fit in one statement.
func togetherInStatement(first, j *job) bool {
	return first.t == j.t && alike(first.w, j.w) && !first.t.waits(first.w) && !first.t.waits(j.w)
}

// waits reports whether a write is a move that takes a place of a unique rule. It goes
// alone, for it has its row while it waits for the place.
func (t *table) waits(w *driver.Write) bool {
	enters, _ := t.enters(w)
	return enters && w.Prev.Rev > 0
}

// alike reports whether two writes fit in one statement of their machine. A row that others than
// the engine have written is compared before its statement, under its lock, so its write goes alone.
func alike(first, w *driver.Write) bool {
	return plain(first) && plain(w) && (first.Prev.Rev == 0) == (w.Prev.Rev == 0) && !lacksChain(first) && !lacksChain(w)
}

// commitMany runs the statement of a batch and returns the ids it wrote.
func (t *table) commitMany(ctx context.Context, on *session, batch []*job) (map[string]bool, error) {
	writes := make([]*driver.Write, len(batch))
	for i, j := range batch {
		writes[i] = j.w
	}
	return t.writeMany(ctx, on, writes, false)
}

// writeMany writes what can be written of the same kind and returns the ids.
func (t *table) writeMany(ctx context.Context, on querier, writes []*driver.Write, after any) (map[string]bool, error) {
	text, args := t.writing(after, writes...)
	written := make(map[string]bool, len(writes))
	var err error
	note := func(id string) { written[id] = true }
	if s, ok := on.(*session); ok {
		_, err = t.writeAlone(ctx, s, text, args, note)
	} else {
		_, err = write(ctx, on, text, args, note)
	}
	if err != nil {
		return nil, err
	}
	return written, nil
}

// arrays makes the texts of a server's arrays, one after the other, in one piece of memory.
type arrays struct {
	strings.Builder
	begun int // where the array begins that is being made
}

// end returns the array of what was added since the last one.
func (a *arrays) end() string {
	if a.Len() == a.begun {
		a.WriteByte('{')
	}
	a.WriteByte('}')
	text := a.String()[a.begun:]
	a.begun = a.Len()
	return text
}

// add appends a value as rows and events hold it, or what stands at a place.
func (a *arrays) add(v any) {
	if a.Len() == a.begun {
		a.WriteByte('{')
	} else {
		a.WriteByte(',')
	}
	var space [20]byte // of a number
	switch v := v.(type) {
	case nil:
		a.WriteString("NULL")
	case string:
		a.quote(v)
	case *string:
		a.quote(*v)
	case *driver.JSON:
		a.quote(v.String())
	case int64:
		a.Write(strconv.AppendInt(space[:0], v, 10))
	case *int64:
		a.Write(strconv.AppendInt(space[:0], *v, 10))
	case *uint32:
		a.Write(strconv.AppendUint(space[:0], uint64(*v), 10))
	case bool:
		a.Write(strconv.AppendBool(space[:0], v))
	case time.Time:
		a.time(v)
	case *time.Time:
		a.time(*v)
	case interface{ text() string }: // labels, inputs
		a.quote(v.text())
	case *int:
		a.Write(strconv.AppendInt(space[:0], int64(*v), 10))
	default:
		text := fmt.Sprint(v) // Fprint would make room for a in each batch
		a.WriteString(text)
	}
}

// time appends a time.
func (a *arrays) time(t time.Time) {
	var space [40]byte
	b := driver.Time(t).AppendFormat(append(space[:0], '"'), time.RFC3339Nano)
	a.Write(append(b, '"'))
}

// quote appends a text.
func (a *arrays) quote(text string) {
	a.WriteByte('"')
	from := 0
	for i := range len(text) {
		if c := text[i]; c == '"' || c == '\\' {
			a.WriteString(text[from:i])
			a.WriteByte('\\')
			from = i
		}
	}
	a.WriteString(text[from:])
	a.WriteByte('"')
}
