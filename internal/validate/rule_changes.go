package validate

import (
	"github.com/fsmgen/fsmgen/internal/diff"
	"github.com/fsmgen/fsmgen/spec"
)

// changeRules are the findings of `fsmgen diff`. They look at two versions of a
// specification, so [Run] has nothing to do for them.
var changeRules = []Rule{
	{
		Code: "FSM701", Name: "stored name is gone", Severity: spec.Error, Changes: true,
		Doc: `DATA. A state, a field or an event is gone, or has another name without ` + "`was`" + `. Rows and events hold the old word
forever: write ` + "`was`" + ` for a rename, and ` + "`removed: {old: {to: new}}`" + ` for a state whose rows move. The name of a removed state
never comes back, since old events would get another meaning.`,
	},
	{
		Code: "FSM702", Name: "stored values of another type", Severity: spec.Error, Changes: true,
		Doc: `DATA. A field has another type, is mandatory where it was optional or not there, has narrower bounds, or lost a word of its
enum. Old rows may not fit: ` + "`fsmgen diff --rows`" + ` prints the queries that list them. A new field is optional or has a ` + "`default`" + `.`,
	},
	{
		Code: "FSM703", Name: "Go interface changed", Severity: spec.Error, Changes: true,
		Doc: `SOURCE. Something that callers name in Go is gone, is called otherwise, or has another type: an operation, an input, a look-up, an
error, a constant of a state or an event. Rows and events stay as they are, but no caller compiles before it is changed.`,
	},
	{
		Code: "FSM704", Name: "calls that succeeded may now fail", Severity: spec.Error, Changes: true,
		Doc: `BEHAVIOR. A cell became ` + "`reject`" + `, a guard was added or asks for more, or a call must carry more. Callers that were right
until now are refused; where old and new programs run side by side, both answers are seen.`,
	},
	{
		Code: "FSM705", Name: "calls that were refused now succeed", Severity: spec.Error, Changes: true,
		Doc: `BEHAVIOR. Something is possible that was refused: a cell, a guard, a ` + "`unique`" + ` or a forbidden move is gone or asks for less.
Code that relied on the refusal, such as a worker that must be the only one, does not notice.`,
	},
	{
		Code: "FSM706", Name: "old rows may break a rule", Severity: spec.Error, Changes: true,
		Doc: `DATA. An invariant or a ` + "`unique`" + ` is new or stricter, a SHOULD became a MUST, or a text may be less
long, or a duration shorter. The proof speaks of the operations of the new
version, not of rows that the old one wrote: list those that break it with ` + "`fsmgen diff --rows`" + ` and fix them first.`,
	},
	{
		Code: "FSM707", Name: "invariant gone", Severity: spec.Error, Changes: true,
		Doc: `BEHAVIOR. A state promises less than it did. Readers, reports and other programs may rely on it: a field that was always
there may be absent now.`,
	},
	{
		Code: "FSM708", Name: "final or terminal state changed", Severity: spec.Error, Changes: true,
		Doc: `BEHAVIOR. A state is terminal or final and was not, or the reverse. Readers stop watching a record that has ended, and
` + "`Purge`" + ` removes it; a record that was frozen may move again.`,
	},
	{
		Code: "FSM709", Name: "word that old programs cannot read", Severity: spec.Warning, Changes: true,
		Doc: `Compatible, in the right order. A new state, event or enum value breaks no caller, but a program of the old version refuses
a record that holds it: bring the new version to all readers before a writer uses the word.`,
	},
	{
		Code: "FSM710", Name: "transition does something else", Severity: spec.Error, Changes: true,
		Doc: `BEHAVIOR. The same call has another result: another state, other fields, another step after it, another order of picks, or
another trigger; or a look-up finds other records or sorts them otherwise. Callers compile and succeed, and find that result.`,
	},
	{
		Code: "FSM711", Name: "projection changed", Severity: spec.Error, Changes: true,
		Doc: `BEHAVIOR. Derived states are computed from the rows and written nowhere, so those of all old rows change at once, without
an event that says so.`,
	},
	{
		Code: "FSM712", Name: "effect under another key", Severity: spec.Error, Changes: true,
		Doc: `DATA. An effect has another name, another key or another moment, or is gone. What waits in the outbox was asked for by the
old version: it may be delivered twice, or never. Let the outbox run empty before the change.`,
	},
	{
		Code: "FSM713", Name: "calls need less than before", Severity: spec.Error, Changes: true,
		Doc: `BEHAVIOR. A call may come without a request id or a revision, or more operations may change a field. Nothing fails; but a
retry may happen twice, an update may overwrite another one, and a field is less watched than its readers think.`,
	},
	{
		Code: "FSM715", Name: "default changed", Severity: spec.Error, Changes: true,
		Doc: `DATA. A field has another default, or lost it. Records that are older than the field hold the old default, and their
log says nothing of it: it would fold to another value. Keep the default; to begin new records otherwise, ` + "`set`" + ` the field in
the creation.`,
	},
}

// compare reports what the rule finds from its old example to the file. The fix
// of one break may be a lesser one: a rename with `was` still changes Go code.
func (r Rule) compare(file string, src []byte) (*spec.Machine, spec.Diagnostics) {
	m, found := Source(file, src)
	old, _ := spec.Parse("old.yaml", []byte(r.Old()))
	if m == nil || old == nil || found.HasErrors() {
		return m, found
	}
	for _, c := range diff.Machines(old, m).Changes {
		if c.Code != r.Code {
			continue
		}
		d := spec.Diagnostic{Code: c.Code, Severity: r.Severity, File: file, Pos: c.New, Message: c.Message, Hint: c.Hint}
		if c.New.IsZero() {
			d.Pos = m.Pos // it is nowhere in the file
		}
		if !c.Old.IsZero() {
			d.Related = also(c.Old, "here in old.yaml")
		}
		found = append(found, d)
	}
	found.Sort()
	return m, found
}
