package gen

import (
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// sqliteDialect is SQLite from 3.38 on. Messages of RAISE are plain literals,
// which all of these versions can read.
func sqliteDialect() sqlDialect {
	return sqlDialect{
		name: "sqlite", text: "TEXT", integer: "INTEGER", boolean: "INTEGER", time: "INTEGER", document: "TEXT",
		yes: "1", no: "0", createView: "CREATE VIEW IF NOT EXISTS",
		present: func(c string) string { return "(json_array_length(" + c + ") > 0)" },
		has:     func(set, item string) string { return item + " IN (SELECT value FROM json_each(" + set + "))" },
		// json_valid(NULL) is 0 in older versions (3.40), and a CHECK refuses that.
		isDocument: func(c string) string { return "json_valid(coalesce(" + c + ", 'null'))" },
		isSet:      func(c string) string { return "(json_valid(" + c + ") AND json_type(" + c + ") = 'array')" },
		covers: func(set, part string) string {
			return "NOT EXISTS (SELECT 1 FROM json_each(" + part + ") WHERE value NOT IN (SELECT value FROM json_each(" + set + ")))"
		},
		nulls:  func(c string) []string { return []string{c + " IS NULL", c} },
		later:  func(time, length string) string { return "(" + time + " + " + length + ")" },
		micros: func(time string) string { return time },
		shift:  func(n string) string { return n },
		is:     "IS", array: "json_array", length: "length", plain: func(_ *spec.Type, c string) string { return c },
	}
}

// sqliteSchema returns the machine's schema in SQLite.
func sqliteSchema(m *spec.Machine, enforce string) []byte {
	return schema(m, enforce, sqliteDialect(), (*schemaText).sqliteWords)
}

// sqliteWords are the words of sqlite.schema.sql that say what is the machine's own.
func (s *schemaText) sqliteWords() sqlWords {
	tables := []string{"", "_events", "_outbox", "_groups"}
	for i, suffix := range tables {
		tables[i] = quoteText(s.m.Name + suffix)
	}
	if s.m.Projection != nil {
		tables = append(tables, quoteText(viewName(s.m)))
	}
	first := s.beginnings()
	creation := "creation"
	if len(first) == 0 {
		creation = "no_creation" // the checks refuse such a machine before
	}
	ends := finished(s.m)
	return sqlWords{
		"TABLES": said(strings.Join(tables, ", ")),
		"PARKED": s.parked, "SHOWN": s.shownAgain, "NOTES": s.sqliteNotes,
		"TAKEN_BY_INSERT": s.taken(false), "TAKEN_BY_UPDATE": s.taken(true), "SETS": s.sqliteSets,
		"WAYS":       s.ways("          "),
		"UNFINISHED": where(len(ends) > 0, said("\n      AND NEW.\"to_state\" NOT IN ("+stateWords(ends)+")")),
		"CREATION":   s.block(creation, nil), "BEGINNINGS": said(stateWords(first)), "BEGINNING_NAMES": said(stateNameList(first)),
		"REMOVAL": where(len(ends) > 0, s.block("removal", nil)),
		"MOVES":   s.sqliteMoves, "FIELDS_KEPT": s.sqliteKept,
	}
}

// refuse returns the statement that refuses where all conditions hold.
func (s *schemaText) refuse(message string, where ...string) []string {
	return []string{
		"SELECT RAISE(ABORT, " + quoteText("fsm: "+s.m.Name+": "+message) + ")",
		"WHERE " + strings.Join(where, "\n      AND ") + ";",
	}
}

// parked is the condition that a pick has parked a row, and shownAgain shows it to all of them.
func (s *schemaText) parked() []string {
	var list []string
	for _, p := range parkings(s.m) {
		list = append(list, "OLD."+quoteName(p.column())+" IS NOT NULL")
	}
	return []string{strings.Join(list, " OR ")}
}

func (s *schemaText) shownAgain() []string {
	var list []string
	for _, p := range parkings(s.m) {
		list = append(list, quoteName(p.column())+" = NULL")
	}
	return []string{strings.Join(list, ", ")}
}

// sqliteNotes tell picks that a record has left a group.
func (s *schemaText) sqliteNotes() (list []string) {
	for _, p := range parkings(s.m) {
		for i, r := range p.rules {
			for _, on := range []struct {
				event, name string
				moved       bool
			}{{s.moved(), "moved", true}, {"DELETE", "gone", false}} {
				list = append(list, s.lines("note", sqlWords{"NAME": said(s.object("parked", p.op.Name, r.name, on.name)),
					"EVENT": said(on.event), "LEAVES": said(p.leaves(s, i, on.moved)), "NOTE": said(p.leaveNote(s, i))})...)
			}
		}
	}
	return list
}

// taken refuses an insert or an update that would push another row out.
func (s *schemaText) taken(update bool) func() []string {
	return func() (list []string) {
		for _, u := range uniqueRules(s.m) {
			var where, same, moved []string
			for _, f := range u.fields {
				same = append(same, fmt.Sprintf("%s = NEW.%s", column(f), column(f)))
				moved = append(moved, s.another(f))
			}
			if u.states != nil {
				same = append(same, inStates(`"state"`, u.states))
				where = append(where, inStates(`NEW."state"`, u.states))
				moved = append(moved, `OLD."state" NOT IN (`+stateWords(u.states)+")")
			}
			if update { // the record itself does not count: it is not in the group yet
				if len(moved) == 0 { // no update brings a second record
					continue
				}
				where = append(where, "("+strings.Join(moved, " OR ")+")")
			}
			other := "SELECT 1 FROM " + s.table("")
			if len(same) > 0 {
				other += " WHERE " + strings.Join(same, " AND ")
			}
			list = append(list, s.refuse("the unique rule "+u.name+" is taken", append(where, "EXISTS ("+other+")")...)...)
		}
		return list
	}
}

// sqliteMoves refuses the moves that no operation makes.
func (s *schemaText) sqliteMoves() (list []string) {
	successors := successors(s.m)
	for _, st := range s.m.States {
		here := `OLD."state" = ` + quoteText(st.Stored())
		next := successors[st]
		switch {
		case st.Terminal:
			list = append(list, s.refuse("a record in the terminal state "+st.Name+" never changes", here)...)
		case len(next) == 0:
			list = append(list, s.refuse("no operation leaves the state "+st.Name, here)...)
		default:
			list = append(list, s.refuse("the state "+st.Name+" leads to "+stateNameList(next)+" only",
				here, `NEW."state" NOT IN (`+stateWords(next)+")")...)
		}
	}
	return list
}

// sqliteKept refuses what no step may do to a field.
func (s *schemaText) sqliteKept() (list []string) {
	add := func(message string, where ...string) { list = append(list, s.refuse(message, where...)...) }
	for _, f := range s.m.Fields {
		col := column(f)
		ops := writers(s.m, f)
		switch {
		case len(ops) == 0:
			add(f.Name+" never changes after the creation", s.another(f))
			continue
		case f.Type.Kind == spec.KindCounter:
			message, where := s.lost(f, "", "")
			add(message, where)
		case f.Type.Kind == spec.KindSet && !s.m.Removes(f): // else any member may go
			lacks := fmt.Sprintf("EXISTS (SELECT value FROM json_each(OLD.%[1]s) EXCEPT SELECT value FROM json_each(NEW.%[1]s))", col)
			message, where := s.lost(f, lacks, "NEW."+col)
			add(message, s.another(f), where)
		}
		add(f.Name+" is changed by "+operationList(ops)+" only", s.another(f),
			"NOT EXISTS (SELECT 1 FROM "+s.table("_events")+` AS e WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = 0`+
				` AND "operation" IN (`+operationWordList(ops)+"))")
	}
	for _, f := range s.m.Kept() {
		add("a step keeps "+f.Text, "NOT "+s.fact(f, "NEW."))
	}
	return list
}

// sqliteSets checks the form of sets and the invariants that look into one. A set
// is looked into when it is another one: a change of a field beside it reads none.
func (s *schemaText) sqliteSets() []string {
	var insert, update, rules []string
	for _, f := range s.m.Fields {
		if f.Type.Kind != spec.KindSet {
			continue
		}
		col := column(f)
		words := "SELECT value FROM json_each(NEW." + col + ")"
		const message = " is not a sorted set of strings"
		wrong := "(EXISTS (SELECT 1 FROM json_each(NEW." + col + ") WHERE type <> 'text')\n" +
			"        OR (SELECT json_group_array(value) FROM (" + words + " ORDER BY key))\n" +
			"        IS NOT (SELECT json_group_array(value) FROM (SELECT DISTINCT value FROM (" + words + ") ORDER BY value)))"
		insert = append(insert, s.refuse(f.Name+message, wrong)...)
		update = append(update, s.refuse(f.Name+message, s.another(f), wrong)...)
	}
	for _, r := range s.stateRules() {
		if r.sets {
			where := []string{"NOT (" + r.sql("NEW.") + ")"}
			if r.state != nil {
				where = []string{`NEW."state" = ` + quoteText(r.state.Stored()), where[0]}
			}
			rules = append(rules, s.refuse(r.name()+" does not hold", where...)...)
		}
	}
	if len(insert) == 0 { // then no rule looks into one
		return nil
	}
	return s.lines("sets", sqlWords{
		"OF_INSERT": func() []string { return append(insert, rules...) },
		"OF_UPDATE": func() []string { return append(update, rules...) },
	})
}

// another returns the condition that an update changes a field.
func (s *schemaText) another(f *spec.Field) string {
	return fmt.Sprintf("NEW.%s IS NOT OLD.%s", column(f), column(f))
}

// wrapList joins SQL words over lines of readable length.
func wrapList(words []string, indent string) string {
	var b strings.Builder
	width := 0
	for i, w := range words {
		if i > 0 {
			b.WriteByte(',')
		}
		if i == 0 || width+len(w) > 90 {
			b.WriteString("\n" + indent)
			width = 0
		} else {
			b.WriteByte(' ')
		}
		b.WriteString(w)
		width += len(w) + 2
	}
	return b.String()
}

func stateNameList(states []*spec.State) string {
	names := make([]string, len(states))
	for i, st := range states {
		names[i] = st.Name
	}
	return strings.Join(names, ", ")
}

func operationList(ops []*spec.Operation) string {
	names := make([]string, len(ops))
	for i, o := range ops {
		names[i] = o.Name
	}
	return strings.Join(names, ", ")
}

func operationWordList(ops []*spec.Operation) string {
	words := make([]string, len(ops))
	for i, o := range ops {
		words[i] = quoteText(o.Stored())
	}
	return strings.Join(words, ", ")
}
