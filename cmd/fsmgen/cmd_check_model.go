package main

import (
	"go/format"
	"os"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/model"
	"github.com/fsmgen/fsmgen/internal/validate"
)

// modelRun is what `check --model` was asked for, and what it found.
type modelRun struct {
	on      bool
	options model.Options
	goTest  string // file for the trace as a Go test; empty: none
	results map[*cli.Source]model.Result
}

func (c *tool) modelFlags(cmd *cobra.Command) {
	f, r := cmd.Flags(), &c.model
	f.BoolVar(&r.on, "model", false, "model-check: try every interleaving of a few records, with crashes, retries and late calls")
	f.IntVar(&r.options.Records, "records", 0, "with --model: records at once (default: 1, or 3 to 6 where rules look at other records)")
	f.IntVar(&r.options.Groups, "groups", 0, "with --model: values of a field that makes groups (default 1)")
	f.IntVar(&r.options.Workers, "workers", 0, "with --model: workers (default 2)")
	f.IntVar(&r.options.Counter, "counter", 0, "with --model: highest value of counters (default 3)")
	f.IntVar(&r.options.MaxStates, "max-states", 0, "with --model: states after which the search ends (default 2000000)")
	f.StringVar(&r.goTest, "go-test", "", "with --model: write the trace as a test of the generated package to `FILE`")
}

// runModel runs the model checker on the specifications without errors, and
// adds what it finds. As text, the steps of a violation are printed later, one
// line each; otherwise they are the places that the finding speaks of.
func (c *tool) runModel(sources []*cli.Source, asText bool) error {
	r := &c.model
	o := r.options
	for _, n := range []int{o.Records, o.Groups, o.Workers, o.Counter, o.MaxStates} {
		if n < 0 {
			return cli.Usagef("a bound of --model is %d; write a number from 1", n)
		}
	}
	if o.Records > 64 || o.Groups > 32 || o.Workers > 64 || o.MaxStates > 1<<30 {
		return cli.Usagef("a bound of --model is too large; at most --records 64, --groups 32, --workers 64, --max-states %d", 1<<30)
	}
	if !r.on {
		if o != (model.Options{}) || r.goTest != "" {
			return cli.Usagef("--records, --groups, --workers, --counter, --max-states and --go-test need --model")
		}
		return nil
	}
	if r.goTest != "" && len(sources) != 1 {
		return cli.Usagef("--go-test takes one specification, not %d", len(sources))
	}
	r.results = map[*cli.Source]model.Result{}
	for _, s := range sources {
		if s.Found.HasErrors() {
			continue
		}
		bar := c.NewBar("states")
		result, found := validate.Model(s.Machine, o, func(looked, _ int) { bar.Count(s.Name, int64(looked)) })
		bar.Hide()
		r.results[s] = result
		for _, d := range found {
			if asText && d.Code == "FSM801" {
				d.Related = nil
			}
			s.Found = append(s.Found, d)
		}
		s.Found.Sort()
		if r.goTest == "" {
			continue
		}
		if result.Violation == nil {
			return cli.Usagef("--go-test: %s has no violation within the bounds, so there is no test to write", s.Name)
		}
		text, err := result.Violation.GoTest(s.Machine, format.Source)
		if err != nil {
			return cli.Usagef("--go-test: %w", err)
		}
		if err := os.WriteFile(r.goTest, text, 0o644); err != nil { //nolint:gosec // source code, readable like all of it
			return cli.Usagef("cannot write the test: %w", err)
		}
	}
	return nil
}

// printModel prints what the model checker did with a specification.
func (c *tool) printModel(s *cli.Source) {
	result, ok := c.model.results[s]
	if !ok {
		return
	}
	if v := result.Violation; v != nil {
		_ = v.Print(c.Out, s.Name) // a reader that went away is no error of ours
	} else {
		c.Printf("%s: model: %s\n", s.Name, result.Verdict())
	}
	c.Printf("%s: model: %s\n", s.Name, result.Summary())
	if c.model.goTest != "" && result.Violation != nil {
		c.Printf("%s: model: the trace is a Go test in %s\n", s.Name, c.model.goTest)
	}
}
