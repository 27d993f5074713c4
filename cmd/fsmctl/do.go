package main

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/live"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/spec"
)

// doFlags are the flags of `do`.
type doFlags struct {
	db      string
	inputs  []string
	actor   string
	reason  string
	request string
	rev     int64
	each    bool
	yes     bool
	asJSON  bool
}

func (c *ctl) doCommand() *cobra.Command {
	var f doFlags
	cmd := &cobra.Command{
		Use:   "do --db DATABASE SPEC OPERATION [ID]",
		Short: "Run an operation on a record, or make one",
		Long: `Do runs an operation as the machine's program would: its guards are asked, and the
log says who did it and why. Without --yes it only says whether the operation
would be taken now. An operation that asks for an effect needs the program, and is
refused. An operation that creates needs no ID: it makes one. With --each an operation
with ` + "`each`" + ` is run on every record that fits, all or none.

Inputs are written as --input name=value. A time is ` + "`2026-01-02T15:04:05Z`" + `, or +5m from
now; a length is 90s or 2h; a set is a list with commas; JSON is JSON. An input
that may be absent is, unless it is given.

The call is decided at the revision that the record has now, or that --rev names:
when the record has left it meanwhile, nothing is done. A call whose answer was
lost is made again with the same --request-id, and done once.

The exit code is 1 when the call is refused.`,
		Example: `  fsmctl do --db jobs.db job.yaml requeue_stalled job-7
  fsmctl do --db jobs.db --yes --actor ann --reason 'the host is back' job.yaml requeue_stalled job-7
  fsmctl do --db shop.db --each --input of=order-9 parcel.yaml cancel
  fsmctl do --db jobs.db --yes --input payload='{"to":"ben"}' job.yaml enqueue`,
		Args:              cobra.RangeArgs(2, 3),
		ValidArgsFunction: cli.SpecThen,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("rev") && f.rev < 1 {
				return cli.Usagef("--rev is %d; revisions count from 1", f.rev)
			}
			id := ""
			if len(args) == 3 {
				if id = args[2]; id == "" {
					return cli.Usagef("the id is empty; name a record")
				}
			}
			return c.do(args[0], args[1], id, f)
		},
	}
	databaseFlag(cmd, &f.db)
	cmd.Flags().StringArrayVar(&f.inputs, "input", nil, "an input, as name=value; may be repeated")
	cmd.Flags().StringVar(&f.actor, "actor", "", "who does it, for guards and the log")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for the log")
	cmd.Flags().StringVar(&f.request, "request-id", "", "the name of the call; without it a new one")
	cmd.Flags().Int64Var(&f.rev, "rev", 0, "the revision at which it is decided; without it the record's own")
	cmd.Flags().BoolVar(&f.each, "each", false, "run it on every record that fits, all or none")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do it")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one object of JSON")
	return cmd
}

// doReport is what became of a call, in JSON.
type doReport struct {
	*recordReport
	RequestID string      `json:"request_id,omitempty"`
	Replayed  bool        `json:"replayed,omitempty"` // it was done by an earlier call with this request id
	Would     bool        `json:"would,omitempty"`    // without --yes: it would be taken
	Fit       []string    `json:"fit,omitempty"`      // with --each, without --yes: the ids of the records that would be moved
	Events    []fsm.Event `json:"events,omitempty"`
	Refused   *doRefused  `json:"refused,omitempty"`
}

type doRefused struct {
	Code  string `json:"code"`
	Error string `json:"error"` // as the specification names it
	Text  string `json:"text"`
}

func (c *ctl) do(path, operation, id string, f doFlags) error {
	src, err := c.Sound(path)
	if err != nil {
		return err
	}
	o, err := operationOf(src.Machine, operation, id, f.each)
	if err != nil {
		return err
	}
	s := &live.Step{Operation: o.Name, ID: id, Rev: f.rev, Call: fsm.Call{RequestID: f.request, Actor: f.actor, Reason: f.reason}}
	if s.Values, err = readInputs(o, f.inputs, time.Now()); err != nil {
		return err
	}
	if s.Call.RequestID == "" && src.Machine.RequestID != spec.None {
		s.Call.RequestID = "fsmctl-" + driver.NewID()
	}
	ctx, stop := cli.Interrupted()
	defer stop()
	db, err := c.open(ctx, f.db, src, f.yes)
	if err != nil {
		return err
	}
	r := doReport{RequestID: s.Call.RequestID}
	var row *driver.Row
	if id != "" && len(o.Creates) == 0 {
		at, failed := db.Row(ctx, id)
		if err = failed; errors.Is(err, live.ErrNoRecord) {
			err = cli.Usagef("%s: no %s has the id %q", cli.Plain(db.Address.Shown), db.Spec.Entity, id)
		}
		if row = &at; err == nil && s.Rev == 0 && src.Machine.ExpectedRev != spec.None {
			s.Rev = at.Rev
		}
	}
	switch {
	case err != nil:
	case f.each:
		err = c.stepEach(ctx, db, s, &r, f.yes)
	default:
		err = c.step(ctx, db, s, &r, f.yes)
	}
	if closed := db.Close(); err == nil {
		err = closed
	}
	if err != nil {
		var input *fsmimpl.InputError
		switch {
		case errors.As(err, &input):
			return cli.Usagef("--input %s: %s", input.Input, cli.Plain(input.Problem))
		case errors.Is(err, fsm.ErrAmbiguous):
			return cli.Usagef("the answer was lost; run it again with --request-id %s, and it is done once: %w", s.Call.RequestID, cli.Broken(err))
		}
		return cli.Usagef("%w", cli.Broken(err))
	}
	if err := c.told(db, o, row, &r, f); err != nil {
		return err
	}
	if r.Refused != nil {
		return cli.ErrFindings
	}
	return nil
}

// operationOf finds an operation that people can run.
func operationOf(m *spec.Machine, name, id string, each bool) (*spec.Operation, error) {
	var names []string
	for _, o := range m.Operations {
		if o.By != spec.BySystem {
			names = append(names, o.Name)
		}
		if o.Name != name {
			continue
		}
		switch {
		case o.By == spec.BySystem:
			return nil, cli.Usagef("only the machine itself runs %s of %s", name, m.Name)
		case each && o.Each == nil:
			return nil, cli.Usagef("%s has no `each`; name one record", name)
		case each && id != "":
			return nil, cli.Usagef("--each takes every record that fits, and %s is one; give one of the two", cli.Plain(id))
		case each:
		case id == "" && len(o.Creates) == 0:
			return nil, cli.Usagef("%s works on a record; write its id behind the operation", name)
		}
		return o, nil
	}
	return nil, cli.Usagef("%s has no operation %q; it has %s", m.Name, name, strings.Join(names, ", "))
}

// readInputs reads inputs as a person writes them, into what rows hold.
func readInputs(o *spec.Operation, given []string, now time.Time) (map[string]any, error) {
	values := map[string]any{}
	for _, text := range given {
		name, value, ok := strings.Cut(text, "=")
		in := o.Input(name)
		switch {
		case !ok:
			return nil, cli.Usagef("--input %q has no value; write it as name=value", text)
		case in == nil:
			return nil, cli.Usagef("--input: %s has no input %q%s", o.Name, name, inputsOf(o))
		case values[name] != nil:
			return nil, cli.Usagef("--input %s is given twice", name)
		}
		v, expected := readInput(in, value, now)
		if expected != "" {
			return nil, cli.Usagef("--input %s is %s, not %q", name, expected, value)
		}
		values[name] = v
	}
	return values, nil
}

func inputsOf(o *spec.Operation) string {
	var names []string
	for _, in := range o.Inputs {
		names = append(names, in.Name)
	}
	if len(names) == 0 {
		return "; it has none"
	}
	return "; it has " + strings.Join(names, ", ")
}

// readInput reads one input, or says what was expected.
func readInput(in *spec.Input, text string, now time.Time) (value any, expected string) {
	switch in.Type.Kind {
	case spec.KindInt, spec.KindCounter, spec.KindSequence:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, "a whole number"
		}
		return n, ""
	case spec.KindDuration:
		n, err := spec.ParseSpan(text)
		if err != nil {
			return nil, "a length of time, such as 90s or 2h"
		}
		return n, ""
	case spec.KindBool:
		if text != "true" && text != "false" {
			return nil, "true or false"
		}
		return text == "true", ""
	case spec.KindTime:
		if ahead, ok := strings.CutPrefix(text, "+"); ok {
			if n, err := spec.ParseSpan(ahead); err == nil {
				return driver.Time(now.Add(time.Duration(n) * time.Microsecond)), ""
			}
		}
		t, ok := readTime(text, now)
		if !ok {
			return nil, "a time, such as 2026-01-02T15:04:05Z, +5m or now"
		}
		return t, ""
	case spec.KindEnum:
		var words []string
		for _, w := range in.Type.Values {
			if w.Name == text {
				return w.Stored(), ""
			}
			words = append(words, w.Name)
		}
		return nil, "one of " + strings.Join(words, ", ")
	case spec.KindJSON:
		j, err := driver.ParseJSON(text)
		if err != nil {
			return nil, "JSON"
		}
		return j.String(), ""
	case spec.KindSet:
		words := slices.DeleteFunc(strings.Split(text, ","), func(w string) bool { return w == "" })
		return driver.NewSet(words...).Text(), ""
	}
	return text, ""
}
