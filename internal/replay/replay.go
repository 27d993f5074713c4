package replay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/interp"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/spec"
)

// Finding is a line that breaks a rule.
type Finding struct {
	Line    int    // from 1
	ID      string // of the record, where the line says it
	Rev, N  int64  // of the event
	Rule    string // one of the Rule constants
	Message string
}

// The rules. Those that an audit knows too have its names.
const (
	RuleJSON     = "json"     // the line is an event as JSON, its members known and of their types
	RuleVersion  = "version"  // the event was not written under a later specification
	RuleWord     = "word"     // operation, states and fields are the machine's
	RuleRevision = "revision" // revisions count from 1 without a gap
	RuleNumber   = "number"   // record-only events count from 1 at each revision
	RuleChain    = "chain"    // each step starts where the one before it ended
	RuleEdge     = "edge"     // each step is one that the machine can take
	RuleDecision = "decision" // the machine would have decided the same: guards, branches, fields
	RuleRule     = "rule"     // presence and invariants of the state
	RuleUnique   = "unique"   // no two records hold the place that a unique rule gives to one
	RuleThen     = "then"     // what follows an operation in its transaction follows it
	RuleSum      = "checksum" // no event was altered
	RuleHistory  = "history"  // no event was altered and given a new checksum
)

// Result counts what was read.
type Result struct {
	Events   int64 `json:"events"`
	Records  int64 `json:"records"`
	Older    int64 `json:"older"` // events of an older version, judged in part
	Findings int64 `json:"-"`
}

// longestLine bounds one event.
const longestLine = 64 << 20

// ErrLongLine says that a line is longer than any event can be.
var ErrLongLine = fmt.Errorf("the line is longer than %d MiB; expected one event per line", longestLine>>20)

// Check reads events, one per line, and reports every line that breaks a rule, in
// the order of the lines but for what is found missing at the end. Empty lines are
// passed over. The error is one of reading.
func Check(m *spec.Machine, in io.Reader, report func(Finding)) (Result, error) {
	c := newChecker(m, report)
	lines := bufio.NewReaderSize(in, 1<<16)
	for number := 1; ; number++ {
		line, err := readLine(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return c.result, fmt.Errorf("line %d: %w", number, err)
		}
		if number == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			c.line(number, text)
		}
		if err != nil {
			break
		}
	}
	c.end()
	c.result.Records = int64(len(c.records))
	return c.result, nil
}

// readLine returns the next line; it is io.EOF with the last one.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) && line == nil {
			return part, err
		}
		if line = append(line, part...); len(line) > longestLine {
			return nil, ErrLongLine
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// record is what is known of one record behind the lines read so far.
type record struct {
	rec     interp.Record // state and fields
	known   bool          // the fields are what the log says; else one has left them out, or is wrong
	state   string        // stored word of the last event
	rev, n  int64
	line    int               // of the last event
	op      *spec.Operation   // of the last transition; nil when the machine does not know it
	pending []*spec.Operation // one of them follows op in its transaction and is yet to come
	follow  []*spec.Operation // what may follow op: in its transaction, or its effect
	purged  bool
	stepped uint32 // chain of the last transition
	last    uint32 // and of the last event
	places  []string
	groups  []string // in which it counts
}

// checker is one run.
type checker struct {
	m       *spec.Machine
	report  func(Finding)
	result  Result
	records map[string]*record
	facts   map[string]gen.OperationFact // by stored word
	uniques []gen.UniqueFact
	taken   map[string]taken // the places of unique rules
	counts  map[string]int64 // records by group and state, for guards
	numbers map[string]int64 // the last number of each sequence and group
	gone    bool             // some record was purged, so others may have relied on it in lines that are no more
	alone   []Finding        // steps beside nobody, where a guard asks for somebody
	blind   bool             // the fields of some record are not known, so rules across records cannot be judged

	number int
	event  fsm.Event
	found  bool // the line broke a rule
}

// taken is a place of a unique rule.
type taken struct {
	id   string
	line int
}

func newChecker(m *spec.Machine, report func(Finding)) *checker {
	all := gen.FactsOf(m)
	c := &checker{
		m: m, report: report, uniques: all.Uniques,
		records: map[string]*record{}, facts: map[string]gen.OperationFact{}, taken: map[string]taken{},
		counts: map[string]int64{}, numbers: map[string]int64{},
	}
	for _, f := range all.Operations {
		c.facts[f.Operation.Stored()] = f
	}
	return c
}

func (c *checker) say(rule, format string, args ...any) {
	c.found = true
	c.result.Findings++
	c.report(Finding{c.number, c.event.ID, c.event.Rev, c.event.N, rule, fmt.Sprintf(format, args...)})
}

// refused judges a step that the machine refuses. Where it misses another record, the end tells whether one was purged.
func (c *checker) refused(o *spec.Operation, refusal *interp.Refusal) {
	for _, q := range o.Require {
		if p := q.Guard.Peers; refusal.Code == interp.CodeGuard && q.Guard.Name == refusal.Guard && p != nil && p.Some {
			c.found = true
			c.alone = append(c.alone, Finding{c.number, c.event.ID, c.event.Rev, c.event.N, RuleDecision,
				"the machine refuses the call: " + explained(refusal)})
			return
		}
	}
	c.say(RuleDecision, "the machine refuses the call: %s", explained(refusal))
}

// The operations of events that no operation of a machine makes.
const (
	opMigrate = "migrate"
	opImport  = "__import"
	opRepair  = "__repair"
	opGiveUp  = "__giveup"
	opPurge   = "__purge"
	opPurged  = "__purged"
	opRedact  = "__redact"
)

// line judges one line.
func (c *checker) line(number int, text []byte) {
	c.number, c.event, c.found = number, fsm.Event{}, false
	p, ok := c.parse(text)
	if !ok {
		return
	}
	e := &c.event
	c.result.Events++
	c.checksum(text)
	r := c.records[e.ID]
	if r == nil {
		r = &record{rec: interp.NewRecord(c.m, e.ID), known: true}
		c.records[e.ID] = r
	}
	if e.Operation == opPurge || e.Operation == opPurged {
		c.gone = true
		r.purged = true // what is left of a log says nothing any more
		c.forget(r)
		return
	}
	if r.purged {
		c.say(RuleRevision, "the record was purged; nothing follows that")
		return
	}
	c.history(r)
	switch {
	case e.Redacted() || e.Operation == opRedact:
		c.redacted(r)
	case e.RecordOnly():
		c.recorded(r, p)
	default:
		c.step(r, p)
	}
	r.line = number
}

// end says what the log lacks.
func (c *checker) end() {
	if !c.gone {
		for _, f := range c.alone {
			c.result.Findings++
			c.report(f)
		}
	}
	var open []*record
	for _, r := range c.records {
		if len(r.pending) > 0 {
			open = append(open, r)
		}
	}
	slices.SortFunc(open, func(a, b *record) int { return a.line - b.line })
	for _, r := range open {
		c.number, c.event = r.line, fsm.Event{ID: r.rec.ID, Rev: r.rev}
		c.say(RuleThen, "%s is followed by %s in the same transaction; the log ends without it", r.op.Name, named(r.pending))
	}
}
