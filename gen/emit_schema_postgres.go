package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// postgresDialect is PostgreSQL from 14 on.
func postgresDialect() sqlDialect {
	return sqlDialect{
		name: "postgres", text: `text COLLATE "C"`, integer: "bigint", boolean: "boolean", time: "timestamptz", document: "json",
		yes: "true", no: "false", computes: true, maxName: 63,
		createView: "CREATE OR REPLACE VIEW", catalog: true, setsInCheck: true, oneCheck: true, sparse: true,
		present:    func(c string) string { return "(json_array_length(" + c + ") > 0)" },
		has:        func(set, item string) string { return "(" + set + "::jsonb ? " + item + ")" },
		covers:     func(set, part string) string { return "(" + set + "::jsonb @> " + part + "::jsonb)" },
		isDocument: func(string) string { return "" }, // the type json says it
		isSet:      func(c string) string { return `"fsm_is_set"(` + c + ")" },
		nulls:      func(c string) []string { return []string{c + " NULLS LAST"} },
		later: func(time, length string) string {
			return "(" + time + " - '1970-01-01 00:00:00+00'::timestamptz + " + length + " * interval '1 microsecond')"
		},
		long:   "::bigint",
		micros: func(time string) string { return "(extract(epoch FROM " + time + ") * 1000000)::bigint" },
		shift:  func(n string) string { return "least(" + n + ", 62)::int" },
		is:     "IS NOT DISTINCT FROM", array: "json_build_array", asText: "::text", length: "char_length",
		older: "current_setting('transaction_isolation') <> 'read committed' OR ",
		plain: func(t *spec.Type, c string) string {
			if t.Kind == spec.KindTime {
				return "(extract(epoch FROM " + c + ") * 1000000)::bigint"
			}
			return c
		},
	}
}

// postgresSchema returns the machine's schema in PostgreSQL.
func postgresSchema(m *spec.Machine, enforce string) []byte {
	return schema(m, enforce, postgresDialect(), (*schemaText).postgresWords)
}

// postgresWords are the words of postgres.schema.sql that say what is the machine's own.
func (s *schemaText) postgresWords() sqlWords {
	hasSets := slices.ContainsFunc(s.m.Fields, func(f *spec.Field) bool { return f.Type.Kind == spec.KindSet })
	ends := len(finished(s.m)) > 0
	removal, purged := "never_deleted", "never_purged"
	if ends {
		removal, purged = "removal", "purged"
	}
	return sqlWords{
		"REFUSALS": where(s.full(), s.block("refusals", nil)),
		"SETS":     where(hasSets && s.checks(), s.block("sets", nil)),
		"COMPUTED": where(len(s.computed()) > 0, s.block("computed", sqlWords{"COLUMNS": s.columns, "WRONG": s.wrong})),
		"CATALOG":  func() []string { return s.abouts },

		"NOTES_OF_MOVES": s.notes(true), "NOTES_OF_REMOVALS": s.notes(false), "SHOWN": s.shown,
		"OR_DELETE": where(len(s.notes(false)()) > 0, said(" OR DELETE")),

		"UNLESS_GUARDED_NEW":  s.block("unless_guarded", sqlWords{"END": said("NEW")}),
		"UNLESS_GUARDED_NULL": s.block("unless_guarded", sqlWords{"END": said("NULL")}),
		"REMOVAL":             s.block(removal, nil), "NEVER_DELETED": s.block("never_deleted", nil), "PURGED": s.block(purged, nil),
		"BEGINS": s.begins(`NEW."_chain" = 0`), // at the commit that of an import is looked for
		"BEGAN":  s.begins(`made_by <> '__import'`),
		"MOVES":  s.postgresMoves, "FIELDS_KEPT": s.postgresKept, "CHANGED_BY": s.changedBy, "WAYS": s.ways("        "),
	}
}

// The SQLSTATEs of what the triggers refuse.
const (
	stateCreation = "FS001"
	stateMove     = "FS002"
	stateTerminal = "FS003"
	stateField    = "FS004"
)

// unless returns the statement that refuses a row, where a condition holds. The message begins with the record's id.
func (s *schemaText) unless(condition, state, message, row string) []string {
	message = strings.ReplaceAll(strings.ReplaceAll(message, "%", "%%"), "'", "''")
	return ifThen(condition, fmt.Sprintf("RAISE EXCEPTION 'fsm: %s: %%%s', quote_literal(%s.\"id\") USING ERRCODE = '%s';",
		s.m.Name, message, row, state))
}

func ifThen(condition, then string) []string {
	return []string{"IF " + condition + " THEN", "    " + then, "END IF;"}
}

// begins refuses a creation in a state in which no operation makes records.
func (s *schemaText) begins(condition string) func() []string {
	first := s.beginnings()
	return where(len(first) > 0, func() []string {
		return s.unless(condition+` AND NEW."state" NOT IN (`+stateWords(first)+")", stateCreation, " begins in "+stateNameList(first), "NEW")
	})
}

// beginnings returns the states in which operations make records.
func (s *schemaText) beginnings() (list []*spec.State) {
	for _, mv := range moves(s.m) {
		if mv.from == nil {
			list = append(list, mv.to)
		}
	}
	return list
}

// postgresMoves refuses the moves that no operation makes.
func (s *schemaText) postgresMoves() (list []string) {
	successors := successors(s.m)
	for _, st := range s.m.States {
		condition := `OLD."state" = ` + quoteText(st.Stored())
		next := successors[st]
		switch {
		case st.Terminal:
			list = append(list, s.unless(condition, stateTerminal, " is in the terminal state "+st.Name+" and never changes", "OLD")...)
		case len(next) == 0:
			list = append(list, s.unless(condition, stateMove, ": no operation leaves the state "+st.Name, "OLD")...)
		default:
			list = append(list, s.unless(condition+` AND NEW."state" NOT IN (`+stateWords(next)+")", stateMove,
				": the state "+st.Name+" leads to "+stateNameList(next)+" only", "OLD")...)
		}
	}
	return list
}

// postgresKept refuses what no step may do to a field.
func (s *schemaText) postgresKept() (list []string) {
	add := func(condition, message string) {
		list = append(list, s.unless(condition, stateField, ": "+message, "OLD")...)
	}
	for _, f := range s.m.Fields {
		col := column(f)
		switch {
		case len(writers(s.m, f)) == 0:
			add(s.differs(f), f.Name+" never changes after the creation")
		case f.Type.Kind == spec.KindCounter:
			message, where := s.lost(f, "", "")
			add(where, message)
		case f.Type.Kind == spec.KindSet && !s.m.Removes(f): // else any member may go
			lacks := fmt.Sprintf("EXISTS (SELECT json_array_elements_text(OLD.%[1]s) EXCEPT SELECT json_array_elements_text(NEW.%[1]s))", col)
			message, where := s.lost(f, lacks, "NEW."+col+"::text")
			add(s.differs(f)+" AND "+where, message)
		}
	}
	for _, f := range s.m.Kept() {
		list = append(list, ifThen("NOT "+s.fact(f, "NEW."),
			fmt.Sprintf("RAISE EXCEPTION 'fsm: %s: %%: a step keeps %%', quote_literal(OLD.\"id\"), %s USING ERRCODE = '%s';",
				s.m.Name, quoteText(f.Text), stateField))...)
	}
	return list
}

// changedBy refuses the change of a field by an operation that may not change it.
func (s *schemaText) changedBy() (list []string) {
	for _, f := range s.m.Fields {
		if ops := writers(s.m, f); len(ops) > 0 {
			list = append(list, s.unless(s.differs(f)+" AND made_by NOT IN ("+operationWordList(ops)+")", stateField,
				": "+f.Name+" is changed by "+operationList(ops)+" only", "NEW")...)
		}
	}
	return list
}

// columns sets the columns that are worked out, and wrong is the condition that one of them is not what it
// should be. The engine writes what they are itself, so that the function runs for others only:
// manual SQL, and older programs.
func (s *schemaText) columns() (list []string) {
	for _, c := range s.computed() {
		list = append(list, "NEW."+quoteName(c.Name)+" := "+c.value("NEW.")+";")
	}
	return list
}

func (s *schemaText) wrong() []string {
	var list []string
	for _, c := range s.computed() {
		list = append(list, "NEW."+quoteName(c.Name)+" IS DISTINCT FROM ("+c.value("NEW.")+")")
	}
	return []string{strings.Join(list, " OR ")}
}

// notes tell picks that a record has left a group, by a move or a removal.
func (s *schemaText) notes(moved bool) func() []string {
	return func() (list []string) {
		for _, p := range parkings(s.m) {
			for i := range p.rules {
				list = append(list, ifThen(p.leaves(s, i, moved), p.leaveNote(s, i))...)
			}
		}
		return list
	}
}

// shown shows a record to all picks again.
func (s *schemaText) shown() (list []string) {
	for _, p := range parkings(s.m) {
		list = append(list, "NEW."+quoteName(p.column())+" := NULL;")
	}
	return list
}

// differs returns the condition that an update changes a field. Values of json
// cannot be compared, their texts can.
func (s *schemaText) differs(f *spec.Field) string {
	cast := ""
	if f.Type.Kind == spec.KindJSON || f.Type.Kind == spec.KindSet {
		cast = "::text"
	}
	col := column(f)
	return fmt.Sprintf("NEW.%s%s IS DISTINCT FROM OLD.%s%s", col, cast, col, cast)
}
