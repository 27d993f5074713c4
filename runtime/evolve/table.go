package evolve

import (
	"slices"
	"strings"
)

// tableOf takes the text of a table apart.
func tableOf(p Piece) *Table {
	t := &Table{Piece: p}
	list := tokens(p.Text)
	depth, begin := 0, 0
	for i, w := range list {
		switch w.text {
		case "(":
			if depth++; depth == 1 {
				begin = i + 1
			}
		case ")":
			depth--
		}
		if (depth == 1 && w.text == "," || depth == 0 && w.text == ")") && begin < i {
			if part := list[begin:i]; part[0].is("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN") {
				t.rules(part)
			} else {
				t.column(part)
			}
			begin = i + 1
		}
		if depth == 0 && w.text == ")" {
			t.tail = strings.TrimSuffix(canonical(list[i+1:]), " ;")
			return t
		}
	}
	return t
}

// column reads a column, and the constraints with a name that stand behind it.
func (t *Table) column(list []token) {
	end, depth := len(list), 0
	for i, w := range list {
		switch {
		case w.text == "(":
			depth++
		case w.text == ")":
			depth--
		case depth == 0 && w.is("CONSTRAINT") && end == len(list):
			end = i
		}
	}
	c := Column{Name: list[0].name(), Is: canonical(list[:end])}
	if end > 1 {
		c.Def = strings.TrimSuffix(t.Text[list[1].begin:list[end-1].end], " PRIMARY KEY")
	}
	t.Columns = append(t.Columns, c)
	t.rules(list[end:])
}

// rules reads constraints that stand one behind the other.
func (t *Table) rules(list []token) {
	for begin := 0; begin < len(list); {
		end := begin + 1
		for end < len(list) && !list[end].is("CONSTRAINT") {
			end++
		}
		part := list[begin:end]
		last := part[len(part)-1]
		r := Rule{Is: canonical(part), Text: t.Text[part[0].begin:last.end]}
		if len(part) > 1 && part[0].is("CONSTRAINT") {
			r.Name = part[1].name()
		}
		if len(part) > 4 && part[2].is("CHECK") {
			r.Cond = t.Text[part[3].end:last.begin]
		}
		t.Rules = append(t.Rules, r)
		begin = end
	}
}

// Column returns the column of that name, or nil.
func (t *Table) Column(name string) *Column {
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return strings.EqualFold(c.Name, name) })
	if i < 0 {
		return nil
	}
	return &t.Columns[i]
}

// Checks returns the rules that are a CHECK.
func (t *Table) Checks() []Rule {
	return slices.DeleteFunc(slices.Clone(t.Rules), func(r Rule) bool { return r.Cond == "" })
}

// has reports whether the table has a rule that means the same.
func (t *Table) has(r Rule) bool {
	return slices.ContainsFunc(t.Rules, func(o Rule) bool { return o.Is == r.Is })
}

// Mandatory reports whether the column must have a value.
func (c Column) Mandatory() bool { return strings.HasSuffix(c.bare(), "NOT NULL") }

// ForIndexes reports whether the column is worked out of others, for indexes alone.
func (c Column) ForIndexes() bool {
	return c.Name == "_open" || strings.HasPrefix(c.Name, "_in_") || strings.HasPrefix(c.Name, "_minute_")
}

// bare is the definition without the default.
func (c Column) bare() string {
	bare, _, _ := strings.Cut(c.Def, " DEFAULT ")
	return bare
}

// Bare is the type and its collation.
func (c Column) Bare() string { return strings.TrimSuffix(c.bare(), " NOT NULL") }

// Default is the default as SQL; empty when there is none.
func (c Column) Default() string {
	_, constant, _ := strings.Cut(c.Def, " DEFAULT ")
	return constant
}

// Type is the type without collation and nullability.
func (c Column) Type() string {
	word, _, _ := strings.Cut(c.Def, " ")
	return word
}
