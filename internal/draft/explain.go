package draft

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// Unexplained is a kind of rows that are no move of a machine.
type Unexplained struct {
	Line    int    `json:"line"` // of the first one
	ID      string `json:"id"`
	From    string `json:"from"` // "" where the row makes the record
	To      string `json:"to"`
	Rule    string `json:"rule"` // one of the names of package replay: word, chain, edge
	Count   int64  `json:"count"`
	Message string `json:"message"`
}

// Explained says how much of a log is moves of a machine.
type Explained struct {
	Rows        int64         `json:"rows"`
	Records     int64         `json:"records"`
	Explained   int64         `json:"explained"` // rows that are a move of the machine
	Unexplained []Unexplained `json:"unexplained"`
}

// Explain reads a log of status changes, as [From] does, and holds each row to the
// moves of a machine. A row is explained when its record was in its old state, and some
// operation leads from there to the new one; guards and fields are not looked at. Words
// of the log are states by name, by stored word, or as From would have named them.
func Explain(m *spec.Machine, in io.Reader, o Options) (*Explained, error) {
	r := bufio.NewReaderSize(in, 1<<16)
	if o.Format == "" {
		start, err := r.Peek(1 << 12)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if o.Format = detect(o.File, start); o.Format == "xstate" {
			o.Format = "jsonl"
		}
	}
	if o.Format != "csv" && o.Format != "jsonl" {
		return nil, fail(0, 0, "this is no log of status changes; expected CSV or JSONL with columns such as id, at, from, to; --format csv or jsonl says which")
	}
	from, err := openRows(r, o.Format, o.Columns)
	if err != nil {
		return nil, err
	}
	e := &explainer{m: m, words: map[string]*spec.State{}, last: map[string]string{}, kinds: map[Unexplained]int{}, edges: map[[2]*spec.State]bool{}}
	for _, v := range m.Moves() {
		e.edges[[2]*spec.State{v.Source(), v.To}] = true
	}
	for {
		row, err := from.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		e.add(row)
	}
	e.out.Records = int64(len(e.last))
	slices.SortStableFunc(e.out.Unexplained, func(a, b Unexplained) int { return a.Line - b.Line })
	return &e.out, nil
}

type explainer struct {
	m     *spec.Machine
	words map[string]*spec.State
	edges map[[2]*spec.State]bool // from, to; from nothing for a creation
	last  map[string]string       // where each record is
	kinds map[Unexplained]int     // without line, id and count
	out   Explained
}

// state finds the state of a word.
func (e *explainer) state(word string) *spec.State {
	if s, ok := e.words[word]; ok {
		return s
	}
	var found *spec.State
	for _, fits := range []func(*spec.State) bool{
		func(s *spec.State) bool { return s.Name == word || s.Stored() == word },
		func(s *spec.State) bool { return s.Name == snake(word) },
		func(s *spec.State) bool {
			return s.Name == snake(word)+"_state" || s.Name == "state_"+snake(word) || strings.EqualFold(s.Stored(), word)
		},
	} {
		if i := slices.IndexFunc(e.m.States, fits); i >= 0 && found == nil {
			found = e.m.States[i]
		}
	}
	e.words[word] = found
	return found
}

func (e *explainer) add(r row) {
	e.out.Rows++
	if r.wrong != "" {
		e.say(r, Unexplained{Rule: "json", Message: "the row has " + r.wrong})
		return
	}
	was, known := e.last[r.id]
	from := was
	if r.hasFrom {
		from = r.from
	}
	e.last[r.id] = r.to
	to := e.state(r.to)
	switch kind := (Unexplained{From: from, To: r.to}); {
	case to == nil:
		kind.Rule, kind.Message = "word", r.to+" is not a state of the machine"
		e.say(r, kind)
	case from != "" && e.state(from) == nil:
		kind.Rule, kind.Message = "word", from+" is not a state of the machine"
		e.say(r, kind)
	case known && from != was:
		kind.Rule, kind.Message = "chain", "the record was "+was+"; the row says that it was "+from
		if from == "" {
			kind.Message = "the record is there already, and was " + was
		}
		e.say(r, kind)
	case from == "" && !e.edges[[2]*spec.State{nil, to}]:
		kind.Rule, kind.Message = "edge", "no operation creates a record as "+r.to
		e.say(r, kind)
	case from != "" && !e.edges[[2]*spec.State{e.state(from), to}]:
		kind.Rule, kind.Message = "edge", "no operation leads from "+from+" to "+r.to
		e.say(r, kind)
	default:
		e.out.Explained++
	}
}

func (e *explainer) say(r row, kind Unexplained) {
	i, ok := e.kinds[kind]
	if !ok {
		i = len(e.out.Unexplained)
		e.kinds[kind] = i
		kind.Line, kind.ID = r.line, r.id
		e.out.Unexplained = append(e.out.Unexplained, kind)
	}
	e.out.Unexplained[i].Count++
}
