package draft

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// Options say how a file is read.
type Options struct {
	File    string            // its name, for comments and for the name of the machine
	Format  string            // one of Formats; "" is found out
	Name    string            // of the machine; "" takes it from the file
	Columns map[string]string // of a log: which column is what ("id": "order_no")
}

// Draft is a specification to start from.
type Draft struct {
	Name   string // of the machine
	Format string
	Text   []byte
	Notes  []Note
	Rows   int64 // of a log
	States int
	Moves  int // pairs of states with an operation between them
}

// Formats are what From reads.
var Formats = []string{"xstate", "scxml", "mermaid", "plantuml", "csv", "jsonl"}

// Limits of what is read.
const (
	maxChart = 8 << 20 // bytes of a statechart
	maxNodes = 2000    // states
	maxMoves = 20000   // moves, those of states within counted for each
	maxDepth = 60      // states within states
)

// From reads a file and returns a draft. An error of type [*Error] has a place in the file.
func From(in io.Reader, o Options) (*Draft, error) {
	r := bufio.NewReaderSize(in, 1<<16)
	start, err := r.Peek(1 << 16)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	start = bytes.TrimPrefix(start, []byte("\ufeff"))
	format := o.Format
	if format == "" {
		if format = detect(o.File, start); format == "" {
			return nil, fail(0, 0, "the format is not recognised; expected a machine of XState (JSON), SCXML, a state diagram of Mermaid or PlantUML, "+
				"or a CSV or JSONL file of status changes; --format %s says which", strings.Join(Formats, ", "))
		}
	}
	t, err := read(r, format, o)
	if err != nil {
		return nil, err
	}
	t.format = title[format]
	if err := t.small(); err != nil {
		return nil, err
	}
	d, err := t.draft(o)
	if d != nil {
		d.Format = format
	}
	return d, err
}

var title = map[string]string{"xstate": "XState", "scxml": "SCXML", "mermaid": "Mermaid", "plantuml": "PlantUML", "csv": "status changes", "jsonl": "status changes"}

func read(r *bufio.Reader, format string, o Options) (*tree, error) {
	switch format {
	case "csv", "jsonl":
		return readLog(r, format, o.Columns)
	case "xstate", "scxml", "mermaid", "plantuml":
	default:
		return nil, fail(0, 0, "%q is no format; expected one of %s", format, strings.Join(Formats, ", "))
	}
	src, err := io.ReadAll(io.LimitReader(r, maxChart+1))
	if err != nil {
		return nil, err
	}
	if len(src) > maxChart {
		return nil, fail(0, 0, "the file has more than %d MiB; expected one statechart", maxChart>>20)
	}
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	switch format {
	case "xstate":
		return readXState(src)
	case "scxml":
		return readSCXML(src)
	case "mermaid":
		return readMermaid(src)
	default:
		return readPlantUML(src)
	}
}

var (
	mermaidStart = regexp.MustCompile(`(?m)^[ \t]*stateDiagram(-v2)?[ \t]*(%%.*)?\r?$`)
	scxmlStart   = regexp.MustCompile(`<([A-Za-z_]+:)?scxml[\s>]`)
	uniqueEnds   = map[string]string{".scxml": "scxml", ".mmd": "mermaid", ".mermaid": "mermaid", ".puml": "plantuml", ".plantuml": "plantuml",
		".pu": "plantuml", ".iuml": "plantuml", ".wsd": "plantuml", ".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
)

// detect finds the format by what the file holds and by how its name ends.
func detect(file string, start []byte) string {
	ending := strings.ToLower(filepath.Ext(file))
	text := bytes.TrimSpace(start)
	line, _, more := bytes.Cut(text, []byte("\n"))
	switch {
	case scxmlStart.Match(start):
		return "scxml"
	case bytes.Contains(start, []byte("@startuml")):
		return "plantuml"
	case mermaidStart.Match(start):
		return "mermaid"
	case uniqueEnds[ending] != "":
		return uniqueEnds[ending]
	case bytes.HasPrefix(text, []byte("{")):
		if line = bytes.TrimSpace(line); bytes.HasSuffix(line, []byte("}")) && len(line) > 2 && (more || !bytes.Contains(line, []byte(`"states"`))) {
			return "jsonl"
		}
		return "xstate"
	case bytes.Count(line, []byte(",")) > 1, bytes.Count(line, []byte(";")) > 1, bytes.Count(line, []byte("\t")) > 1:
		if ending == "" || ending == ".txt" || ending == ".dat" {
			return "csv"
		}
	}
	return ""
}

// small refuses what would make a specification that nobody reads.
func (t *tree) small() error {
	nodes, moves := 0, 0
	var walk func(n *node, depth, around int) error
	walk = func(n *node, depth, around int) error {
		if nodes++; nodes > maxNodes {
			return fail(n.line, 0, "the file has more than %d states", maxNodes)
		}
		if depth > maxDepth {
			return fail(n.line, 0, "states lie more than %d deep in one another", maxDepth)
		}
		around += len(n.moves)
		if len(n.children) == 0 {
			if moves += around; moves > maxMoves {
				return fail(n.line, 0, "the file has more than %d moves", maxMoves)
			}
		}
		for _, c := range n.children {
			if err := walk(c, depth+1, around); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk(t.root, 0, 0); err != nil {
		return err
	}
	if len(t.root.children) == 0 {
		return fail(0, 0, "it has no states; expected a machine of %s", t.format)
	}
	return nil
}

// MachineName returns the name that a text gives a machine.
func MachineName(text string, r *renames) string {
	n := &names{"machine", r.by["machine"], map[string]bool{}}
	return n.give(text)
}

// blamed finds the name that a finding speaks of.
var blamed = regexp.MustCompile(`^(machine|entity|field|state|group|operation|event|effect|error|input|guard|effects on entering|effects on leaving) ([a-z][a-z0-9_]*|[A-Z]\w*)( and |:| takes )`)

// draft writes the tree, and writes it again under other names, or with less, until no
// rule finds an error.
func (t *tree) draft(o Options) (*Draft, error) {
	told := len(t.notes)
	r := newRenames()
	first := o.Name
	if first == "" {
		if first = t.name; snake(first) == "" {
			first = strings.TrimSuffix(filepath.Base(o.File), filepath.Ext(o.File))
		}
	}
	var found spec.Diagnostics
	for level := range 4 {
		for range 40 {
			t.notes = slices.Clone(t.notes[:told])
			machine := o.Name
			if machine == "" {
				machine = MachineName(first, r)
			}
			p := newPlan(t.flatten(), machine, r, level)
			text, broken := spec.Format(machine+".yaml", p.text(filepath.Base(o.File)))
			if broken.HasErrors() {
				return nil, fmt.Errorf("the draft cannot be read: %s", broken[0])
			}
			var m *spec.Machine
			m, found = validate.Source(machine+".yaml", text)
			if !found.HasErrors() {
				if level > 0 {
					t.note(0, Lost, "%s", less[level])
				}
				return &Draft{Name: machine, Text: text, Notes: t.notes, Rows: t.rows, States: len(m.States), Moves: pairs(m)}, nil
			}
			if !r.rename(found, o.Name != "") {
				break
			}
		}
	}
	for _, d := range found {
		if d.Severity == spec.Error {
			return nil, fmt.Errorf("the draft has an error that it cannot avoid: %s", d.Message)
		}
	}
	return nil, errors.New("the draft has an error that it cannot avoid")
}

// less says what a draft does without when a level was needed.
var less = [...]string{"", "the steps that follow the end of work are calls of their own", "actions are comments", "actions are comments"}

// rename gives the names that the rules refuse another try. It is false when there are none.
func (r *renames) rename(found spec.Diagnostics, keepMachine bool) bool {
	renamed := false
	for _, d := range found {
		if d.Code != "FSM017" && d.Code != "FSM018" {
			continue
		}
		m := blamed.FindStringSubmatch(d.Message)
		if m == nil {
			continue
		}
		what, name := m[1], m[2]
		switch what {
		case "event":
			what = "operation"
		case "effects on entering", "effects on leaving":
			what = "state"
			if r.by["group"][name] > 0 {
				what = "group"
			}
		case "machine":
			if keepMachine {
				continue
			}
		}
		r.by[what][name]++
		renamed = true
	}
	return renamed
}

// pairs counts the pairs of states between which a machine moves.
func pairs(m *spec.Machine) int {
	type pair struct{ from, to *spec.State }
	seen := map[pair]bool{}
	for _, t := range m.Moves() {
		if t.From != nil {
			seen[pair{t.Source(), t.To}] = true
		}
	}
	return len(seen)
}
