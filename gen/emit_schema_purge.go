package gen

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// A record is removed in one way only: the log says so (the mark, an event that
// is recorded only), then the row goes, then the events that nothing needs any
// more. What stays is the mark and, emptied, the events that keep the id and the
// requests of the machine from being used again.
const (
	markPurge = "__purge"  // operation of the mark
	stub      = "__purged" // operation of an event that was emptied
	forgotten = "__forget" // operation of the mark once the rest of the log goes, too
)

// imported is the operation of the event by which a record enters in any state. Nobody
// writes it by hand: the triggers of events refuse it where it has no chain.
const imported = "__import"

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

// marked returns the condition that the log of a record ends with the mark, and
// more of that end. It is one look at the end of an index: asked at each event of
// a log, a search for the mark would cost the square of the log's length.
func (s *schemaText) marked(id, more string) string { return s.endsWith(id, markPurge, more) }

// endsWith returns the condition that a log ends with an event of the operation
// that is recorded only.
func (s *schemaText) endsWith(id, operation, more string) string {
	return `EXISTS (SELECT 1 FROM (SELECT p."operation", p."rev", p."n" FROM ` + s.table("_events") + ` AS p WHERE p."id" = ` + id +
		` ORDER BY p."rev" DESC, p."n" DESC LIMIT 1) AS newest WHERE newest."operation" = '` + operation + `' AND newest."n" > 0` + more + ")"
}

// notPurged returns the condition under which a row must not be deleted; empty:
// always.
func (s *schemaText) notPurged() string {
	states := finished(s.m)
	if len(states) == 0 {
		return ""
	}
	return `OLD."state" NOT IN (` + stateWords(states) + ") OR NOT " + s.marked(`OLD."id"`, ` AND newest."rev" = OLD."rev"`)
}

// purgesUnfinished returns the conditions of a mark on a record that is not
// finished. A mark that is no call recorded only is refused as a move that no
// operation makes.
func (s *schemaText) purgesUnfinished() []string {
	where := []string{`NEW."operation" = '` + markPurge + `'`}
	if states := finished(s.m); len(states) > 0 {
		where = append(where, `NEW."to_state" NOT IN (`+stateWords(states)+")")
	}
	return where
}

// gone are the conditions that an event's record was purged and that the event
// is not the mark.
func (s *schemaText) gone() []string {
	return []string{
		`OLD."operation" <> '` + markPurge + `'`,
		s.marked(`OLD."id"`, ""),
		s.rowless(),
	}
}

// removes are the conditions under which an event may be deleted.
func (s *schemaText) removes() []string {
	return append(s.gone(), `OLD."request_n" < 0`, `NOT (OLD."rev" = 1 AND OLD."n" = 0)`)
}

// forgets are the conditions under which the mark says that what is left of the log
// goes: it is what the log ends with, and nothing else of it changes.
func (s *schemaText) forgets(same string) []string {
	where := []string{
		`NEW."operation" = '` + forgotten + `'`,
		`OLD."operation" = '` + markPurge + `'`,
		s.marked(`OLD."id"`, ` AND newest."rev" = OLD."rev" AND newest."n" = OLD."n"`),
		s.rowless(),
	}
	columns := []string{"id", "rev", "n", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "version", "checksum", "chain"}
	for _, c := range append(columns, s.placeColumn()) {
		where = append(where, "NEW."+quoteName(c)+" "+same+" OLD."+quoteName(c))
	}
	return where
}

// leaves are the conditions under which an event of such a log may be deleted: the
// mark is the last one to go.
func (s *schemaText) leaves() []string {
	return []string{
		s.endsWith(`OLD."id"`, forgotten, ` AND (OLD."operation" <> '`+forgotten+`'
          OR NOT EXISTS (SELECT 1 FROM `+s.table("_events")+` AS o WHERE o."id" = OLD."id" AND (o."rev" <> OLD."rev" OR o."n" <> OLD."n")))`),
		s.rowless(),
	}
}

// rowless is the condition that an event's record is gone.
func (s *schemaText) rowless() string {
	return "NOT EXISTS (SELECT 1 FROM " + s.table("") + ` AS r WHERE r."id" = OLD."id")`
}

// placeColumn is the column that gives an event its place in the log of all records.
func (s *schemaText) placeColumn() string {
	if s.d.name == "sqlite" {
		return "seq"
	}
	return "xid"
}

// buries are the conditions under which an event may be emptied. same is the
// operator that takes two absent values for equal.
func (s *schemaText) buries(same string) []string {
	kept := []string{"id", "rev", "n", "from_state", "to_state", "request_id", "request_n", "fingerprint", "version"}
	kept = append(kept, s.placeColumn())
	where := append(s.gone(), `NEW."operation" = '`+stub+`'`, `NEW."name" = '`+stub+`'`, `NEW."actor" = ''`, `NEW."reason" = ''`)
	for _, c := range kept {
		where = append(where, "NEW."+quoteName(c)+" "+same+" OLD."+quoteName(c))
	}
	for _, c := range []string{"labels", "inputs", "changes", "image", "cause", "guard"} {
		where = append(where, "NEW."+quoteName(c)+" IS NULL")
	}
	return slices.Clip(where)
}

// postgresKeepEvents is the body of the function that keeps the log.
func (s *schemaText) postgresKeepEvents() []string {
	allow := func(op, row string, shapes ...[]string) []string {
		lines := []string{"IF TG_OP = '" + op + "' THEN"}
		for _, conditions := range shapes {
			lines = append(lines, "    IF "+conditions[0])
			for _, c := range conditions[1:] {
				lines = append(lines, "        AND "+c)
			}
			lines[len(lines)-1] += " THEN"
			lines = append(lines, "        RETURN "+row+";", "    END IF;")
		}
		return append(lines, "END IF;")
	}
	const same = "IS NOT DISTINCT FROM"
	body := append(allow("DELETE", "OLD", s.removes(), s.leaves()),
		allow("UPDATE", "NEW", s.buries(same), s.forgets(same), s.unguarded())...)
	return append(body, s.refuse(stateRemoval, "the log is append-only: "+"%s", "lower(TG_OP)"))
}
