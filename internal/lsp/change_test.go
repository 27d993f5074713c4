package lsp

import (
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/diff"
	"github.com/fsmgen/fsmgen/spec"
)

// fixes asks for what is offered on a whole text.
func (c *client) fixes(only ...string) []codeAction {
	c.t.Helper()
	var list []codeAction
	c.ask("textDocument/codeAction", map[string]any{
		"textDocument": documentID{URI: uri}, "range": span{End: position{1000, 0}}, "context": map[string]any{"only": only, "diagnostics": []any{}},
	}, &list)
	return list
}

// A quick fix makes its finding go; all of them at once are those of `fmt --fix`.
func TestQuickFixes(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil)
	src := strings.Replace(with(t, "    to: taken\n", "    to: takn\n"), "by: system", "by: systm", 1)
	c.open(src)
	list := c.fixes()
	titles := each(list, func(a codeAction) string { return a.Title })
	if want := []string{"Replace `takn` by `taken` (FSM010)", "Replace `systm` by `system` (FSM015)"}; !slices.Equal(titles, want) {
		t.Fatalf("%q are expected, got %q", want, titles)
	}
	if got := edited(src, list[0].Edit.Changes[uri]); got != strings.Replace(src, "takn", "taken", 1) || list[0].Findings[0].Code != "FSM010" {
		t.Errorf("the first makes\n%s", got)
	}
	all := c.fixes("source.fixAll")
	if len(all) != 1 || edited(src, all[0].Edit.Changes[uri]) != small {
		t.Errorf("all at once: %v", all)
	}
	if more := c.fixes("refactor"); len(more) != 0 {
		t.Errorf("%v", more)
	}
	c.write(small)
	if list := append(c.fixes(), c.fixes("source")...); len(list) != 0 {
		t.Errorf("a sound file has fixes: %v", list)
	}
}

// The form is that of `fsmgen fmt`; only what differs is replaced.
func TestFormatting(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil)
	src := strings.ReplaceAll(with(t, "  due: time\n", "  due:    time   # when\n"), "\n", "\r\n")
	p := c.open(src)
	var edits []textEdit
	c.ask("textDocument/formatting", p, &edits)
	want, _ := spec.Format("job.yaml", []byte(src))
	if got := edited(src, edits); got != string(want) {
		t.Errorf("it becomes\n%q\ninstead of\n%q", got, want)
	}
	p = c.write(string(want))
	if c.ask("textDocument/formatting", p, &edits); len(edits) != 0 {
		t.Errorf("a formatted file has edits: %v", edits)
	}
	odd := strings.Replace(string(want), "due: time", "due:   time", 1)
	p = c.write(odd)
	if c.ask("textDocument/formatting", p, &edits); len(edits) != 1 || edits[0].Range.Start.Line+1 != edits[0].Range.End.Line {
		t.Errorf("one line differs: %v", edits)
	}
	p = c.write(small + "states: [")
	if why := c.fails("textDocument/formatting", p); !strings.Contains(why, "FSM0") {
		t.Error(why)
	}
}

// A name is replaced wherever it stands, and rows keep the word that they store.
func TestRename(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil)
	c.open(small)
	for _, x := range []struct {
		what, old, text, to string
		pairs               []string // of texts, and what they become
	}{
		{"a state in brackets", "  taken: {pre", "  tak<>en: {pre", "held", []string{
			"  taken: {present: [owner]}", "  held: {present: [owner], was: taken}", "to: taken", "to: held", "    from: taken", "    from: held", "[open, taken]", "[open, held]"}},
		{"a state of lines, where it is used", "    from: open\n", "    from: op<>en\n", "new", []string{
			"  open:\n", "  new:\n", "    absent: [owner]\n", "    absent: [owner]\n    was: open\n", "creates: open", "creates: new", "    from: open", "    from: new", "[open, ", "[new, "}},
		{"a field of the short form, with what it implies", "  due: time\n", "  d<>ue: time\n", "until", []string{
			"  due: time\n", "  until: {type: time, was: due}\n", "input.due", "input.until", "set: {due: input, ", "set: {until: input, ",
			"owner: actor, due: input", "owner: actor, until: input", "after due", "after until"}},
		{"a guard", "require: [mine]", "require: [<>mine]", "own", []string{"  mine: {when", "  own: {when", "[mine]", "[own]"}},
		{"an operation", "changed_by: [take]", "changed_by: [take<>]", "grab", []string{
			"  take:\n", "  grab:\n", "[take]", "[grab]", "    increment: [tries]\n", "    increment: [tries]\n    was: take\n"}},
	} {
		p := c.write(with(t, x.old, x.text))
		var r *renameRange
		c.ask("textDocument/prepareRename", p, &r)
		p["newName"] = x.to
		var e workspaceEdit
		c.ask("textDocument/rename", p, &e)
		want := small
		for i := 0; i < len(x.pairs); i += 2 {
			if !strings.Contains(want, x.pairs[i]) {
				t.Fatalf("%s: %q is not there", x.what, x.pairs[i])
			}
			want = strings.ReplaceAll(want, x.pairs[i], x.pairs[i+1])
		}
		got := edited(small, e.Changes[uri])
		if got != want {
			t.Errorf("%s becomes\n%s\ninstead of\n%s", x.what, got, want)
		}
		before, _ := spec.Parse("job.yaml", []byte(small))
		after, found := spec.Parse("job.yaml", []byte(got))
		if after == nil {
			t.Fatalf("%s: %v", x.what, found)
		}
		if r := diff.Machines(before, after); r.Count(diff.Data)+r.Count(diff.Behavior) > 0 {
			t.Errorf("%s: rows and meaning are not kept: %+v", x.what, r.Changes)
		}
	}
}

// Renaming back takes `was` away; without rows none is written; what cannot be renamed says why.
func TestRenameWas(t *testing.T) {
	t.Parallel()
	c := newClient(t, map[string]any{"keepStored": false})
	renamed := func(marked, to string) string {
		p := c.write(marked)
		p["newName"] = to
		var e workspaceEdit
		c.ask("textDocument/rename", p, &e)
		text, _ := cut(marked)
		return edited(text, e.Changes[uri])
	}
	c.open(small)
	if got := renamed(with(t, "  taken: {pre", "  <>taken: {pre"), "held"); strings.Contains(got, "was:") || !strings.Contains(got, "  held: {present: [owner]}\n") {
		t.Errorf("without rows:\n%s", got)
	}
	why := func(marked, to string) string {
		p := c.write(marked)
		p["newName"] = to
		return c.fails("textDocument/rename", p)
	}
	for _, x := range []struct{ old, text, to, want string }{
		{"  taken: {pre", "  <>taken: {pre", "Held", "not a name"},
		{"  taken: {pre", "  <>taken: {pre", "open", "FSM003"},
		{"  due: time", "  <>due: time", "low", "FSM015"},
		{"low|high", "<>low|high", "least", "cannot be renamed here"},
		{"    terminal: true", "    termin<>al: true", "x", "no name stands here"},
		{"    to: taken\n    req", "    to: <>takn\n    req", "x", "fix the errors first"},
	} {
		if got := why(with(t, x.old, x.text), x.to); !strings.Contains(got, x.want) {
			t.Errorf("%s to %s: %q is expected, got %s", x.text, x.to, x.want, got)
		}
	}
	keeps := newClient(t, nil)
	keeps.open(small)
	c = keeps
	if got := renamed(with(t, "  taken: {present: [owner]}", "  <>taken: {present: [owner], was: held}"), "held"); !strings.Contains(got, "  held: {present: [owner]}\n") {
		t.Errorf("the first name is back:\n%s", got)
	}
	if got := renamed(with(t, "  taken: {present: [owner]}", "  <>taken: {present: [owner], was: first}"), "third"); !strings.Contains(got, "  third: {present: [owner], was: first}\n") {
		t.Errorf("rows hold the first name:\n%s", got)
	}
	if got := renamed(with(t, "  make: {creates", "  <>make: {was: {event: made}, creates"), "submit"); !strings.Contains(got, "was: {event: made, operation: make}") {
		t.Errorf("the event was renamed before:\n%s", got)
	}
	if got := renamed(strings.Replace(with(t, "  done:\n    terminal: true\n", "  done: {}\n"), "  done", "  d<>one", 1), "over"); !strings.Contains(got, "  over: {was: done}\n") {
		t.Errorf("an empty mapping:\n%s", got)
	}
	pure := strings.Replace(with(t, "  taken: {pre", "  <>taken: {pre"), "entity: Job\n", "entity: Job\nlayers: [pure]\n", 1)
	pure = strings.Replace(pure, "  lapse: {by: system, from: [open, taken], to: done, trigger: [after due]}\n", "", 1)
	if got := renamed(pure, "held"); strings.Contains(got, "was:") {
		t.Errorf("a machine without a store:\n%s", got)
	}
}
