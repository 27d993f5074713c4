package lsp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

// What is proposed where, in whole files and in such as are no YAML for the moment.
func TestCompletion(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil)
	c.open(small)
	for _, x := range []struct {
		what, old, text string
		has, not        string // labels, divided by blanks
	}{
		{"a key of the root", "states:\n", "<>\nstates:\n", "unique projection forbidden", "states guards from"},
		{"a key of a state", "    absent: [owner]\n", "    <>\n", "absent final invariant probe", "doc present: terminal:"},
		{"a key of an operation", "    to: taken\n", "    to: taken\n    re<>\n", "effect event clear", "from require to"},
		{"a key of an operation in brackets", "lapse: {by: system, from:", "lapse: {<>by: system, from:", "input then", "states"},
		{"a key of a guard, behind others", "error: not_mine, ", "error: not_mine, <>", "message none fewer", "when error"},
		{"keys of a list's item", "states:\n", "forbidden:\n  - <>\nstates:\n", "from after to reason", "states"},
		{"keys of effects", "    to: taken\n", "    to: taken\n    effect: {<>\n", "name key atomic attempts", "doc"},
		{"a state", "    to: taken\n", "    to: <>\n", "open taken done same", "owner mine"},
		{"a state, of which two letters are there", "    to: taken\n", "    to: ta<>\n", "taken", "mine"},
		{"a state of an open list", "from: [open, taken], to", "from: [open, <>", "taken done", "same take"},
		{"a state of a list of lines", "    from: open\n", "    from:\n      - <>\n", "open taken", "same"},
		{"a guard", "    require: [mine]", "    require: [<>]", "mine ahead", "open"},
		{"an optional field", "    absent: [owner]", "    absent: [<>]", "owner", "due level tries"},
		{"a counter", "    increment: [tries]", "    increment: [<>]", "tries", "owner due"},
		{"a key of set", "set: {owner: actor,", "set: {<>, owner: actor,", "level tries", "owner due open"},
		{"a value of a text", "owner: actor,", "owner: <>,", "actor input", "low now"},
		{"a value of an enum", "level: input or default", "level: <>", "low high input", "actor now"},
		{"a value of a time", "set: {owner: actor, due: input}", "set: {owner: actor, due: <>}", "now input", "actor low"},
		{"what follows an input", "level: input or default", "level: input or <>", "absent same default reject", "low"},
		{"a fact's term", "when: owner == actor", "when: <>", "owner due actor now input.due", "low taken"},
		{"a fact's sign", "when: owner == actor", "when: owner <>", "== !=", "actor"},
		{"a fact's word", "when: owner == actor", "when: level == <>", "low high", "taken"},
		{"behind is", "when: owner == actor", "when: owner is <>", "present absent", "owner"},
		{"a field's type", "  due: time\n", "  due: <>\n", "time duration optional counter", "open"},
		{"an optional type", "  due: time\n", "  due: optional <>\n", "time", "counter sequence"},
		{"a word of the language", "by: system", "by: <>", "caller system operator", "open"},
		{"a boolean", "    terminal: true", "    terminal: <>", "true false", "open"},
		{"a trigger", "[after due]", "[<>]", "startup after", "due"},
		{"a trigger's field", "[after due]", "[after <>]", "due created_at", "owner level"},
		{"an operation", "changed_by: [take]", "changed_by: [<>]", "make take end lapse", "open"},
		{"a code to allow", "allow: {FSM609: callers are trusted}", "allow: {<>}", "FSM609", "FSM010 doc"},
		{"a comment", "  due: time\n", "  due: time # <>\n", "", "time"},
		{"a text of lines", "    doc: It waits.\n", "    doc: >-\n      It <>\n", "", "absent present"},
	} {
		marked := with(t, x.old, x.text)
		labels := c.labels(c.write(marked))
		for _, w := range strings.Fields(x.has) {
			if !slices.Contains(labels, w) {
				t.Errorf("%s: %s is not proposed: %v", x.what, w, labels)
			}
		}
		for _, w := range strings.Fields(x.not) {
			if slices.Contains(labels, w) {
				t.Errorf("%s: %s is proposed: %v", x.what, w, labels)
			}
		}
	}
}

// What is taken replaces what was typed, and keys come with their colon and their documents.
func TestCompletionEdits(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil)
	marked := with(t, "    absent: [owner]\n", "    sho<>\n")
	text, _ := cut(marked)
	var list completionList
	c.ask("textDocument/completion", c.open(marked), &list)
	i := slices.IndexFunc(list.Items, func(i completionItem) bool { return i.Label == "should" })
	if i < 0 {
		t.Fatal("should is not proposed")
	}
	if got := edited(text, []textEdit{*list.Items[i].Edit}); got != with(t, "    absent: [owner]\n", "    should:\n      \n") {
		t.Errorf("it becomes\n%s", got)
	}
	if doc := list.Items[i].Doc; doc == nil || !strings.Contains(doc.Value, "What should be so") {
		t.Errorf("the document is %v", doc)
	}
}

// A text that cannot be read is answered of by the last one that could; also when it was never one.
func TestBrokenTextKeepsTheLastReading(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil)
	c.open(small)
	p := c.write(with(t, "  lapse: {by: system, from: [open, taken], to: done, trigger: [after due]}\n", "  lapse: {by: system, from: [open, ta<>"))
	if labels := c.labels(p); !slices.Contains(labels, "taken") {
		t.Errorf("%v", labels)
	}
	if text := c.hover(p); !strings.Contains(text, "**state** `taken`") && !strings.Contains(text, "from") && text != "" {
		t.Error(text)
	}
	p = c.write(strings.Replace(with(t, "lapse: {by: system,", "lapse: {{by: system,"), "    require: [mine]", "    require: [mi<>ne]", 1))
	if text := c.hover(p); !strings.Contains(text, "**guard** `mine`") || !strings.Contains(text, "In operations: `end`") {
		t.Errorf("hover in a broken file: %q", text)
	}
	never := newClient(t, nil)
	p = never.open("fsm: 1\nstates:\n  open: {}\n  shut: {}\noperations:\n  close: {from: [<>\n")
	if labels := never.labels(p); !slices.Contains(labels, "open") || !slices.Contains(labels, "shut") {
		t.Errorf("a file that was never sound: %v", labels)
	}
}

func TestHover(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil)
	c.open(small)
	for _, x := range []struct{ old, text, want string }{
		{"  taken: {pre", "  tak<>en: {pre", "**state** `taken`;Present: `owner`;Comes by: `take`;Leaves by: `end → done`, `lapse → done`;In operations: `take`, `end`, `lapse`"},
		{"    to: taken", "    to: tak<>en", "**state** `taken`"},
		{"    absent: [owner]", "    absent: [own<>er]", "**field** `owner`: `optional string`;Changed by: `take`;In states: `open`, `taken`;In guards: `mine`"},
		{"require: [mine]", "require: [<>mine]", "**guard** `mine`, refuses with `not_mine`;Only its owner goes on.;In operations: `end`"},
		{"  take:\n", "  ta<>ke:\n", "**operation** `take(due time)`;From: `open`;To: `taken`;Requires: `ahead`;3 cells: 1 transition, 2 refused"},
		{"input.due", "input.d<>ue", "**field** `due`: `time`"},
		{"low|high", "lo<>w|high", "**value** `low` of the field `level`"},
		{"low|high", "low|<>high", "**value** `high` of the field `level`"},
		{"    terminal: true", "    term<>inal: true", "Nothing leaves the state; the record is frozen"},
		{"trigger: [after", "trig<>ger: [after", "What fires the operation without a caller"},
		{"allow: {FSM609", "allow: {FSM<>609", "**FSM609**"},
	} {
		text := c.hover(c.write(with(t, x.old, x.text)))
		for _, w := range strings.Split(x.want, ";") {
			if !strings.Contains(text, w) {
				t.Errorf("%s: %q is not in\n%s", x.text, w, text)
			}
		}
	}
}

func TestNavigation(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil)
	p := c.open(with(t, "    to: taken", "    to: t<>aken"))
	lines := strings.Split(small, "\n")
	at := func(l location) string {
		return fmt.Sprintf("%d:%s", l.Range.Start.Line, lines[l.Range.Start.Line][l.Range.Start.Character:l.Range.End.Character])
	}
	var list []location
	c.ask("textDocument/definition", p, &list)
	if len(list) != 1 || at(list[0]) != "14:taken" {
		t.Errorf("definition: %v", each(list, at))
	}
	p["context"] = map[string]bool{"includeDeclaration": true}
	c.ask("textDocument/references", p, &list)
	if got := strings.Join(each(list, at), " "); got != "14:taken 24:taken 29:taken 33:taken" {
		t.Errorf("references: %s", got)
	}
	p["context"] = map[string]bool{"includeDeclaration": false}
	c.ask("textDocument/references", p, &list)
	if len(list) != 3 {
		t.Errorf("references without the declaration: %v", each(list, at))
	}
	var marks []highlight
	c.ask("textDocument/documentHighlight", p, &marks)
	if len(marks) != 4 || marks[0].Kind != 3 {
		t.Errorf("highlights: %v", marks)
	}
	var outline []symbol
	c.ask("textDocument/documentSymbol", p, &outline)
	names := each(outline, func(s symbol) string {
		return s.Name + ":" + strings.Join(each(s.Children, func(s symbol) string { return s.Name }), ",")
	})
	if got := strings.Join(names, " "); got != "fields:owner,level,due,tries states:open,taken,done guards:mine,ahead operations:make,take,end,lapse" {
		t.Errorf("outline: %s", got)
	}
	if take := outline[3].Children[1]; take.Range.Start.Line != 22 || take.Range.End.Line != 27 || outline[0].Children[1].Detail != "low|high" {
		t.Errorf("%+v", take)
	}
}

func TestLenses(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil)
	p := c.open(small)
	var list []codeLens
	c.ask("textDocument/codeLens", p, &list)
	got := each(list, func(l codeLens) string { return fmt.Sprintf("%d %s", l.Range.Start.Line, l.Command.Title) })
	want := []string{
		"3 4 cells: refused by `otherwise`", "22 3 cells: 1 transition, 2 refused", "28 3 cells: 1 transition, 1 recorded only, 1 refused",
		"32 1 cell: recorded only", "33 3 cells: 2 transitions, 1 refused",
	}
	if !slices.Equal(got, want) {
		t.Errorf("lenses\n%s\nare expected, got\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}

// The cells that lenses count are those of the machine: all of them, and each once.
func TestLensesCountAllCells(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"execution", "ingest", "job", "jobstate", "lifecycle", "task"} {
		m, _ := spec.Parse(name, []byte(machine(t, name)))
		for _, o := range m.Operations {
			if len(o.Creates) > 0 {
				continue
			}
			count := map[spec.Class]int{}
			for _, class := range m.Row(o) {
				count[class]++
			}
			got := cellsOf(m, o)
			for class, what := range map[spec.Class]string{spec.Transition: " transition", spec.RecordOnly: " recorded only", spec.Reject: " refused"} {
				if n := count[class]; strings.Contains(got, fmt.Sprint(" ", n)+what) != (n > 0) {
					t.Errorf("%s of %s: %d%s, got %s", o.Name, name, n, what, got)
				}
			}
		}
	}
}
