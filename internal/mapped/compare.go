package mapped

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/live"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// page is how many records are compared at once.
const page = 256

// Compare holds the records of the table to those that the machine has under the same ids, while programs
// write both. What differs is looked at twice again, a short while later: only what still differs is told. Fields
// that the mapping does not name or makes constant, and the built-in times, are not compared. It adds to the result of Audit.
func Compare(ctx context.Context, db *sql.DB, m *live.DB, p *Mapping, o Options, r *Result) error {
	c := &comparison{db: db, m: m, p: p, o: o, t: newTally(o.First)}
	if c.o.Now.IsZero() {
		c.o.Now = time.Now()
	}
	err := c.table(ctx)
	if err == nil {
		err = c.extra(ctx)
	}
	r.Compared = c.compared
	c.t.end(r)
	return err
}

type comparison struct {
	db       *sql.DB
	m        *live.DB
	p        *Mapping
	o        Options
	t        *tally
	compared int64
}

// table goes through the table.
func (c *comparison) table(ctx context.Context) (err error) {
	list, err := c.db.QueryContext(ctx, c.p.selected()+" ORDER BY "+column("t", c.p.ID))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, list.Close()) }()
	s, err := scan(list)
	if err != nil {
		return err
	}
	var some []read
	for {
		more, err := s.next()
		if err != nil {
			return err
		}
		if more {
			some = append(some, c.p.record(s, c.o.Now, func(string, string, bool, string) {}))
		}
		if len(some) == page || !more && len(some) > 0 {
			if err := c.some(ctx, some); err != nil {
				return err
			}
			some = some[:0]
		}
		if !more {
			return nil
		}
	}
}

// some compares records of the table.
func (c *comparison) some(ctx context.Context, list []read) error {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].rec.ID
	}
	own, err := c.own(ctx, ids)
	if err != nil {
		return err
	}
	differ := map[string][][2]string{}
	var again []string
	for i := range list {
		have, there := own[ids[i]]
		if there {
			c.compared++
		}
		if d := c.differences(&list[i], have, there); len(d) > 0 {
			differ[ids[i]] = d
			again = append(again, ids[i])
		}
	}
	return c.settle(ctx, again, differ)
}

// settle looks at records that differ again, a short while later, and tells what still does.
func (c *comparison) settle(ctx context.Context, ids []string, differ map[string][][2]string) error {
	for range 2 {
		if len(ids) == 0 {
			return nil
		}
		if err := wait(ctx); err != nil {
			return err
		}
		var still []string
		for _, id := range ids {
			d, err := c.again(ctx, id)
			if err != nil {
				return err
			}
			if len(d) > 0 {
				differ[id] = d
				still = append(still, id)
			}
		}
		ids = still
	}
	for _, id := range ids {
		for _, d := range differ[id] {
			c.t.add(CheckDiffers, d[0], true, id, d[1])
		}
	}
	return nil
}

func wait(ctx context.Context) error {
	t := time.NewTimer(20 * time.Millisecond)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// own reads the machine's records of these ids.
func (c *comparison) own(ctx context.Context, ids []string) (map[string]interp.Record, error) {
	engine := c.m.Machine.Engine()
	own := make(map[string]interp.Record, len(ids))
	err := engine.Table.Look(ctx, func(r driver.Reader) error {
		clear(own)
		for row, err := range r.Rows(driver.Query{IDs: ids, Limit: page}) {
			if err != nil {
				return err
			}
			rec, err := engine.Descriptor.Decode(row)
			if err != nil {
				return fmt.Errorf("%s: %w; run fsmctl audit without --mapping", row.ID, err)
			}
			own[row.ID] = rec
		}
		return nil
	})
	return own, c.m.Address.Clean(err)
}

// again compares one record as it is now.
func (c *comparison) again(ctx context.Context, id string) ([][2]string, error) {
	list, err := c.db.QueryContext(ctx, c.p.selected()+" WHERE "+column("t", c.p.ID)+" = $1", id)
	if err != nil {
		return nil, err
	}
	defer func() { _ = list.Close() }() // it was read only
	s, err := scan(list)
	if err != nil {
		return nil, err
	}
	more, err := s.next()
	if err != nil {
		return nil, err
	}
	own, err := c.own(ctx, []string{id})
	if err != nil {
		return nil, err
	}
	have, there := own[id]
	if !more {
		if there {
			return [][2]string{{"the table does not have it", "the machine has it in " + have.State.Name}}, nil
		}
		return nil, nil
	}
	r := c.p.record(s, c.o.Now, func(string, string, bool, string) {})
	return c.differences(&r, have, there), nil
}

// differences lists what the table and the machine say differently of one record.
func (c *comparison) differences(r *read, have interp.Record, there bool) (list [][2]string) {
	add := func(rule string, old, own any) {
		list = append(list, [2]string{rule + " differs", fmt.Sprintf("the table has %v, the machine %v", old, own)})
	}
	if !there {
		state := "an unknown state"
		if r.rec.State != nil {
			state = r.rec.State.Name
		}
		return [][2]string{{"the machine does not have it", "the table has it in " + state}}
	}
	if r.rec.State != have.State {
		add("state", shownState(r.rec.State, "an unknown word"), have.State.Name)
	}
	for i := range c.p.Fields {
		f := c.p.Fields[i].Field
		if f.Builtin || c.p.Fields[i].Name == "" || slices.Contains(r.unread, f) {
			continue
		}
		if old, own := r.rec.Value(c.p.Machine, f), have.Value(c.p.Machine, f); old != own {
			add(f.Name, old, own)
		}
	}
	return list
}

// extra looks for records of the machine that the table does not have.
func (c *comparison) extra(ctx context.Context) error {
	engine := c.m.Machine.Engine()
	for after := ""; ; {
		var ids []string
		err := engine.Table.Look(ctx, func(r driver.Reader) error {
			ids = nil
			for row, err := range r.Rows(driver.Query{After: after, Limit: page}) {
				if err != nil {
					return err
				}
				ids = append(ids, row.ID)
			}
			return nil
		})
		if err != nil {
			return c.m.Address.Clean(err)
		}
		if len(ids) > 0 {
			after = ids[len(ids)-1]
		}
		more := len(ids) == page
		if err := c.absent(ctx, ids); err != nil || !more {
			return err
		}
	}
}

// absent tells those of the ids that the table does not have, also a short while later.
func (c *comparison) absent(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	in, args := make([]string, len(ids)), make([]any, len(ids))
	for i := range ids {
		in[i], args[i] = fmt.Sprintf("$%d", i+1), ids[i]
	}
	list, err := c.db.QueryContext(ctx, "SELECT "+column("t", c.p.ID)+" FROM "+quoted(c.p.Table)+" AS t WHERE "+column("t", c.p.ID)+
		" IN ("+strings.Join(in, ", ")+")", args...)
	if err != nil {
		return err
	}
	defer func() { _ = list.Close() }() // it was read only
	there := map[string]bool{}
	for list.Next() {
		var raw any
		if err := list.Scan(&raw); err != nil {
			return err
		}
		id, _ := textOf(raw)
		there[id] = true
	}
	if err := list.Err(); err != nil {
		return err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return there[id] })
	return c.settle(ctx, ids, map[string][][2]string{})
}
