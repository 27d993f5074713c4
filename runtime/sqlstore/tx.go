package sqlstore

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// txn reads and writes one machine's tables in one transaction.
type txn struct {
	reader
	tx      *sql.Tx
	last    *driver.Write // the last one, for the error of a lost commit
	changed bool          // a statement has changed something
	adopted bool          // the transaction is the caller's
	alone   bool          // there is no transaction: it asks why a statement by itself wrote nothing
	mode    mode
	nested  bool        // there is a savepoint of a write
	part    part        // that is run now
	kept    *driver.Row // a row that is locked and was read, until somebody asks for it or writes
	beside  *txn        // whose transaction it is, of another machine; nil: its own
	grouped bool        // it has locked a group
	placed  bool        // it has written a record that has a place of a unique rule
	was     *driver.Row // the row that was locked last
	spot    *spot       // of its call; nil: it waits for locks as long as its caller says
	things  []string    // what the last statement may have waited for
	foreign Querier     // where tx is nil: the transaction
}

var _ driver.Tx = (*txn)(nil)

// Ended reports whether the transaction was committed or rolled back.
func (x *txn) Ended() bool {
	if x.foreign != nil {
		return x.foreign.Ended()
	}
	if p, piped := x.q.(*pipe); piped {
		return p.over
	}
	if _, err := x.tx.ExecContext(x.ctx, "SELECT 1"); err != nil {
		return errors.Is(err, sql.ErrTxDone)
	}
	q, byDriver := x.q.(nativeTx) // database/sql does not hear of a ROLLBACK that is a text
	return byDriver && q.ended()
}

// change runs a statement that writes. A constraint's refusal comes back as it
// is, and took back this statement only.
func (x *txn) change(text string, args ...any) (int64, error) {
	if x.err != nil {
		return 0, x.err
	}
	x.kept, x.ran = nil, true
	first, err := x.save()
	if err != nil {
		return 0, err
	}
	guarded := x.t.dialect.savepoint() && x.mode.careful
	if guarded && !first {
		save := "SAVEPOINT fsm_write"
		if x.nested {
			save = "RELEASE SAVEPOINT fsm_write; " + save
		}
		if _, err := x.q.exec(x.ctx, save); err != nil {
			return 0, x.fail(err)
		}
		x.nested = true
	}
	res, err := x.q.exec(x.ctx, text, args...)
	switch {
	case err == nil:
		return x.count(res)
	case x.t.dialect.failure(err) != failConstraint:
		return 0, x.fail(err)
	case first && x.t.dialect.savepoint(), guarded:
		to := "fsm_write"
		if first {
			to = partName
		}
		if _, back := x.q.exec(x.ctx, "ROLLBACK TO SAVEPOINT "+to); back != nil {
			return 0, x.fail(back)
		}
	case x.t.dialect.savepoint(): // the transaction is of no more use: nobody could find out why
		how := x.mode
		how.careful = true
		return 0, x.again(how)
	}
	return 0, err
}

// count returns how many rows a statement changed.
func (x *txn) count(res sql.Result) (int64, error) {
	n, err := res.RowsAffected()
	x.changed = x.changed || n > 0 || err != nil
	return n, err
}

// strict makes the transaction one that sees no other writer, or ends it when it
// is too late for that.
func (x *txn) strict() error {
	switch {
	case x.err != nil || x.mode.strict || !x.t.dialect.server():
		return x.err
	case x.ran:
		how := x.mode
		how.strict = true
		return x.again(how)
	}
	text := "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"
	pooled := x.t.dialect.pooled()
	if pooled { // it has been asked for its settings, which is too late for that
		text = "ROLLBACK AND CHAIN; " + text
	}
	if _, err := x.q.exec(x.ctx, text); err != nil {
		return x.fail(err)
	}
	if pooled {
		if err := x.begin(); err != nil {
			x.err = x.t.unopened(x.ctx, err)
			return x.err
		}
	}
	x.mode.strict = true
	return nil
}

// begin sets what holds for this transaction alone.
func (x *txn) begin() error {
	if x.t.dialect.pooled() {
		if err := x.t.dialect.settings(x.ctx, x.q, forBegun, nil); err != nil {
			return err
		}
	}
	if !x.mode.seated {
		return nil
	}
	_, err := x.q.exec(x.ctx, "SET LOCAL lock_timeout = "+milliseconds(min(sitting, x.t.dialect.patience()/3)))
	return err
}

// again ends the transaction, for it to be run in another mode.
func (x *txn) again(how mode) error {
	if x.err == nil {
		x.err = &anew{how}
	}
	return x.err
}

// Row returns the row and locks it, or ErrNotFound.
func (x *txn) Row(id string) (driver.Row, error) {
	if x.kept != nil && x.kept.ID == id {
		row := *x.kept
		x.kept = nil
		return row, nil
	}
	row, err := x.hold(id)
	if err == nil && len(x.t.schema.Uniques) > 0 {
		if x.was != nil && x.was.ID != id && !x.changed {
			x.mode.places = true // it locks several records before it writes: a batch, which would have to begin again
		}
		x.was = &row
	}
	return row, err
}

// hold locks a row and returns it, or ErrNotFound.
func (x *txn) hold(id string) (driver.Row, error) {
	if err := x.asks(x.t.record(id)); err != nil {
		return driver.Row{}, err
	}
	return x.one(x.t.text("row_locked"), id)
}

// Request returns the events that carry the request id. Where the request is of
// a record, that is locked before: an earlier try of the request whose commit is
// on its way is waited for, and found.
func (x *txn) Request(id, requestID string) ([]driver.Event, error) {
	if id != "" && requestID != "" && x.t.dialect.hold() != "" && (x.kept == nil || x.kept.ID != id) {
		row, err := x.hold(id)
		if err == nil {
			x.kept, x.was = &row, &row
		} else if !errors.Is(err, driver.ErrNotFound) {
			return nil, err
		}
	}
	return x.reader.Request(id, requestID)
}

// Write makes one write part of the transaction. The event goes first: the
// schema lets a row change only when the event of its new revision is there.
func (x *txn) Write(w *driver.Write) error {
	if err := x.reserve(w); err != nil {
		return err
	}
	return x.write(w)
}

// write is Write where the places are reserved.
func (x *txn) write(w *driver.Write) error {
	x.last = w
	if w.Row == nil {
		return x.record(w)
	}
	if err := x.t.sound(w); err != nil {
		return err
	}
	if same, err := x.compared(w); err != nil {
		return err
	} else if !same {
		return x.explain(w, nil, false)
	}
	if x.t.dialect.server() {
		return x.whole(w)
	}
	log := x.t.writes.logStep()
	if err := x.logged(w, log.text, log.args(x.t, w)); err != nil {
		return err
	}
	if w.Prev.Rev == 0 {
		if err := x.insert(w, w.Event.Sum); err != nil {
			return err
		}
	} else if err := x.move(w); err != nil {
		return err
	}
	if w.Leave {
		leave := x.t.writes.leave()
		if _, err := x.change(leave.text, leave.args(x.t, w)...); err != nil {
			return err
		}
	}
	return x.ask(w.Outbox)
}

// whole makes the write in one statement.
func (x *txn) whole(w *driver.Write) error {
	if err := x.asks(x.t.thingsOf(w)...); err != nil {
		return err
	}
	text, args := x.t.writing(x.behind(), w)
	if n, err := x.change(text, args...); err != nil || n != 1 {
		return x.explain(w, err, false)
	}
	return nil
}

// compared reports whether the row is the one that a write was decided on, where no chain says so, since
// others than the engine have written it. The transaction locks it then.
func (x *txn) compared(w *driver.Write) (bool, error) {
	if !lacksChain(w) {
		return true, nil
	}
	if err := x.asks(x.t.record(w.Prev.ID)); err != nil {
		return false, err
	}
	return x.unmoved(w)
}

// fits returns an error unless the rows of w have the table's columns.
func (t *table) fits(w *driver.Write) error {
	for _, row := range []*driver.Row{w.Row, w.Old} {
		if row != nil && len(row.Values) != len(t.schema.Columns) {
			return fmt.Errorf("sqlstore: the row of %q has %d values, %s has %d columns",
				w.Prev.ID, len(row.Values), t.schema.Machine, len(t.schema.Columns))
		}
	}
	return nil
}

// record appends an event that changes nothing but the log.
func (x *txn) record(w *driver.Write) error {
	if w.Prev.Rev == 0 {
		return fmt.Errorf("sqlstore: a creation of %q without a row", w.Prev.ID)
	}
	id, rev := w.Prev.ID, w.Prev.Rev
	if x.t.dialect.hold() != "" { // its numbers are counted one after the other
		if _, err := x.hold(id); err != nil && !errors.Is(err, driver.ErrNotFound) {
			return err
		}
		if _, err := x.q.exec(x.ctx, x.t.text("await_batches")); err != nil {
			return x.fail(err)
		}
	}
	n, held, err := x.integer(x.t.text("record_n"), id, rev, w.PrevState)
	if err != nil {
		return err
	}
	if !held {
		return x.explain(w, nil, false)
	}
	w.Event.N = n
	if err := x.log(w); err != nil {
		return err
	}
	return x.ask(w.Outbox)
}

func (x *txn) log(w *driver.Write) error {
	record, first := x.t.writes.record(), []any(nil)
	if x.t.dialect.server() {
		first = []any{x.behind()}
	}
	return x.logged(w, record.text, record.args(x.t, w, first...))
}

// logged inserts an event. One that a trigger of the user's suppressed must not be missing.
func (x *txn) logged(w *driver.Write, text string, args []any) error {
	switch n, err := x.change(text, args...); {
	case err != nil:
		return x.explain(w, err, false)
	case n != 1:
		return x.t.blame(w, nil)
	}
	return nil
}

// insert writes a new row with its chain; 0: the log has it.
func (x *txn) insert(w *driver.Write, chain uint32) error {
	switch n, err := x.change(x.t.text("insert"), append(x.rowArgs(w.Row), int64(chain))...); {
	case err != nil:
		return x.explain(w, err, true)
	case n != 1:
		return x.t.blame(w, nil)
	}
	return nil
}

// rowArgs are the columns of a row.
func (x *txn) rowArgs(row *driver.Row) []any {
	args := append(make([]any, 0, 6+len(row.Values)), row.ID, row.State, row.Rev, x.t.bind(row.CreatedAt), x.t.bind(row.UpdatedAt))
	for _, v := range row.Values {
		args = append(args, x.t.bind(v))
	}
	return args
}

func (x *txn) move(w *driver.Write) error {
	text, args := x.t.moving(w)
	n, err := x.change(text, args...)
	if err != nil || n != 1 {
		return x.explain(w, err, true)
	}
	return nil
}

func (x *txn) ask(list []driver.Delivery) error {
	for j := range list {
		args := make([]any, len(outboxColumns))
		for i := range outboxColumns {
			args[i] = x.t.bind(outboxColumns[i].value(&list[j]))
		}
		if n, err := x.change(x.t.text("ask"), args...); err != nil || n != 1 {
			return x.t.fault("ask for effect "+list[j].Effect, err)
		}
	}
	return nil
}

// others counts the rows that fit and hold a condition, one id aside.
func (x *txn) others(q driver.Query, except, condition string) (int64, error) {
	b := &text{d: x.t.dialect}
	b.WriteString("SELECT " + x.t.says("others") + "count(*) FROM " + x.t.name)
	if err := x.t.where(b, &q); err != nil {
		return 0, err
	}
	word := " WHERE "
	if q.States != nil || len(q.Where) > 0 {
		word = " AND "
	}
	b.WriteString(word + `"id" <> ` + b.arg(except))
	if condition != "" {
		b.WriteString(" AND (" + condition + ")")
	}
	n, _, err := x.integer(b.String(), b.args...)
	return n, err
}

// groupKey returns the text of a group's values; whole is false when one of
// them is absent.
func groupKey(q *driver.PeerQuery) (key string, whole bool, err error) {
	values := make([]any, len(q.Values))
	whole = true
	for i, v := range q.Values {
		if v == nil {
			whole = false
		}
		if at, ok := v.(time.Time); ok {
			v = at.UnixMicro()
		}
		values[i] = v
	}
	b, err := json.Marshal(values)
	return string(b), whole, err
}

// placeOf returns the row by which the group of a guard is locked. It is named by what the group is made of, and not by
// the guard: two versions that call one limit by two names, or list its fields in two orders, have one lock. It is one
// of 65 536 that all groups of these fields share, so that the table neither grows with them nor keeps their texts.
func placeOf(q *driver.PeerQuery) (name, key string, err error) {
	order := make([]int, len(q.Columns))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return strings.Compare(q.Columns[i], q.Columns[j]) })
	sorted := driver.PeerQuery{}
	for _, i := range order {
		sorted.Columns, sorted.Values = append(sorted.Columns, q.Columns[i]), append(sorted.Values, q.Values[i])
	}
	if key, _, err = groupKey(&sorted); err != nil {
		return "", "", err
	}
	h := fnv.New32a()
	h.Write([]byte(key))
	return "of " + strings.Join(sorted.Columns, " "), strconv.FormatUint(uint64(h.Sum32()>>16^h.Sum32()&0xffff), 16), nil
}

// group locks the group of q. Records with an absent value are in none, except
// for a sequence: it must give them a number, so they are counted together.
func (x *txn) group(q *driver.PeerQuery) (key string, whole bool, err error) {
	if len(q.Columns) != len(q.Values) {
		return "", false, fmt.Errorf("sqlstore: group %s has %d columns and %d values", q.Name, len(q.Columns), len(q.Values))
	}
	key, whole, err = groupKey(q)
	if err != nil || !whole && !q.Sequence {
		return key, whole, err
	}
	// Only the first group is waited for: who waits for another one, with that or with places
	// in hand, might be waited for. In a caller's transaction the caller's order counts.
	try := q.Try || (x.grouped || x.placed) && !x.adopted
	text := x.t.dialect.lockGroup(x.t, try)
	if text == "" || x.err != nil {
		return key, whole, x.err
	}
	x.kept = nil
	name, lock := q.Name, key
	if !q.Sequence {
		if name, lock, err = placeOf(q); err != nil {
			return key, whole, err
		}
	}
	thing := x.t.name + "\x00group\x00" + name + "\x00" + lock
	if !try {
		if err := x.asks(thing); err != nil {
			return key, whole, err
		}
	}
	n, _, err := x.integer(text, name, lock)
	switch {
	case err != nil:
		return key, whole, err
	case n == 1:
		if x.grouped = true; x.beside != nil {
			x.beside.grouped = true
		}
		return key, whole, nil
	case q.Try:
		return key, whole, driver.ErrHeld
	}
	x.err = &met{what: "a group of " + q.Name, things: []string{thing}, wait: x.waits(func(x *txn) error { _, _, err := x.group(q); return err })}
	return key, whole, x.err
}

// waits makes f wait for what is of this table, in whichever machine's transaction it runs.
func (x *txn) waits(f func(*txn) error) func(*txn) error {
	t := x.t
	return func(y *txn) error {
		y.t = t
		return f(y)
	}
}

func groupQuery(q *driver.PeerQuery) driver.Query {
	fit := driver.Query{States: q.States}
	for i, c := range q.Columns {
		cond := driver.Cond{Column: c, Op: driver.OpEq, Value: q.Values[i]}
		if cond.Value == nil {
			cond.Op = driver.OpAbsent
		}
		fit.Where = append(fit.Where, cond)
	}
	return fit
}

// Peers counts the other records of a group.
func (x *txn) Peers(q driver.PeerQuery) (int64, error) {
	if q.Hold {
		_, _, err := x.group(&q)
		return 0, err
	}
	if !q.Locked {
		if err := x.strict(); err != nil {
			return 0, err
		}
	}
	if _, whole, err := x.group(&q); err != nil || !whole {
		return 0, err
	}
	return x.others(groupQuery(&q), q.Except, "")
}

// NextNumber counts the group's sequence up. A number that a row of the group
// holds is never given again, even when the group's own row is gone.
func (x *txn) NextNumber(q driver.PeerQuery) (int64, error) {
	q.Sequence = true
	key, _, err := x.group(&q)
	if err != nil {
		return 0, err
	}
	last, _, err := x.integer(x.t.text("number"), q.Name, key)
	if err != nil {
		return 0, err
	}
	if col := x.t.sequence(q.Name); col != "" {
		b := &text{d: x.t.dialect}
		fmt.Fprintf(b, "SELECT coalesce(max(%s), 0) FROM %s", quote(col), x.t.name)
		fit := groupQuery(&driver.PeerQuery{Columns: q.Columns, Values: q.Values})
		if err := x.t.where(b, &fit); err != nil {
			return 0, err
		}
		used, _, err := x.integer(b.String(), b.args...)
		if err != nil {
			return 0, err
		}
		last = max(last, used)
	}
	if last == math.MaxInt64 {
		return 0, nil
	}
	if _, err := x.change(x.t.text("put_number"), q.Name, key, last+1); err != nil {
		return 0, x.t.fault("count the sequence "+q.Name+" up", err)
	}
	return last + 1, nil
}

// Claim gives deliveries of an effect to its caller, fresh ones first. A server does it in one statement, and passes over
// rows that are locked already. SQLite tells no order of what it has changed.
func (x *txn) Claim(effect string, now, until time.Time, limit int) ([]driver.Delivery, error) {
	if x.t.dialect.server() {
		return x.deliveries(x.t.text("claim"), effect, x.t.bind(now), unlimited(limit), x.t.bind(until))
	}
	list, err := x.deliveries(x.t.text("fresh"), effect, x.t.bind(now), unlimited(limit))
	if err == nil && (limit <= 0 || len(list) < limit) {
		var again []driver.Delivery
		again, err = x.deliveries(x.t.text("again"), effect, x.t.bind(now), unlimited(limit-len(list)))
		list = append(list, again...)
	}
	if err != nil {
		return nil, err
	}
	for i := range list {
		d := &list[i]
		d.Claim(until)
		if _, err := x.change(x.t.text("claim"), d.Attempts, x.t.bind(until), d.ID, d.Rev, d.N); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Settle removes a delivery.
func (x *txn) Settle(id string, rev, n int64, attempt int) (bool, error) {
	count, err := x.change(x.t.text("settle"), id, rev, n, attempt)
	return count > 0, err
}

// Postpone notes a failed attempt.
func (x *txn) Postpone(id string, rev, n int64, attempt int, due time.Time, lastError string) (bool, error) {
	count, err := x.change(x.t.text("postpone"), x.t.bind(due), lastError, id, rev, n, attempt)
	return count > 0, err
}
