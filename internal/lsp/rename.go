package lsp

import (
	"github.com/fsmgen/fsmgen/spec"
)

// renamed are the names that can get another one here.
func (d *document) renamed(p position) (spec.Name, error) {
	if !d.specification {
		return spec.Name{}, failed("this file is no specification of fsmgen")
	}
	r := d.read()
	if r.Machine == nil {
		first := r.Found[0]
		return spec.Name{}, failed("fix the errors first, since names may be missed: %s: %s [%s]", first.Pos, first.Message, first.Code)
	}
	names := d.namesAt(p)
	if len(names) == 0 {
		return spec.Name{}, failed("no name stands here")
	}
	n := names[0]
	for _, o := range names[1:] {
		if !o.Same(n) {
			return n, failed("this names %s %s and %s %s; rename each where it is declared", n.Kind, n.Text, o.Kind, o.Text)
		}
	}
	if !spec.Renameable(n) {
		return n, failed("%s %s cannot be renamed here: states, state groups, fields, guards and operations can", n.Kind, n.Text)
	}
	return n, nil
}

func prepareRename(d *document, p at) (*renameRange, error) {
	n, err := d.renamed(p.Position)
	if err != nil {
		return nil, err
	}
	return &renameRange{d.rangeOf(n.Pos, n.Len), n.Text}, nil
}

// rename gives what a place names another name. Rows keep the word that they store.
func rename(d *document, p renameParams, keepStored bool) (*workspaceEdit, error) {
	n, err := d.renamed(p.Position)
	if err != nil {
		return nil, err
	}
	r := d.read()
	edits, err := r.Rename(n, p.NewName, keepStored)
	if err != nil {
		return nil, failed("%v", err)
	}
	return d.change(d.edits(edits)), nil
}
