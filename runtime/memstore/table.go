package memstore

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/rows"
)

// requestKey names a request: id is empty where the scope is the machine.
type requestKey struct{ id, request string }

type deliveryKey struct {
	id     string
	rev, n int64
}

// table holds what the store knows of one machine.
type table struct {
	machine, hash string
	version       int             // of hash
	earlier       map[string]bool // hashes of before: whether they are open beside this one
	columns       []string        // stored names, in the order of the rows' values
	ids           []string        // of all rows, ascending
	rows          map[string]driver.Row
	events        map[string][]driver.Event
	log           []driver.Event                // of all records, in the order of the commits
	requests      map[requestKey][]driver.Event // machine scope: by RequestN
	unique        map[string]string             // rule and values -> id
	outbox        map[deliveryKey]driver.Delivery
	given         map[string]int64 // group of a sequence -> the last number that was given in it
	highest       map[string]int64 // group of a sequence -> the highest number that its rows have
}

func newTable(machine string) *table {
	return &table{
		machine:  machine,
		earlier:  map[string]bool{},
		rows:     map[string]driver.Row{},
		events:   map[string][]driver.Event{},
		requests: map[requestKey][]driver.Event{},
		unique:   map[string]string{},
		outbox:   map[deliveryKey]driver.Delivery{},
		given:    map[string]int64{},
		highest:  map[string]int64{},
	}
}

// reshape brings the rows into the column order of a new specification and
// builds the unique rules anew.
func (t *table) reshape(s *driver.Schema) error {
	columns := make([]string, len(s.Columns))
	for i := range s.Columns {
		columns[i] = s.Columns[i].Stored
	}
	reshaped := make(map[string]driver.Row, len(t.rows))
	unique, highest := map[string]string{}, map[string]int64{}
	for _, id := range t.ids {
		row := t.rows[id]
		values := make([]any, len(columns))
		for i, c := range columns {
			if old := slices.Index(t.columns, c); old >= 0 {
				values[i] = row.Values[old]
			} else {
				values[i] = rows.Blank(&s.Columns[i])
			}
		}
		row.Values = values
		reshaped[id] = row
		for _, key := range uniqueKeys(s, &row) {
			if other, taken := unique[key.text]; taken {
				return mismatch(s, "records %q and %q break the unique rule %s", other, id, key.rule)
			}
			unique[key.text] = id
		}
		for _, p := range numbers(s, &row) {
			highest[p.group] = max(highest[p.group], p.n)
		}
	}
	t.columns, t.rows, t.unique, t.highest = columns, reshaped, unique, highest
	return nil
}

type uniqueKey struct{ rule, text string }

// uniqueKeys returns the places that a row takes.
func uniqueKeys(s *driver.Schema, row *driver.Row) []uniqueKey {
	var keys []uniqueKey
	for i := range s.Uniques {
		u := &s.Uniques[i]
		if u.States != nil && !slices.Contains(u.States, row.State) {
			continue
		}
		values := make([]any, len(u.Columns))
		absent := false
		for j, name := range u.Columns {
			c := s.Column(name)
			values[j] = row.Values[c]
			absent = absent || values[j] == nil
		}
		if !absent {
			keys = append(keys, uniqueKey{u.Name, joined(u.Name, values)})
		}
	}
	return keys
}

// joined makes one string of values such that no two lists of values meet.
func joined(name string, values []any) string {
	var b strings.Builder
	b.WriteString(strconv.Quote(name))
	for _, v := range values {
		switch v := v.(type) {
		case string:
			b.WriteString(strconv.Quote(v))
		case time.Time:
			fmt.Fprintf(&b, " t%d", v.UnixMicro())
		default:
			fmt.Fprintf(&b, " %T%v", v, v)
		}
	}
	return b.String()
}

// put sets a row; a zero old row is none.
func (t *table) put(tx *Tx, s *driver.Schema, old, next *driver.Row) error {
	id := next.ID
	var before []uniqueKey
	if old != nil {
		before = uniqueKeys(s, old)
	}
	after := uniqueKeys(s, next)
	for _, k := range after {
		if other, taken := t.unique[k.text]; taken && other != id {
			return &driver.ConflictError{Rule: k.rule}
		}
	}
	for _, k := range before {
		delete(t.unique, k.text)
	}
	for _, k := range after {
		t.unique[k.text] = id
	}
	t.rows[id] = cloneRow(*next)
	t.renumber(tx, s, old, next)
	if old == nil {
		i, _ := slices.BinarySearch(t.ids, id)
		t.ids = slices.Insert(t.ids, i, id)
	}
	tx.later(func() {
		for _, k := range after {
			delete(t.unique, k.text)
		}
		for _, k := range before {
			t.unique[k.text] = id
		}
		if old != nil {
			t.rows[id] = *old
			return
		}
		delete(t.rows, id)
		i, _ := slices.BinarySearch(t.ids, id)
		t.ids = slices.Delete(t.ids, i, i+1)
	})
	return nil
}

// note appends an event and its request.
func (t *table) note(tx *Tx, e driver.Event) {
	id := e.ID
	n := len(t.events[id])
	e.Chain = t.chain(&e)
	t.events[id] = append(t.events[id], e)
	t.log = append(t.log, e)
	tx.later(func() {
		t.log = t.log[:len(t.log)-1]
		if n == 0 {
			delete(t.events, id)
			return
		}
		t.events[id] = t.events[id][:n:n]
	})
	if e.RequestID == "" {
		return
	}
	for _, key := range requestKeys(&e) {
		old := t.requests[key]
		if at, _ := slices.BinarySearchFunc(old, e.RequestN+1, byRequestN); at < len(old) {
			t.requests[key] = slices.Insert(slices.Clone(old), at, e)
		} else {
			t.requests[key] = append(old, e)
		}
		tx.later(func() {
			if old == nil {
				delete(t.requests, key)
				return
			}
			t.requests[key] = old
		})
	}
}

// nextN returns the number of the next event that is recorded only.
func (t *table) nextN(id string, rev int64) int64 {
	for _, other := range slices.Backward(t.events[id]) {
		if other.Rev == rev {
			return other.N + 1
		}
	}
	return 1
}

// chain returns the chain of the next event.
func (t *table) chain(e *driver.Event) uint32 {
	rev, n := e.Rev-1, int64(0)
	if e.RecordOnly() {
		rev, n = e.Rev, e.N-1
	}
	for _, p := range slices.Backward(t.events[e.ID]) {
		if p.Rev == rev && p.N == n {
			return driver.Chained(p.Chain, e)
		}
		if p.Rev < rev {
			break
		}
	}
	return driver.Chained(0, e)
}

// requestKeys returns the scopes in which the request of e is found.
func requestKeys(e *driver.Event) []requestKey {
	keys := []requestKey{{e.ID, e.RequestID}}
	if e.RequestN >= 0 {
		keys = append(keys, requestKey{"", e.RequestID})
	}
	return keys
}

// taken reports whether the request of e stands in the log.
func (t *table) taken(e *driver.Event) bool {
	if e.RequestID == "" {
		return false
	}
	if len(t.requests[requestKey{e.ID, e.RequestID}]) > 0 {
		return true
	}
	if e.RequestN < 0 {
		return false
	}
	_, found := slices.BinarySearchFunc(t.requests[requestKey{"", e.RequestID}], e.RequestN, byRequestN)
	return found
}

// byRequestN compares an event of a request with a number.
func byRequestN(e driver.Event, n int64) int { return cmp.Compare(e.RequestN, n) }

// ask puts a delivery into the outbox.
func (t *table) ask(tx *Tx, d driver.Delivery) {
	key := deliveryKey{d.ID, d.Rev, d.N}
	t.outbox[key] = d
	tx.later(func() { delete(t.outbox, key) })
}

// settle removes a delivery.
func (t *table) settle(tx *Tx, key deliveryKey) {
	d, ok := t.outbox[key]
	if !ok {
		return
	}
	delete(t.outbox, key)
	tx.later(func() { t.outbox[key] = d })
}

func cloneRow(r driver.Row) driver.Row {
	r.Values = slices.Clone(r.Values)
	return r
}
