package lsp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// actions offers the edits of the findings in a range, each of which was tried: it takes its
// finding away and leads to no other error. Asked for by name, it offers all edits that need
// no decision at once, as `fsmgen fmt --fix` makes them.
func actions(d *document, p actionParams) ([]codeAction, error) {
	list := []codeAction{}
	if !d.specification {
		return list, nil
	}
	wants := func(kind string) bool {
		return slices.ContainsFunc(p.Context.Only, func(o string) bool { return kind == o || strings.HasPrefix(kind, o+".") })
	}
	if wants("source.fixAll.fsmgen") {
		if edits := d.replaced(string(validate.Fixed(d.file, []byte(d.src)))); len(edits) > 0 {
			list = append(list, codeAction{Title: "Make the edits that fsmgen offers", Kind: "source.fixAll.fsmgen", Edit: d.change(edits)})
		}
	}
	if len(p.Context.Only) > 0 && !wants("quickfix") {
		return list, nil
	}
	found := slices.Clone(d.check())
	for i, f := range found {
		if at := d.rangeOf(f.Pos, max(f.Len, 1)); before(p.Range.End, at.Start) || before(at.End, p.Range.Start) {
			found[i].Fix = nil
		}
	}
	if !slices.ContainsFunc(found, func(f spec.Diagnostic) bool { return len(f.Fix) > 0 }) {
		return list, nil
	}
	for _, f := range validate.Tried(d.file, []byte(d.src), d.read().Machine, found) {
		if len(f.Fix) > 0 {
			list = append(list, codeAction{
				Title: d.titleOf(f), Kind: "quickfix", Findings: []diagnostic{d.diagnosticOf(f)}, Preferred: !validate.Choice(f),
				Edit: d.change(d.edits(f.Fix)),
			})
		}
	}
	return list, nil
}

func before(a, b position) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Character < b.Character
}

// change are edits of the document.
func (d *document) change(edits []textEdit) *workspaceEdit {
	return &workspaceEdit{map[string][]textEdit{d.uri: edits}}
}

// titleOf says in a line what the edits of a finding do.
func (d *document) titleOf(f spec.Diagnostic) string {
	const longest = 60
	short := func(s string) string {
		s = strings.Join(strings.Fields(s), " ")
		if r := []rune(s); len(r) > longest {
			s = string(r[:longest]) + "..."
		}
		return s
	}
	e := f.Fix[0]
	r := d.rangeOf(e.Pos, e.Len)
	old := d.src[d.offset(r.Start):d.offset(r.End)]
	switch {
	case strings.TrimSpace(e.Text) == "":
		return fmt.Sprintf("Remove `%s` (%s)", short(old), f.Code)
	case e.Len == 0:
		return fmt.Sprintf("Add `%s` (%s)", short(e.Text), f.Code)
	}
	return fmt.Sprintf("Replace `%s` by `%s` (%s)", short(old), short(e.Text), f.Code)
}

// formatting makes the canonical form of `fsmgen fmt`. A file that cannot be read stays as it is.
func formatting(d *document, _ at) ([]textEdit, error) {
	if !d.specification {
		return []textEdit{}, nil
	}
	out, found := spec.Format(d.file, []byte(d.src))
	if found.HasErrors() {
		first := found[slices.IndexFunc(found, func(f spec.Diagnostic) bool { return f.Severity == spec.Error })]
		return nil, failed("fix %s first: %s [%s]", first.Pos, first.Message, first.Code)
	}
	return d.replaced(string(out)), nil
}
