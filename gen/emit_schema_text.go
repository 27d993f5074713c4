package gen

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

var (
	//go:embed postgres.schema.sql
	postgresText string
	//go:embed sqlite.schema.sql
	sqliteText string

	schemaFiles = map[string]map[string][]string{"postgres": partsOf(postgresText), "sqlite": partsOf(sqliteText)}
)

// partsOf cuts a file into its parts: the lines behind "-- part: NAME", without the empty line before the next one.
func partsOf(file string) map[string][]string {
	parts, name := map[string][]string{}, ""
	for line := range strings.Lines(file) {
		line = strings.TrimSuffix(line, "\n")
		if next, is := strings.CutPrefix(line, "-- part: "); is {
			name = next
		} else if name != "" {
			parts[name] = append(parts[name], line)
		}
	}
	for name, lines := range parts {
		if last := len(lines) - 1; lines[last] == "" {
			parts[name] = lines[:last]
		}
	}
	return parts
}

// sqlWords are what a machine fills in, in lines. A line may hold a text of several lines, which is
// never indented: it stands between quotes.
type sqlWords map[string]func() []string

// said returns a word of one text.
func said(text string) func() []string { return func() []string { return []string{text} } }

// schema returns the machine's schema at a level of enforcement. Its statements can run again and
// again.
func schema(m *spec.Machine, enforce string, d sqlDialect, made func(*schemaText) sqlWords) []byte {
	s := &schemaText{Builder: &strings.Builder{}, m: m, enforce: enforce, d: d}
	s.words = s.shared()
	for name, word := range made(s) {
		s.words[name] = word
	}
	parts := []string{"tables"}
	if s.checks() {
		parts = append(parts, "checks")
	}
	if s.full() {
		parts = append(parts, "full")
	}
	for _, part := range append(parts, "meta") {
		for _, line := range s.lines(part, nil) {
			s.line("%s", line)
		}
	}
	return []byte(s.String())
}

var (
	wordAlone = regexp.MustCompile(`^ *\{[A-Z_]+\}$`)
	nameInIt  = regexp.MustCompile(`\{(M|[a-z_]+|M_[a-z]+)\}`)
	wordInIt  = regexp.MustCompile(`\{[A-Z_]+\}`)
)

// lines returns a part for the machine, with words that only this part has.
func (s *schemaText) lines(part string, own sqlWords) (list []string) {
	for _, line := range schemaFiles[s.d.name][part] {
		if wordAlone.MatchString(line) {
			word := strings.TrimLeft(line, " ")
			for _, l := range s.word(strings.Trim(word, "{}"), own) {
				list = append(list, strings.TrimSuffix(line, word)+l)
			}
			continue
		}
		line = nameInIt.ReplaceAllStringFunc(line, s.name)
		s.saw(line)
		list = append(list, wordInIt.ReplaceAllStringFunc(line, func(word string) string {
			return strings.Join(s.word(strings.Trim(word, "{}"), own), "\n")
		}))
	}
	return list
}

// name returns a name in braces: that of a table, or of an object of the machine.
func (s *schemaText) name(word string) string {
	word = strings.Trim(word, "{}")
	if suffix, is := strings.CutPrefix(word, "M"); is {
		return s.table(suffix)
	}
	return s.object(word)
}

// word returns what a word in capitals stands for.
func (s *schemaText) word(name string, own sqlWords) []string {
	for _, list := range []sqlWords{own, s.words} {
		if word := list[name]; word != nil {
			return word()
		}
	}
	panic("gen: the schema names {" + name + "}, which there is not")
}

// block is a part of the file as a word.
func (s *schemaText) block(name string, own sqlWords) func() []string {
	return func() []string { return s.lines(name, own) }
}

// where returns a word that is there only under a condition.
func where(condition bool, word func() []string) func() []string {
	if condition {
		return word
	}
	return func() []string { return nil }
}

// written returns what f writes, as a word.
func (s *schemaText) written(f func()) func() []string {
	return func() []string {
		before := s.Builder
		s.Builder = &strings.Builder{}
		f()
		text := s.String()
		s.Builder = before
		if text == "" {
			return nil
		}
		return []string{strings.TrimSuffix(text, "\n")}
	}
}

// more returns items of a table behind the one that stands there already.
func more(items []string) []string {
	if len(items) == 0 {
		return nil
	}
	return append([]string{","}, items...)
}

// shared returns the words that both files have.
func (s *schemaText) shared() sqlWords {
	checks := func(part string) func() []string {
		return func() []string {
			if !s.checks() {
				return nil
			}
			return more(s.lines(part, nil))
		}
	}
	return sqlWords{
		"MACHINE": said(s.m.Name), "LEVEL": said(s.enforce), "HASH": said(s.m.Hash), "VERSION": said(fmt.Sprint(s.m.Version)),
		"HEAD": s.written(func() {
			s.comment(fmt.Sprintf("Machine %s, version %d: the records of %s, their event log, outbox and groups.",
				s.m.Name, s.m.Version, s.m.Entity))
			s.comment(s.m.Doc)
		}),
		"RECORDS": s.written(func() {
			about := "One row per " + s.m.Entity + ".\n" + s.stateList()
			s.comment(about)
			s.about("TABLE "+s.table(""), about)
		}),
		"FIELDS": func() (list []string) {
			for _, item := range s.fieldItems() {
				list = append(list, s.itemLines(item, ",")...)
			}
			return list
		},
		"MORE": func() (list []string) {
			items := s.moreItems()
			for i, item := range items {
				end := ","
				if i == len(items)-1 {
					end = ""
				}
				for _, line := range s.itemLines(item, end) {
					list = append(list, "    "+line)
				}
			}
			return more(list)
		},
		"EVENT_CHECKS": checks("event_checks"), "OUTBOX_CHECKS": checks("outbox_checks"),
		"UNIQUE": s.written(s.uniqueIndexes), "INDEXES": s.written(s.indexes), "VIEW": s.written(s.view),
		"PARKING":  where(len(parkings(s.m)) > 0, s.block("parking", nil)),
		"MOVED":    said(s.moved()),
		"FINISHED": said(stateWords(finished(s.m))),
	}
}

// saw notes what a comment of the file says of a table, a column or a constraint.
func (s *schemaText) saw(line string) {
	text := strings.TrimSpace(line)
	if comment, is := strings.CutPrefix(text, "-- "); is {
		s.comments = append(s.comments, comment)
		return
	}
	comment := strings.Join(s.comments, " ")
	s.comments = nil
	if table, is := strings.CutPrefix(text, "CREATE TABLE IF NOT EXISTS "); is {
		s.within = strings.TrimSuffix(table, " (")
		s.about("TABLE "+s.within, comment)
	} else if strings.HasPrefix(line, ")") {
		s.within = ""
	} else if s.within != "" {
		s.aboutItem(s.within, tableItem{comment, text})
	}
}

// ways returns the moves of all operations, as the log has them.
func (s *schemaText) ways(indent string) func() []string {
	return func() []string {
		var ways []string
		for _, mv := range moves(s.m) {
			from := ""
			if mv.from != nil {
				from = mv.from.Stored()
			}
			ways = append(ways, quoteText(mv.operation.Stored()+": "+from+" > "+mv.to.Stored()))
		}
		return []string{wrapList(ways, indent)}
	}
}

// finished returns the states whose records may be purged.
func finished(m *spec.Machine) []*spec.State {
	var list []*spec.State
	for _, st := range m.States {
		if st.Terminal || st.Final {
			list = append(list, st)
		}
	}
	return list
}
