package answers

import (
	"bytes"
	"encoding/csv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/gen/export"
	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/model"
	"github.com/fsmgen/fsmgen/spec"
)

// Place is a position in the file.
type Place struct {
	Line   int `json:"line"`
	Column int `json:"column"` // in characters, from 1
	Length int `json:"length"` // of what stands there
}

func placeOf(p spec.Pos, what string) Place {
	return Place{p.Line, p.Col, max(len([]rune(what)), 1)}
}

type findingView struct {
	Severity string        `json:"severity"`
	Code     string        `json:"code"`
	Message  string        `json:"message"`
	Hint     string        `json:"hint,omitempty"`
	Before   string        `json:"before,omitempty"`
	After    string        `json:"after,omitempty"`
	Place    Place         `json:"place"`
	Related  []relatedView `json:"related,omitempty"`
}

type relatedView struct {
	Message string `json:"message"`
	Place   Place  `json:"place"`
}

// File is a specification with what was found in it, and its machine when it can be
// shown.
type File struct {
	File     string        `json:"file"`
	Name     string        `json:"name"` // of the machine, else of the file
	Hash     string        `json:"hash"`
	Lines    []string      `json:"lines"`
	Findings []findingView `json:"findings"`
	Errors   int           `json:"errors"`
	Machine  *machineView  `json:"machine,omitempty"`
}

type machineView struct {
	Name        string          `json:"name"`
	Entity      string          `json:"entity"`
	Doc         string          `json:"doc"`
	Version     int             `json:"version"`
	Meaning     string          `json:"meaning"` // hash of the canonical meaning
	RequestID   string          `json:"requestId"`
	ExpectedRev string          `json:"expectedRev"`
	Fields      []fieldView     `json:"fields"`
	States      []stateView     `json:"states"`
	Operations  []operationView `json:"operations"`
	Forbidden   []forbiddenView `json:"forbidden"`
	Steps       []keptView      `json:"steps"`
	Derived     string          `json:"derived,omitempty"` // entity of the projection
	Columns     []string        `json:"columns"`           // of the matrix
	Rows        [][]string      `json:"rows"`              // of the matrix: a cell for each column
	Bounds      boundsView      `json:"bounds"`
}

// boundsView are the bounds of the model checker for this machine.
type boundsView struct {
	Records   int `json:"records"`
	Groups    int `json:"groups"`
	Workers   int `json:"workers"`
	Counter   int `json:"counter"`
	MaxStates int `json:"maxStates"`
}

type fieldView struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Doc   string `json:"doc,omitempty"`
	Place Place  `json:"place"`
}

type ruleView struct {
	Text  string `json:"text"`
	Must  bool   `json:"must"`
	Place Place  `json:"place"`
}

type stateView struct {
	Name     string     `json:"name"`
	Doc      string     `json:"doc,omitempty"`
	Role     string     `json:"role"`
	Terminal bool       `json:"terminal,omitempty"`
	Final    bool       `json:"final,omitempty"`
	Rules    []ruleView `json:"rules"`
	Place    Place      `json:"place"`
}

type guardView struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
	Error   string `json:"error,omitempty"`
	Message string `json:"message,omitempty"`
	Doc     string `json:"doc,omitempty"`
	Place   Place  `json:"place"`
}

type inputView struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	Type     string   `json:"type"`
	Doc      string   `json:"doc,omitempty"`
	Optional bool     `json:"optional,omitempty"`
	Words    []string `json:"words,omitempty"` // of an enum
	Min      string   `json:"min,omitempty"`
	Max      string   `json:"max,omitempty"`
	Value    string   `json:"value,omitempty"`    // of a duration: what the form has at first
	Deadline bool     `json:"deadline,omitempty"` // a trigger waits for it
}

type operationView struct {
	Name     string      `json:"name"`
	Doc      string      `json:"doc,omitempty"`
	By       string      `json:"by"`
	Creates  bool        `json:"creates,omitempty"`
	Picks    bool        `json:"picks,omitempty"`    // the store may pick the record
	Internal bool        `json:"internal,omitempty"` // nobody may call it
	Actor    bool        `json:"actor,omitempty"`    // it needs to know who calls
	From     []string    `json:"from"`
	To       []string    `json:"to"`
	Inputs   []inputView `json:"inputs"`
	Guards   []guardView `json:"guards"`
	Effects  []string    `json:"effects"`
	Event    string      `json:"event"`
	Notes    []string    `json:"notes"`
	Place    Place       `json:"place"`
}

// keptView is what each step keeps.
type keptView struct {
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
}

type forbiddenView struct {
	From   string `json:"from"`
	To     string `json:"to"`
	After  bool   `json:"after"` // any number of steps lies between
	Reason string `json:"reason"`
	Place  Place  `json:"place"`
}

func findings(t *Text) (list []findingView, errors int) {
	list = []findingView{}
	for _, d := range t.Found {
		if d.Severity == spec.Error {
			errors++
		}
		list = append(list, findingOf(d))
	}
	return list, errors
}

func findingOf(d spec.Diagnostic) findingView {
	f := findingView{
		Severity: d.Severity.String(), Code: d.Code, Message: d.Message, Hint: d.Hint, Before: d.Before, After: d.After,
		Place: Place{d.Pos.Line, d.Pos.Col, max(d.Len, 1)},
	}
	for _, r := range d.Related {
		f.Related = append(f.Related, relatedView{r.Message, Place{r.Pos.Line, r.Pos.Col, 1}})
	}
	return f
}

func machineOf(t *Text) File {
	view := File{File: t.Name, Name: t.Title(), Hash: t.Hash, Lines: sourceLines(t.Source)}
	view.Findings, view.Errors = findings(t)
	if t.Usable() {
		view.Machine = viewOf(t.Machine)
	}
	return view
}

// viewOf returns a machine as the page shows it.
func viewOf(m *spec.Machine) *machineView {
	demand := map[spec.Demand]string{spec.Required: "required", spec.Optional: "optional", spec.None: "none"}
	view := &machineView{
		Name: m.Name, Entity: m.Entity, Doc: m.Doc, Version: m.Version, Meaning: m.Hash,
		RequestID: demand[m.RequestID], ExpectedRev: demand[m.ExpectedRev],
		Fields: []fieldView{}, States: []stateView{}, Operations: []operationView{}, Forbidden: []forbiddenView{}, Steps: []keptView{},
	}
	for _, f := range m.Fields {
		view.Fields = append(view.Fields, fieldView{f.Name, typeText(f.Type) + defaultText(f), f.Doc, placeOf(f.Pos, f.Name)})
	}
	roles := map[*spec.State]string{}
	for _, n := range chart.Of(m).Nodes {
		if n.State != nil {
			roles[n.State] = n.Role.String()
		}
	}
	for _, st := range m.States {
		view.States = append(view.States, stateView{
			Name: st.Name, Doc: st.Doc, Role: roles[st], Terminal: st.Terminal, Final: st.Final,
			Rules: rulesOf(m, st), Place: placeOf(st.Pos, st.Name),
		})
	}
	for _, o := range m.Operations {
		view.Operations = append(view.Operations, operationOf(m, o))
	}
	for _, s := range m.Steps {
		view.Steps = append(view.Steps, keptView{strings.Join(spec.FactTexts(s.When), " and "), s.Reason})
	}
	for _, f := range m.Forbidden {
		view.Forbidden = append(view.Forbidden, forbiddenView{f.From.State.Name, f.To.State.Name, f.After, f.Reason, placeOf(f.Pos, "")})
	}
	if m.Projection != nil {
		view.Derived = m.Projection.Entity
	}
	view.Columns, view.Rows = matrixOf(m)
	b := model.Defaults(m, model.Options{MaxStates: PageStates})
	view.Bounds = boundsView{b.Records, b.Groups, b.Workers, b.Counter, b.MaxStates}
	return view
}

func rulesOf(m *spec.Machine, st *spec.State) []ruleView {
	list := []ruleView{}
	fields := func(refs []spec.FieldRef, what string, must bool) {
		for _, r := range refs {
			list = append(list, ruleView{r.Field.Name + " is " + what, must, placeOf(r.Pos, r.Field.Name)})
		}
	}
	fields(st.Present, "present", true)
	fields(st.Absent, "absent", true)
	for _, facts := range [][]*spec.Fact{st.Invariant, m.Invariant} {
		for _, f := range facts {
			list = append(list, ruleView{f.Text, true, placeOf(f.Pos, f.Text)})
		}
	}
	fields(st.ShouldPresent, "present", false)
	fields(st.ShouldAbsent, "absent", false)
	return list
}

// matrixOf reads the matrix from where it is made.
func matrixOf(m *spec.Machine) (columns []string, rows [][]string) {
	text, err := export.CSV(m)
	if err != nil {
		return nil, nil // a buffer that cannot be written
	}
	all, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(all) == 0 {
		return nil, nil
	}
	const before = 3 // operation, by, guards
	for _, row := range all[1:] {
		rows = append(rows, row[before:])
	}
	return all[0][before:], rows
}

// needsActor asks the interpreter whether it wants to know who calls.
func needsActor(m *spec.Machine, o *spec.Operation) bool {
	if o.By == spec.BySystem {
		return false
	}
	_, refusal := interp.Accept(m, interp.Call{Op: o, At: epoch})
	return refusal != nil && refusal.Code == interp.CodeActorMissing
}

func defaultText(f *spec.Field) string {
	if f.Default == nil {
		return ""
	}
	return ", default " + f.Default.Text
}

// sourceLines are the lines of a file as a page shows them: without what would
// turn the order of the letters around.
func sourceLines(text []byte) []string {
	text = []byte(strings.TrimPrefix(string(text), "\ufeff"))
	shown := strings.Map(func(c rune) rune {
		if c != '\t' && c != '\n' && c != '\r' && (unicode.IsControl(c) || c == utf8.RuneError || unicode.Is(unicode.Bidi_Control, c)) {
			return '\ufffd'
		}
		return c
	}, string(text))
	lines := strings.Split(strings.TrimSuffix(shown, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	return lines
}
