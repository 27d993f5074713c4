// Command events derives the state of jobs from a stream of events that
// arrives at least once and in any order (specs/jobstate.yaml): the event id
// is the request id, so a redelivered event changes nothing.
//
//	events [-db events.db] [FILE]     FILE holds one event per line, as events.jsonl does
package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/fsmgen/fsmgen/examples/events/jobstate"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

//go:embed events.jsonl
var sample string

func main() {
	db := flag.String("db", "", "SQLite file that keeps the jobs; none: in memory")
	flag.Parse()
	if err := mainErr(context.Background(), *db, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "events:", err)
		os.Exit(1)
	}
}

func mainErr(ctx context.Context, db, file string) error {
	var store fsm.Store = memstore.New()
	if db != "" {
		var err error
		if store, err = sqlite.Open(db); err != nil {
			return err
		}
	}
	defer store.Close()
	var in io.Reader = strings.NewReader(sample)
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	return consume(ctx, store, in, os.Stdout)
}

// event is one line of the stream.
type event struct {
	ID       string   `json:"id"`
	Job      string   `json:"job"`
	Kind     string   `json:"kind"`
	Expected []string `json:"expected"` // plan: the events that make the job done
	Policy   string   `json:"policy"`   // plan: how to compensate, if at all
	Name     string   `json:"name"`     // expected: which one
	Decision string   `json:"decision"` // compensation: what the policy decides
	Verdict  string   `json:"verdict"`  // error: what the policy makes of it
	Trace    string   `json:"trace"`    // an observability id: stored, never read by a rule

	Payload json.RawMessage `json:"payload"` // of a kind that the machine does not name
}

// consume reads the stream, applies each event and prints what it led to. It reports
// a line that is no event by its number, and goes on behind it.
func consume(ctx context.Context, store fsm.Store, in io.Reader, out io.Writer) error {
	if err := jobstate.Migrate(ctx, store); err != nil {
		return err
	}
	m, err := jobstate.Open(ctx, store)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		e, err := parse(lines.Bytes())
		var got jobstate.Outcome
		if err == nil {
			got, err = apply(ctx, m, e)
		}
		refusal := (*fsm.Refusal)(nil)
		switch {
		case errors.As(err, &refusal):
			fmt.Fprintf(out, "%-4s %-5s %-13s refused: %s\n", e.ID, e.Job, e.Kind, string(refusal.Code))
		case errors.Is(err, errNoEvent):
			fmt.Fprintf(out, "line %d: %v\n", n, err)
		case err != nil:
			return fmt.Errorf("line %d: %w", n, err)
		default:
			note := ""
			if got.Replayed {
				note = "  (redelivered: nothing changed)"
			} else if got.RecordOnly {
				note = "  (recorded only)"
			}
			fmt.Fprintf(out, "%-4s %-5s %-13s -> %s %s%s\n", e.ID, e.Job, e.Kind, got.Record.State, got.Record.Satisfied, note)
		}
	}
	return lines.Err()
}

// errNoEvent is a line that is no event.
var errNoEvent = errors.New("no event")

// parse reads a line.
func parse(line []byte) (e event, err error) {
	if err := json.Unmarshal(line, &e); err != nil {
		return e, fmt.Errorf("%w: %w", errNoEvent, err)
	}
	if e.ID == "" || e.Job == "" || e.Kind == "" {
		return e, fmt.Errorf("%w: it needs id, job and kind", errNoEvent)
	}
	return e, nil
}

// apply gives one event to the machine.
func apply(ctx context.Context, m *jobstate.Machine, e event) (jobstate.Outcome, error) {
	at := fsm.Ref{ID: e.Job}
	var labels map[string]string
	if e.Trace != "" {
		labels = map[string]string{"trace": e.Trace}
	}
	call := fsm.Call{RequestID: e.ID, Labels: labels}
	switch e.Kind {
	case "plan":
		in := jobstate.CreateInput{Expected: fsm.NewSet(e.Expected...)}
		if e.Policy != "" {
			in.CompensationPolicy = fsm.Some(e.Policy)
		}
		return m.Create(ctx, e.Job, in, call)
	case "kick":
		return m.JobKick(ctx, at, call)
	case "expected":
		return m.ExpectedEvent(ctx, at, jobstate.ExpectedEventInput{Name: e.Name}, call)
	case "error":
		var in jobstate.ErrorEventInput
		if err := optional(&in.Verdict, "verdict", e.Verdict); err != nil {
			return jobstate.Outcome{}, err
		}
		return m.ErrorEvent(ctx, at, in, call)
	case "compensation":
		var in jobstate.CompensationEventInput
		if err := optional(&in.Decision, "decision", e.Decision); err != nil {
			return jobstate.Outcome{}, err
		}
		return m.CompensationEvent(ctx, at, in, call)
	}
	in := jobstate.OtherInput{Kind: e.Kind} // any other event is recorded, and moves nothing
	if payload, err := fsm.ParseJSON(string(e.Payload)); err == nil && payload.String() != "null" {
		in.Payload = fsm.Some(payload)
	}
	return m.Other(ctx, at, in, call)
}

// optional reads a word that an event may lack; without one the event is recorded only.
func optional[W any, P interface {
	*W
	encoding.TextUnmarshaler
}](to *fsm.Optional[W], name, word string) error {
	if word == "" {
		return nil
	}
	var w W
	if err := P(&w).UnmarshalText([]byte(word)); err != nil {
		return fmt.Errorf("%w: %s: %w", errNoEvent, name, err)
	}
	*to = fsm.Some(w)
	return nil
}
