package console

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/newest"
)

// listed is a record in a list.
type listed struct {
	ID, State string
	Terminal  bool
	Rev       int64
	Updated   time.Time
	Broken    string // the rule that it breaks
	Fields    []shown
}

// listPage is a page of records.
type listPage struct {
	Filter  *filter
	Columns []string // fields that the table shows
	Rows    []listed
	Next    template.URL // where the next page begins; empty: there is none
	Told    string       // what the list does not hold, and why
	Fields  []driver.Column
	States  []driver.StateInfo
	Ops     []struct{ Op, Text string }
	New     []string // operations that make records, which the viewer may run
	Many    []string // and those that may be run on all that fit
	Address string   // of the filter
	Values  suggestions
	Actors  suggestions
	Labels  suggestions
}

// columns are the fields that a table has room for: the first ones that are short.
func (q *request) columns() (names []string) {
	for _, c := range q.m.schema.Columns {
		if c.Kind != driver.KindJSON && c.Kind != driver.KindSet && len(names) < 5 {
			names = append(names, c.Name)
		}
	}
	return names
}

func (q *request) records() error {
	f, err := q.filter()
	if err != nil {
		return err
	}
	p := &listPage{Filter: f, Columns: q.columns(), States: q.m.schema.States, Ops: opWords, New: q.creations()}
	if q.o.Runs != nil && q.v.may(q.m, Many) {
		p.Many = q.moves()
		p.Address = strings.TrimPrefix(string(f.Query("")), "records?")
	}
	for _, c := range q.m.schema.Columns {
		if q.showing(c.Name) == Whole {
			p.Fields = append(p.Fields, c)
		}
	}
	q.quiet = f.After != "" || !f.plain()
	found, err := q.find(f, p)
	if err != nil {
		return err
	}
	p.Values, p.Actors, p.Labels = q.fieldValues(found), q.people(), q.labelNames()
	for i := range found {
		p.Rows = append(p.Rows, q.listed(&found[i], p.Columns))
	}
	return q.show("records", q.m.schema.Machine+": records", p)
}

// creations are the operations by which the viewer may make a record.
func (q *request) creations() (names []string) {
	for i := range q.m.steps {
		if s := &q.m.steps[i]; s.creates && s.needs == "" && q.v.mayRun(q.m, s.name) {
			names = append(names, s.name)
		}
	}
	return names
}

// moves are the operations on records that the viewer may run.
func (q *request) moves() (names []string) {
	for i := range q.m.steps {
		if s := &q.m.steps[i]; !s.creates && s.needs == "" && q.v.mayRun(q.m, s.name) {
			names = append(names, s.name)
		}
	}
	return names
}

// listed shows a record in a list.
func (q *request) listed(row *driver.Row, columns []string) listed {
	l := listed{ID: row.ID, State: q.m.schema.StateName(row.State), Rev: row.Rev, Updated: row.UpdatedAt}
	for _, s := range q.m.schema.States {
		if s.Stored == row.State {
			l.Terminal = s.Terminal
		}
	}
	if err := q.m.load(row); err != nil {
		l.Broken = q.said(err.Error())
	}
	for _, name := range columns {
		i := slices.IndexFunc(q.m.schema.Columns, func(c driver.Column) bool { return c.Name == name })
		if i >= 0 && i < len(row.Values) {
			l.Fields = append(l.Fields, q.value(name, row.Values[i]))
		}
	}
	return l
}

// find returns a page of the records that fit the filter.
//
// A text to find is an id first, then the value of a unique field, then the beginning of an id. Records of few
// are sorted by the database. Of many, the log is walked from its end: an event whose record is still at its
// revision is the record's last one. No index serves that order, and none is needed for it.
func (q *request) find(f *filter, p *listPage) (list []driver.Row, err error) {
	ask := func(of func(driver.Reader) ([]driver.Row, error)) {
		err = q.m.look(q.r.Context(), func(r driver.Reader) (err error) {
			list, err = of(r)
			return err
		})
	}
	switch {
	case f.Find != "":
		ask(func(r driver.Reader) ([]driver.Row, error) { return q.search(r, f, p) })
	case f.ByID:
		some := driver.Query{States: f.stored, Where: append(f.times(), f.conds...), After: f.After}
		ask(func(r driver.Reader) ([]driver.Row, error) { return q.ask(r, some, p) })
	case strings.HasPrefix(f.After, behindRow):
		ask(func(r driver.Reader) ([]driver.Row, error) { return q.sorted(r, f, p) })
	default:
		few := false
		if f.plain() && f.After == "" {
			if few, err = q.few(f); err != nil {
				return nil, err
			}
		}
		if few {
			ask(func(r driver.Reader) ([]driver.Row, error) { return q.sorted(r, f, p) })
		} else {
			ask(func(r driver.Reader) ([]driver.Row, error) { return q.walk(r, f, p) })
		}
	}
	return list, err
}

// few reports whether the database can sort the records that fit: it finds out in a short time that they are few.
func (q *request) few(f *filter) (bool, error) {
	ctx, cancel := context.WithTimeout(q.r.Context(), queryTime/4)
	defer cancel()
	n := int64(countMost + 1)
	err := q.m.look(ctx, func(r driver.Reader) (err error) {
		n, err = r.Count(driver.Query{States: f.stored, Where: append(f.times(), f.conds...), Limit: countMost + 1})
		return err
	})
	if err != nil && ctx.Err() != nil && q.r.Context().Err() == nil {
		return false, nil
	}
	return n <= countMost, err
}

// sorted reads a page that the database sorts.
func (q *request) sorted(r driver.Reader, f *filter, p *listPage) ([]driver.Row, error) {
	some := driver.Query{States: f.stored, Where: append(f.times(), f.conds...)}
	some.Order = []driver.Order{{Column: "updated_at", Descending: true}}
	if f.After != "" {
		at, id, _ := strings.Cut(strings.TrimPrefix(f.After, behindRow), " ")
		then, err := timeOf("after", at)
		if err != nil {
			return nil, err
		}
		some.After, some.Behind = id, []any{then}
	}
	list, err := q.ask(r, some, p)
	if p.Next != "" {
		last := &list[len(list)-1]
		p.Next = f.Query(behindRow + last.UpdatedAt.Format(time.RFC3339Nano) + " " + last.ID)
	}
	return list, err
}

// behindRow begins a place behind a row, in the order of the last step.
const behindRow = "row "

// ask reads one page of a query.
func (q *request) ask(r driver.Reader, some driver.Query, p *listPage) (list []driver.Row, err error) {
	some.Limit = pageRows + 1
	for row, err := range r.Rows(some) {
		if err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	if len(list) > pageRows {
		list = list[:pageRows]
		p.Next = p.Filter.Query(list[pageRows-1].ID)
	}
	return list, nil
}

// search finds records by a text.
func (q *request) search(r driver.Reader, f *filter, p *listPage) ([]driver.Row, error) {
	fits := driver.Query{States: f.stored, Where: append(f.times(), f.conds...)}
	exact := fits
	exact.IDs = []string{f.Find}
	list, err := q.ask(r, exact, p)
	if err != nil || len(list) > 0 {
		return list, err
	}
	for _, u := range q.m.schema.Uniques {
		if len(u.Columns) != 1 {
			continue
		}
		c := &q.m.schema.Columns[q.m.schema.Column(u.Columns[0])]
		value, err := parseValue(c, f.Find)
		if err != nil || q.showing(c.Name) != Whole {
			continue // a text that is none of its values
		}
		of := fits
		of.After = f.After
		if u.States != nil && f.stored == nil {
			of.States = u.States
		}
		of.Where = append(slices.Clone(of.Where), driver.Cond{Column: c.Stored, Op: driver.OpEq, Value: value})
		if list, err := q.ask(r, of, p); err != nil || len(list) > 0 {
			p.Told = fmt.Sprintf("Found by %s; no record has the id %q.", c.Name, f.Find)
			return list, err
		}
	}
	begin := f.After
	if begin == "" {
		begin = f.Find
	}
	fits.After, fits.Limit = begin, pageRows+1
	for row, err := range r.Rows(fits) {
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(row.ID, f.Find) {
			break
		}
		if len(list) == pageRows {
			p.Next = f.Query(list[pageRows-1].ID)
			break
		}
		list = append(list, row)
	}
	if p.Told = fmt.Sprintf("No record has the id %q; these begin with it.", f.Find); len(list) == 0 {
		p.Told = fmt.Sprintf("No record has the id %q, or one that begins so, or holds it in a unique field.", f.Find)
	}
	return list, nil
}

// walk reads the log from its end, or from a place in it, for the last steps of records that fit.
func (q *request) walk(r driver.Reader, f *filter, p *listPage) ([]driver.Row, error) {
	of := newest.Filter{States: f.stored, Where: f.conds, Actor: f.Actor, Label: f.Label, Since: f.since, Until: f.until}
	l, err := newest.Read(r, q.m.schema, &of, driver.Cursor(f.After), pageRows, walkMost)
	why := ""
	switch {
	case errors.Is(err, context.DeadlineExceeded) && l.Looked > 0:
		why = ": the time for a query was over"
	case err != nil:
		return nil, err
	case len(l.Rows) == pageRows:
		p.Next = f.Query(string(l.Cursor))
		return l.Rows, nil
	case l.Whole:
		return l.Rows, nil
	}
	which := "newest"
	if f.After != "" {
		which = "next"
	}
	p.Next, p.Told = f.Query(string(l.Cursor)), fmt.Sprintf("These are of the %s %s events%s.", which, group(int64(l.Looked)), why)
	return l.Rows, nil
}
