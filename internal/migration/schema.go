package migration

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/runtime/evolve"
	"github.com/fsmgen/fsmgen/spec"
)

// schema is a generated schema, taken apart.
type schema struct {
	*evolve.Schema
	m       *spec.Machine
	text    string // what makes what is missing, without the row in the meta table
	tables  string // its first section
	records *evolve.Table
}

// generated returns the schema of a machine in a dialect, taken apart.
func generated(m *spec.Machine, dialect, enforce string) (*schema, error) {
	files, err := gen.Generate(m, gen.Options{Enforce: enforce})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(files, func(f gen.File) bool { return strings.HasSuffix(f.Name, "."+dialect+".sql") })
	if i < 0 {
		return nil, fmt.Errorf("no schema for %q; expected sqlite or postgres", dialect)
	}
	s := &schema{m: m}
	parts := evolve.Sections(string(files[i].Data))
	s.tables = parts["tables"]
	s.text = strings.TrimSpace(s.tables+parts["checks"]+parts["full"]) + "\n"
	if s.Schema, err = evolve.Parse(s.text); err != nil {
		return nil, err
	}
	if s.records = s.Table(m.Name); s.records == nil {
		return nil, fmt.Errorf("the generated schema of %s cannot be read: it has no table of this name", m.Name)
	}
	return s, nil
}

// column returns the column of the records of that name, or nil.
func (s *schema) column(name string) *evolve.Column { return s.records.Column(name) }

// indexes returns the indexes over the records.
func (s *schema) indexes() []evolve.Piece { return s.Of("index", s.m.Name) }

func (s *schema) triggers() []evolve.Piece { return s.Of("trigger", "") }
func (s *schema) views() []evolve.Piece    { return s.Of("view", "") }

func quoteName(name string) string { return evolve.Quote(name) }
func quoteText(text string) string { return evolve.Literal(text) }
