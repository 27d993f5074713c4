package lsp

import (
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// definition leads to where the names of a place are declared.
func definition(d *document, p at) ([]location, error) {
	list := []location{}
	seen := map[spec.Pos]bool{}
	for _, n := range d.namesAt(p.Position) {
		if n.Decl.IsZero() || seen[n.Decl] {
			continue
		}
		seen[n.Decl] = true
		list = append(list, location{d.uri, d.rangeOf(n.Decl, len([]rune(n.Text)))})
	}
	return list, nil
}

// uses are the places that name the same as a place, in the order of the file.
func (d *document) uses(p position, declaration bool) []spec.Name {
	wanted := d.namesAt(p)
	var last spec.Pos
	return only(d.source().read().Names, func(n spec.Name) bool {
		for _, w := range wanted {
			if n.Same(w) && n.Pos != last && (declaration || !n.Declares) {
				last = n.Pos
				return true
			}
		}
		return false
	})
}

func references(d *document, p referenceParams) ([]location, error) {
	list := []location{}
	for _, n := range d.uses(p.Position, p.Context.Declaration) {
		list = append(list, location{d.uri, d.rangeOf(n.Pos, n.Len)})
	}
	return list, nil
}

func highlights(d *document, p at) ([]highlight, error) {
	const read, write = 2, 3
	list := []highlight{}
	for _, n := range d.uses(p.Position, true) {
		kind := read
		if n.Declares {
			kind = write
		}
		list = append(list, highlight{d.rangeOf(n.Pos, n.Len), kind})
	}
	return list, nil
}

// sections are the keys of the root that declare names, with what those are in an outline.
var sections = map[spec.NameKind]struct {
	key  string
	icon int
}{
	spec.FieldName: {"fields", symbolField}, spec.StateName: {"states", symbolEnumMember}, spec.GroupName: {"state_groups", symbolEnum},
	spec.GuardName: {"guards", symbolOperator}, spec.UniqueName: {"unique", symbolKey}, spec.LookupName: {"lookup", symbolFunction},
	spec.OperationName: {"operations", symbolFunction}, spec.ProbeName: {"probes", symbolEvent},
}

// symbols is the outline of a file: its sections with the names that they declare.
func symbols(d *document, _ at) ([]symbol, error) {
	list := []symbol{}
	if !d.specification {
		return list, nil
	}
	v := d.source()
	index := map[string]int{}
	for _, n := range v.read().Names {
		of, known := sections[n.Kind]
		if !n.Declares || !known {
			continue
		}
		i, there := index[of.key]
		if !there {
			at := v.keyOf(of.key, 0)
			if at.IsZero() { // a whole file in brackets
				continue
			}
			i = len(list)
			index[of.key] = i
			list = append(list, symbol{Name: of.key, Kind: symbolNamespace, Range: v.blockOf(at), Selected: v.rangeOf(at, len(of.key))})
		}
		s := symbol{Name: n.Text, Kind: of.icon, Detail: v.detailOf(n), Range: v.blockOf(n.Pos), Selected: v.rangeOf(n.Pos, n.Len)}
		s.Range.Start = list[i].Range.Start
		if n.Pos.Line-1 > s.Range.Start.Line {
			s.Range.Start = position{Line: n.Pos.Line - 1}
		}
		list[i].Children = append(list[i].Children, s)
	}
	return list, nil
}

// detailOf is what an outline says beside a name.
func (v *version) detailOf(n spec.Name) string {
	m := v.read().Draft
	if m == nil || n.Kind != spec.FieldName {
		return ""
	}
	if f := m.Field(n.Text); f != nil {
		return f.Type.String()
	}
	return ""
}

// blockOf is the range of a key with the lines below it that are indented deeper.
func (t text) blockOf(at spec.Pos) span {
	first := at.Line - 1
	indent := len(t.line(first)) - len(strings.TrimLeft(t.line(first), " "))
	last := first
	for n := first + 1; n < len(t.lines); n++ {
		l := t.line(n)
		trimmed := strings.TrimLeft(l, " ")
		if trimmed == "" || trimmed[0] == '#' {
			continue
		}
		if len(l)-len(trimmed) <= indent {
			break
		}
		last = n
	}
	return span{position{first, 0}, position{last, units(t.line(last))}}
}
