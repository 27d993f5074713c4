package gen

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// constraint returns the quoted name of a CHECK, unique in its table: the rule. Where the
// database does not take so many bytes it is the beginning, and a comment has the whole rule.
func (s *schemaText) constraint(c sqlCheck) (name, comment string) {
	whole := c.rule
	name = s.shortened(c, "")
	for n := 2; s.names[name]; n++ {
		again := fmt.Sprintf(" (%d)", n)
		whole, name = c.rule+again, s.shortened(c, again)
	}
	s.names[name] = true
	if name != whole {
		comment = whole
	}
	return quoteName(name), comment
}

// shortened ends a name behind one of the rules of a state, else behind a word.
func (s *schemaText) shortened(c sqlCheck, end string) string {
	most := s.d.maxName
	if most == 0 || len(c.rule+end) <= most {
		return c.rule + end
	}
	name, begin := "", ""
	for i, part := range c.parts {
		begin += part
		if short := fmt.Sprintf("%s; %d more%s", begin, len(c.parts)-1-i, end); len(short) <= most {
			name = short
		}
	}
	if name != "" {
		return name
	}
	name = c.rule[:most-len("..."+end)]
	if cut := strings.LastIndexByte(name, ' '); cut > 0 {
		name = name[:cut]
	}
	for !utf8.ValidString(name) {
		name = name[:len(name)-1]
	}
	return name + "..." + end
}

// about notes what a table, a column or a constraint is, for the catalog of a server.
func (s *schemaText) about(what, text string) {
	if text = strings.Join(strings.Fields(text), " "); text != "" && s.d.catalog {
		s.abouts = append(s.abouts, "COMMENT ON "+what+" IS "+quoteText(text)+";")
	}
}

// aboutItem notes what a column or a constraint of a table is.
func (s *schemaText) aboutItem(table string, item tableItem) {
	if name, ok := strings.CutPrefix(item.text, "CONSTRAINT "); ok {
		s.about("CONSTRAINT "+leadingName(name)+" ON "+table, item.comment)
	} else if strings.HasPrefix(item.text, `"`) {
		s.about("COLUMN "+table+"."+leadingName(item.text), item.comment)
	}
}

// leadingName returns the quoted name that a text begins with.
func leadingName(text string) string {
	for i := 1; i < len(text); i++ {
		if text[i] == '"' {
			if i+1 == len(text) || text[i+1] != '"' {
				return text[:i+1]
			}
			i++
		}
	}
	return text
}
