package mapped

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/spec"
)

// Options are the settings of an audit.
type Options struct {
	Dialect  string // "sqlite" or "postgres"
	First    int    // how many records are named of each rule; 0: 5
	Now      time.Time
	Places   int // how many places of unique rules are remembered at once; 0: a million. With more the table is read again
	Progress func(done, total int64)
}

// Audit reads the table and its history in one read-only transaction, and says what the machine's rules say of them. Its
// error is one of the database, or of a mapping that names what is not there.
func Audit(ctx context.Context, db *sql.DB, p *Mapping, o Options) (*Result, error) {
	a := &audit{p: p, o: o, t: newTally(o.First), uniques: gen.FactsOf(p.Machine).Uniques, result: &Result{}}
	if a.o.Now.IsZero() {
		a.o.Now = time.Now()
	}
	var opts *sql.TxOptions
	if o.Dialect == "postgres" {
		opts = &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	tx, err := db.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	a.tx = tx
	err = a.all(ctx)
	if end := tx.Rollback(); err == nil && !errors.Is(end, sql.ErrTxDone) {
		err = end
	}
	a.t.end(a.result)
	return a.result, err
}

// audit is one run.
type audit struct {
	p       *Mapping
	o       Options
	tx      *sql.Tx
	t       *tally
	uniques []gen.UniqueFact
	result  *Result
	total   int64
}

func (a *audit) all(ctx context.Context) error {
	if err := a.tx.QueryRowContext(ctx, "SELECT count(*) FROM "+quoted(a.p.Table)).Scan(&a.total); err != nil {
		return err
	}
	most := int64(cmp.Or(a.o.Places, 1<<20))
	passes := 1 + a.total*int64(len(a.uniques))/most
	if err := a.rows(ctx, 0, passes); err != nil {
		return err
	}
	for pass := int64(1); pass < passes; pass++ {
		if err := a.rows(ctx, pass, passes); err != nil {
			return err
		}
	}
	if a.p.History == nil {
		return nil
	}
	if err := a.history(ctx); err != nil {
		return err
	}
	return a.without(ctx)
}

// quoted writes the name of a table or column, with its schema where it has one.
func quoted(name string) string {
	parts := strings.Split(name, ".")
	for i := range parts {
		parts[i] = `"` + strings.ReplaceAll(parts[i], `"`, `""`) + `"`
	}
	return strings.Join(parts, ".")
}

// column writes the name of a column of a table.
func column(table, name string) string {
	return table + `."` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// selected are the columns of a record: id, state, then those of the fields.
func (p *Mapping) selected() string {
	list := []string{column("t", p.ID), column("t", p.State.Name)}
	for i := range p.Fields {
		if c := &p.Fields[i]; c.Name != "" {
			list = append(list, column("t", c.Name))
		}
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM " + quoted(p.Table) + " AS t"
}

// scanner reads the rows of a query as lists of values.
type scanner struct {
	rows  *sql.Rows
	zoned []bool
	raw   []any
	into  []any
}

func scan(rows *sql.Rows) (*scanner, error) {
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	s := &scanner{rows: rows, raw: make([]any, len(types)), into: make([]any, len(types))}
	for i, t := range types {
		name := strings.ToUpper(t.DatabaseTypeName())
		s.zoned = append(s.zoned, strings.Contains(name, "TIMESTAMPTZ") || strings.Contains(name, "WITH TIME ZONE"))
		s.into[i] = &s.raw[i]
	}
	return s, nil
}

func (s *scanner) next() (bool, error) {
	if !s.rows.Next() {
		return false, s.rows.Err()
	}
	clear(s.raw)
	return true, s.rows.Scan(s.into...)
}

// read is one row of the table as far as it can be read.
type read struct {
	rec    interp.Record // State is nil where the word is unknown
	known  bool          // id, state and all values could be read
	unread []*spec.Field // those whose values could not be read
}

// record makes a record of a row, and calls say for what cannot be read.
func (p *Mapping) record(s *scanner, now time.Time, say func(check, rule string, must bool, value string)) read {
	id, there := textOf(s.raw[0])
	r := read{rec: interp.NewRecord(p.Machine, id), known: true}
	r.rec.Rev = 1
	bad := func(check, rule, value string) {
		r.known = false
		say(check, rule, true, value)
	}
	if err := driver.CheckID(id); err != nil || !there {
		bad(CheckID, "the id is none", shown(s.raw[0]))
	}
	word, there := textOf(s.raw[1])
	state := p.States[word]
	if state == nil || !there {
		state = nil
		bad(CheckState, shown(s.raw[1])+" is no word of the mapping", "")
	}
	r.rec.State = state
	at := 2
	for i := range p.Fields {
		c := &p.Fields[i]
		var raw any = c.Constant
		zoned := false
		if c.Name != "" {
			raw, zoned = s.raw[at], s.zoned[at]
			at++
		}
		if c.In != nil && !slices.Contains(c.In, state) {
			continue
		}
		v, problem := c.value(raw, zoned)
		switch {
		case problem != "":
			bad(CheckField, c.Field.Name+": "+problem, shown(raw))
			r.unread = append(r.unread, c.Field)
		case c.Field.Builtin && v.Kind == interp.KindAbsent:
			say(CheckField, c.Field.Name+" would be the time of the import", false, shown(raw))
		case c.Field.Builtin && c.Field.Name == "created_at":
			r.rec.CreatedAt = v.AsTime()
		case c.Field.Builtin:
			r.rec.UpdatedAt = v.AsTime()
		default:
			r.rec = r.rec.With(p.Machine, c.Field.Name, v)
		}
	}
	for _, t := range []*time.Time{&r.rec.CreatedAt, &r.rec.UpdatedAt} {
		if t.IsZero() {
			*t = now.UTC().Truncate(time.Microsecond)
		}
	}
	return r
}

// rows reads the table. Each pass looks at its part of the places of unique rules, and the first one at all else.
func (a *audit) rows(ctx context.Context, pass, passes int64) (err error) {
	list, err := a.tx.QueryContext(ctx, a.p.selected()+" ORDER BY "+column("t", a.p.ID))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, list.Close()) }()
	s, err := scan(list)
	if err != nil {
		return err
	}
	places := map[[16]byte]string{}
	last, began := "", false
	for {
		more, err := s.next()
		if err != nil || !more {
			return err
		}
		say := func(string, string, bool, string) {}
		id, _ := textOf(s.raw[0])
		if pass == 0 {
			say = func(check, rule string, must bool, value string) { a.t.add(check, rule, must, id, value) }
			if began && id == last {
				say(CheckID, "the id stands in several rows", true, "")
			}
			last, began = id, true
		}
		r := a.p.record(s, a.o.Now, say)
		if r.rec.State != nil {
			a.unique(&r.rec, places, pass, passes)
		}
		if pass > 0 {
			continue
		}
		a.judge(&r, say)
		if a.result.Records++; a.o.Progress != nil && a.result.Records%1000 == 0 {
			a.o.Progress(a.result.Records, a.total)
		}
	}
}

// judge says what the rules of the machine say of one record.
func (a *audit) judge(r *read, say func(check, rule string, must bool, value string)) {
	if r.rec.State == nil {
		return
	}
	sound := r.known
	for _, v := range interp.Check(a.p.Machine, r.rec) {
		rule, value := v.Rule, a.p.valuesIn(v.Rule, r.rec)
		if v.Message != "" && value == "" {
			value = v.Message
		}
		if f := a.p.Machine.Field(v.Rule); f != nil && v.Message != "" {
			rule = v.Rule + " is in its bounds"
		}
		if words := wordsOf(rule); slices.ContainsFunc(r.unread, func(f *spec.Field) bool { return slices.Contains(words, f.Name) }) {
			continue // what it says of a value that cannot be read follows from that
		}
		sound = sound && !v.Must
		say(CheckRule, rule, v.Must, value)
	}
	switch {
	case r.rec.CreatedAt.After(a.o.Now):
		say(CheckRule, "created_at is not after now", true, r.rec.CreatedAt.Format(time.RFC3339Nano))
		sound = false
	case r.rec.UpdatedAt.Before(r.rec.CreatedAt):
		say(CheckRule, "updated_at is not before created_at", true, r.rec.UpdatedAt.Format(time.RFC3339Nano))
		sound = false
	case r.rec.UpdatedAt.After(a.o.Now):
		say(CheckRule, "updated_at is not after now", true, r.rec.UpdatedAt.Format(time.RFC3339Nano))
		sound = false
	}
	if sound {
		a.due(r.rec, say)
	}
}

// due says what the first sweep would do with a record. Guards that count other records find none.
func (a *audit) due(rec interp.Record, say func(check, rule string, must bool, value string)) {
	for _, op := range a.p.Machine.Operations {
		if !interp.Due(a.p.Machine, op, rec, a.o.Now) {
			continue
		}
		c := interp.Call{Op: op, ID: rec.ID, Fired: true, Actor: "system", Reason: "due", At: a.o.Now}
		d, refused := interp.Decide(a.p.Machine, rec, c, interp.Others{})
		if refused != nil {
			continue
		}
		say(CheckDue, fmt.Sprintf("the first sweep would run %s", op.Name), false, "")
		rec = d.Record
	}
}

// unique looks whether another record has the places of this one.
func (a *audit) unique(rec *interp.Record, places map[[16]byte]string, pass, passes int64) {
	for _, u := range a.uniques {
		if u.States != nil && !slices.Contains(u.States, rec.State) {
			continue
		}
		text, values, holds := u.Name, []string(nil), true
		for _, f := range u.Fields {
			v := rec.Value(a.p.Machine, f)
			holds = holds && v.IsPresent()
			text += fmt.Sprintf(" %d %d %q", v.Kind, v.Num, v.Text)
			values = append(values, f.Name+" "+v.String())
		}
		full := sha256.Sum256([]byte(text))
		if !holds || int64(binary.LittleEndian.Uint32(full[16:]))%passes != pass {
			continue
		}
		key := [16]byte(full[:16])
		if holder, taken := places[key]; taken {
			a.t.add(CheckUnique, u.Name, true, rec.ID, strings.Join(values, ", ")+", as "+holder)
			continue
		}
		places[key] = rec.ID
	}
}
