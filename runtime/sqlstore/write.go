package sqlstore

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// cell is a value of a write that a statement is given: a parameter, or a column of a batch.
type cell struct {
	name  string
	kind  driver.Kind
	value func(w *driver.Write) any // or where it stands: see held; nil: it is absent
}

// writeText is a statement of writes and what it is given.
type writeText struct {
	text  string
	cells []cell
	size  atomic.Int64 // of the arrays of the last batch, for each write
}

// writeTexts are those of one machine. They are known when it is opened; each is made when it is asked
// for first.
type writeTexts struct {
	create, createMany, moveMany func() *writeText // on a server
	take, takeMany               func() *writeText // on a server: see pipe
	logStep                      func() *writeText // in a file: the event of a creation or a move
	leave                        func() *writeText // in a file
	record                       func() *writeText // an event alone
	moves                        map[moveKey]func() *writeText
	all                          []namedText
}

type namedText struct {
	name string
	text func() *writeText
}

func (w *writeTexts) add(name string, text func() *writeText) func() *writeText {
	text = sync.OnceValue(text)
	w.all = append(w.all, namedText{name, text})
	return text
}

// moveKey is what the text of one move depends on.
type moveKey struct {
	operation *driver.OperationInfo // nil: any
	leaves    bool                  // in a file: the record leaves its state
}

// args returns the arguments for one write.
func (x *writeText) args(t *table, w *driver.Write, first ...any) []any {
	args := append(make([]any, 0, len(first)+len(x.cells)), first...)
	for i := range x.cells {
		args = append(args, t.bind(x.cells[i].value(w)))
	}
	return args
}

var (
	idCell      = cell{"id", driver.KindString, func(w *driver.Write) any { return &w.Prev.ID }}
	revCell     = cell{"rev", driver.KindInt, func(w *driver.Write) any { return &w.Prev.Rev }}
	fromCell    = cell{"from_state", driver.KindString, func(w *driver.Write) any { return &w.PrevState }}
	toCell      = cell{"to_state", driver.KindString, func(w *driver.Write) any { return &w.Row.State }}
	sumCell     = cell{"checksum", driver.KindInt, func(w *driver.Write) any { return &w.Event.Sum }}
	bornCell    = cell{"created_at", driver.KindTime, func(w *driver.Write) any { return &w.Row.CreatedAt }}
	updatedCell = cell{"updated_at", driver.KindTime, func(w *driver.Write) any { return &w.Row.UpdatedAt }}
	wasCell     = cell{"was", driver.KindInt, func(w *driver.Write) any {
		if byChain(w) {
			return &w.Old.Chain
		}
		return nil
	}}
	leaveCell = cell{"leave", driver.KindBool, func(w *driver.Write) any {
		if w.Leave {
			return true
		}
		return nil
	}}
	effectsCell = cell{"effects", driver.KindJSON, func(w *driver.Write) any {
		if len(w.Outbox) == 0 {
			return nil
		}
		return deliveries(w.Outbox)
	}}
)

// eventCells are those of a whole event.
func eventCells() (list []cell) {
	for _, c := range eventColumns {
		list = append(list, cell{c.name, c.kind, func(w *driver.Write) any { return c.value(&w.Event) }})
	}
	return list
}

// stepCells are those of the event of a creation or a move that its row does not have. What is
// nearly always the same is absent then.
func stepCells(create bool) (list []cell) {
	for _, c := range eventCells() {
		switch value := c.value; c.name {
		case "id", "rev", "n":
			continue
		case "from_state":
			if create {
				continue
			}
		case "occurred_at":
			c.value = func(w *driver.Write) any { return unless(w.Event.At.Equal(w.Row.UpdatedAt), value(w)) }
		case "reason":
			c.value = func(w *driver.Write) any { return unlessEmpty(&w.Event.Reason) }
		case "request_n":
			c.value = func(w *driver.Write) any { return unless(w.Event.RequestN == -1, value(w)) }
		}
		list = append(list, c)
	}
	return list
}

func unless(absent bool, value any) any {
	if absent {
		return nil
	}
	return value
}

// valueCell is the value of a column of the row, under a name that no other cell has; of a
// text that any operation may use, where the write changes it.
func (t *table) valueCell(i int, masked bool) cell {
	c := &t.schema.Columns[i]
	return cell{valueName(i, c.Stored), c.Kind, func(w *driver.Write) any {
		if masked && !slices.Contains(w.Changed, i) {
			return nil
		}
		return w.Row.Values[i]
	}}
}

// valueName names the cell of a column. PostgreSQL cuts longer names than 63 bytes, and two would be one.
func valueName(i int, column string) string {
	if len(column) > 63-len("v_") {
		return "v_" + strconv.Itoa(i)
	}
	return "v_" + column
}

// maskBits is how many columns a mask has: a number of the database without its sign.
const maskBits = 63

// maskCells say which columns a write changes, a bit for each.
func (t *table) maskCells() (list []cell) {
	for first := 0; first < len(t.schema.Columns); first += maskBits {
		list = append(list, cell{maskName(first), driver.KindInt, func(w *driver.Write) any {
			mask := int64(0)
			for _, i := range w.Changed {
				if i >= first && i < first+maskBits {
					mask |= 1 << (i - first)
				}
			}
			return unless(mask == 0, mask)
		}})
	}
	return list
}

func maskName(column int) string {
	if column < maskBits {
		return "changed"
	}
	return "changed_" + strconv.Itoa(column/maskBits+1)
}

// changes is the condition that a write i changes a column.
func changes(column int) string {
	return "i." + quote(maskName(column)) + " & " + strconv.FormatInt(1<<(column%maskBits), 10) + " <> 0"
}

// deliveries are what a write asks for.
type deliveries []driver.Delivery

func (list deliveries) text() string {
	rows := make([]map[string]any, len(list))
	for i := range list {
		rows[i] = map[string]any{}
		for _, c := range outboxColumns[2:] {
			v := c.value(&list[i])
			if at, ok := v.(time.Time); ok {
				v = driver.Time(at).Format(time.RFC3339Nano)
			}
			rows[i][c.name] = v
		}
	}
	b, _ := json.Marshal(rows) // texts and numbers have always a form
	return string(b)
}

// mayChange lists the columns that an operation may change; nil is any.
func (t *table) mayChange(o *driver.OperationInfo) []int {
	if o != nil {
		return o.Sets
	}
	all := make([]int, len(t.schema.Columns))
	for i := range all {
		all[i] = i
	}
	return all
}

// operation returns what the schema says of the operation of a write; nil where it says nothing,
// or where the write does more.
func (t *table) operation(w *driver.Write) *driver.OperationInfo {
	i := slices.IndexFunc(t.schema.Operations, func(o driver.OperationInfo) bool { return o.Stored == w.Event.Operation })
	if i < 0 {
		return nil
	}
	o := &t.schema.Operations[i]
	if w.Row.State != w.PrevState && !o.Leaves {
		return nil
	}
	sets := o.Sets
	for _, c := range w.Changed {
		for len(sets) > 0 && sets[0] < c {
			sets = sets[1:]
		}
		if len(sets) == 0 || sets[0] != c {
			return nil
		}
	}
	return o
}

// plain reports whether the event of a write says what its row says, as the engine makes
// them: the statement hears it once only.
func plain(w *driver.Write) bool {
	e := &w.Event
	return w.Row != nil && e.N == 0 &&
		e.ID == w.Row.ID && e.ID == w.Prev.ID && e.Rev == w.Row.Rev && e.Rev == w.Prev.Rev+1 &&
		e.To == w.Row.State && e.From == w.PrevState && asked(w)
}

// asked reports whether what a write asks for is said to be of its step, in order.
func asked(w *driver.Write) bool {
	for i := range w.Outbox {
		if d := &w.Outbox[i]; d.ID != w.Event.ID || d.Rev != w.Event.Rev || d.N != int64(i) {
			return false
		}
	}
	return true
}

// sound refuses a write that is none.
func (t *table) sound(w *driver.Write) error {
	if err := t.fits(w); err != nil {
		return err
	}
	if w.Row != nil && !plain(w) {
		return fmt.Errorf("sqlstore: %s: the event or the delivery of the write of %q says another id, revision or "+
			"state than its row; expected the same", t.schema.Machine, w.Prev.ID)
	}
	if t.schema.NoOutbox && (len(w.Outbox) > 0 || w.Leave) {
		return fmt.Errorf("sqlstore: %s: the write of %q has to do with an effect, and the schema says that no operation has one",
			t.schema.Machine, w.Prev.ID)
	}
	return nil
}
