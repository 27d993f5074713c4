package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/live"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/spec"
)

// step asks about a call, or makes it. A refusal is no error: it stands in the report.
func (c *ctl) step(ctx context.Context, db *live.DB, s *live.Step, r *doReport, yes bool) error {
	var err error
	if yes {
		out, failed := db.Do(ctx, s)
		if err = failed; err == nil {
			r.Replayed, r.Events = out.Replayed, out.Events
			row := db.Machine.Descriptor().Encode(&out.Record)
			report := reportOf(db.Spec, &row)
			r.recordReport = &report
		}
	} else {
		err = db.Would(ctx, s)
		r.Would = err == nil
	}
	return r.refusal(err)
}

// stepEach is step for every record that fits.
func (c *ctl) stepEach(ctx context.Context, db *live.DB, s *live.Step, r *doReport, yes bool) error {
	if !yes {
		list, err := db.WouldEach(ctx, s)
		for i := range list {
			r.Fit = append(r.Fit, list[i].ID)
		}
		r.Would = err == nil
		return r.refusal(err)
	}
	outs, err := db.DoEach(ctx, s)
	for i := range outs {
		r.Replayed = outs[i].Replayed
		r.Events = append(r.Events, outs[i].Events...)
	}
	return r.refusal(err)
}

// refusal notes a refusal, and returns any other error.
func (r *doReport) refusal(err error) error {
	var refused *fsm.Refusal
	if errors.As(err, &refused) && !errors.Is(err, fsm.ErrBusy) && !errors.Is(err, fsm.ErrFull) {
		r.Refused = &doRefused{Code: string(refused.Code), Error: refused.ErrorName(), Text: refused.Error()}
		return nil
	}
	return err
}

// mostShown is how many records of a call on each are named before it is made.
const mostShown = 20

// told prints what became of a call.
func (c *ctl) told(db *live.DB, o *spec.Operation, row *driver.Row, r *doReport, f doFlags) error {
	if f.asJSON {
		return c.jsonLine(r)
	}
	var b strings.Builder
	switch {
	case r.Refused != nil:
		fmt.Fprintf(&b, "refused: %s\n", cli.Plain(r.Refused.Text))
	case r.Would && f.each:
		shown := r.Fit[:min(len(r.Fit), mostShown)]
		more := map[bool]string{true: ", ..."}[len(shown) < len(r.Fit)]
		fmt.Fprintf(&b, "%s would be taken with %d records: %s%s; add --yes to do it\n",
			o.Name, len(r.Fit), cli.Plain(strings.Join(shown, ", ")), more)
	case r.Would:
		if row != nil {
			fmt.Fprintf(&b, "%s is %s, at revision %d\n", cli.Plain(row.ID), cli.Plain(stateName(db.Spec, row.State)), row.Rev)
		}
		fmt.Fprintf(&b, "%s would be taken%s; add --yes to do it\n", o.Name, leads(o, row))
	default:
		if r.Replayed {
			b.WriteString("it was done before, by a call with this request id\n")
		}
		l := newLogPrinter(db.Spec, true, cli.Colourful(c.Out))
		l.inputs = true
		for i := range r.Events {
			b.WriteString(l.event(&r.Events[i]))
		}
	}
	return c.Write([]byte(b.String()))
}

// leads says where an operation leads from a record's state.
func leads(o *spec.Operation, row *driver.Row) string {
	var to []string
	for _, mv := range o.Moves() {
		if (mv.From == nil) == (row == nil) && (row == nil || mv.From.State.Stored() == row.State) {
			to = append(to, mv.To.Name)
		}
	}
	slices.Sort(to)
	if to = slices.Compact(to); len(to) == 0 {
		return ""
	}
	return " and lead to " + strings.Join(to, " or ")
}
