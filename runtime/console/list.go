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
	"github.com/fsmgen/fsmgen/runtime/internal/rows"
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
	p := &listPage{Filter: f, Columns: q.columns(), States: q.m.schema.States, Ops: opWords}
	for _, c := range q.m.schema.Columns {
		if q.showing(c.Name) == Whole {
			p.Fields = append(p.Fields, c)
		}
	}
	var found []driver.Row
	err = q.m.look(q.r.Context(), func(r driver.Reader) (err error) {
		found, err = q.find(r, f, p)
		return err
	})
	if err != nil {
		return err
	}
	for i := range found {
		p.Rows = append(p.Rows, q.listed(&found[i], p.Columns))
	}
	return q.show("records", q.m.schema.Machine+": records", p)
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
		l.Broken = err.Error()
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
func (q *request) find(r driver.Reader, f *filter, p *listPage) ([]driver.Row, error) {
	switch {
	case f.Find != "":
		return q.search(r, f, p)
	case f.ByID && f.plain():
		return q.ask(r, driver.Query{States: f.stored, Where: append(f.times(), f.conds...), After: f.After}, p)
	case f.plain() && (f.After == "" || strings.HasPrefix(f.After, behindRow)):
		some := driver.Query{States: f.stored, Where: append(f.times(), f.conds...), Limit: countMost + 1}
		n, err := r.Count(some)
		if err != nil {
			return nil, err
		}
		if n > countMost && f.After == "" {
			break
		}
		some.Limit, some.Order = 0, []driver.Order{{Column: "updated_at", Descending: true}}
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
	return q.walk(r, f, p)
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
func (q *request) walk(r driver.Reader, f *filter, p *listPage) (list []driver.Row, err error) {
	cursor, looked := driver.Cursor(f.After), 0
	rule := driver.Query{States: f.stored, Where: f.conds}
	for {
		entries, err := r.Newest(cursor, batch)
		if errors.Is(err, context.DeadlineExceeded) && looked > 0 {
			p.Next, p.Told = f.Query(string(cursor)), fmt.Sprintf("These are of the newest %s events: the time for a query was over.", group(int64(looked)))
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		byID := map[string]*driver.Row{}
		some := driver.Query{IDs: []string{}}
		for i := range entries {
			if e := &entries[i].Event; e.N == 0 && f.fits(e) && byID[e.ID] == nil {
				byID[e.ID], some.IDs = &driver.Row{}, append(some.IDs, e.ID)
			}
		}
		if len(some.IDs) > 0 {
			for row, err := range r.Rows(some) {
				if err != nil {
					return nil, err
				}
				byID[row.ID] = &row
			}
		}
		for i := range entries {
			e := &entries[i]
			cursor = e.Cursor
			looked++
			row := byID[e.ID]
			if e.N != 0 || !f.fits(&e.Event) || row == nil || row.Rev != e.Rev || !rows.Fit(q.m.schema, row, &rule) {
				continue
			}
			if list = append(list, *row); len(list) == pageRows {
				p.Next = f.Query(string(cursor))
				return list, nil
			}
		}
		if !f.since.IsZero() && len(entries) > 0 && entries[len(entries)-1].At.Before(f.since.Add(-slack)) {
			return list, nil
		}
		if len(entries) < batch {
			return list, nil
		}
		if looked >= walkMost {
			p.Next, p.Told = f.Query(string(cursor)), fmt.Sprintf("These are of the newest %s events.", group(int64(looked)))
			return list, nil
		}
	}
}

// slack is by how much events of the log may stand in another order than their times.
const slack = time.Minute
