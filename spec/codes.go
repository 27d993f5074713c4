package spec

import "fmt"

// Code is one kind of finding that Parse can report. The long text that
// `fsmgen explain` prints lives with the rules.
type Code struct {
	ID    string // "FSM001"; stable and never used again for something else
	Title string // what it finds, in a few words
}

const (
	codeUnknownKey   = "FSM001"
	codeNodeKind     = "FSM002"
	codeDuplicate    = "FSM003"
	codeUnknownType  = "FSM004"
	codeFact         = "FSM005"
	codeTrigger      = "FSM006"
	codeSyntax       = "FSM007"
	codeFeature      = "FSM008"
	codeUnreadable   = "FSM009"
	codeUndeclared   = "FSM010"
	codeShape        = "FSM014"
	codeValue        = "FSM015"
	codeIncomparable = "FSM020"
	codeTogether     = "FSM021"
	codeMissing      = "FSM022"
	codeCircle       = "FSM026"
)

// Codes are the findings that Parse and Format can report, in order.
var Codes = []Code{
	{codeUnknownKey, "unknown key"},
	{codeNodeKind, "a mapping, a list or a scalar where another one is expected"},
	{codeDuplicate, "a key or a name is there twice"},
	{codeUnknownType, "unknown type"},
	{codeFact, "unreadable fact"},
	{codeTrigger, "unknown trigger"},
	{codeSyntax, "YAML syntax error"},
	{codeFeature, "YAML feature that is not in the language"},
	{codeUnreadable, "file that cannot be read"},
	{codeUndeclared, "undeclared name"},
	{codeShape, "operation or branch without a start or a target"},
	{codeValue, "value not allowed"},
	{codeIncomparable, "terms that cannot be compared"},
	{codeTogether, "keys or values that do not go together"},
	{codeMissing, "mandatory key is missing"},
	{codeCircle, "machines that use each other in a circle"},
}

// reporter collects the findings of one file.
type reporter struct {
	file     string
	found    Diagnostics
	untold   int // findings that were not kept: there were too many
	compared int // names compared for a did-you-mean

	naming bool // names are remembered, for Read
	names  []Name
}

// add reports an error that covers n characters at pos.
func (r *reporter) add(code string, pos Pos, n int, hint, format string, args ...any) *Diagnostic {
	if len(r.found) >= 10*mostFindings {
		r.untold++
		return &Diagnostic{}
	}
	r.found = append(r.found, Diagnostic{
		Code: code, Severity: Error, File: r.file, Pos: pos, Len: n,
		Message: fmt.Sprintf(format, args...), Hint: hint,
	})
	return &r.found[len(r.found)-1]
}

// at reports an error at a word.
func (r *reporter) at(code string, w word, hint, format string, args ...any) *Diagnostic {
	return r.add(code, w.pos, w.size, hint, format, args...)
}

// related adds a second place to a finding.
func (d *Diagnostic) related(pos Pos, format string, args ...any) {
	if !pos.IsZero() {
		d.Related = append(d.Related, Related{Pos: pos, Message: fmt.Sprintf(format, args...)})
	}
}
