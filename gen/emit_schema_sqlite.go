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
		yes: "1", no: "0", tableEnd: ") STRICT, WITHOUT ROWID;", recordEnd: ") STRICT, WITHOUT ROWID;", outboxEnd: ") STRICT, WITHOUT ROWID;",
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

// sqliteSchema returns the machine's SQLite schema at a level of enforcement.
// Its statements can run again and again; they change nothing that is there.
func sqliteSchema(m *spec.Machine, enforce string) []byte {
	s := &schemaText{m: m, enforce: enforce, d: sqliteDialect()}
	s.header()
	s.comment("", "Times are microseconds since 1970-01-01 UTC; sets are sorted JSON arrays of strings. Level of enforcement: "+enforce+".")
	s.section("tables", "")
	s.metaTable()
	s.recordTable()
	s.eventTable(`"seq" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT`, "the order of the commits; a place is never given again", ") STRICT;")
	s.sideTables()
	s.indexes()
	s.view("CREATE VIEW IF NOT EXISTS")
	s.parkingTriggers()
	s.sqliteUnchained()
	if s.checks() {
		s.section("checks", "What a CHECK cannot say. INSERT OR REPLACE and UPDATE OR REPLACE would delete rows without asking any trigger, so a row that is in the way is refused here.")
		s.sqliteKeepRows()
		s.sqliteSets()
		s.sqliteKeepEvents()
	}
	if s.full() {
		s.section("full", engineAside+" A record moves as the machine says, one revision at a time. The event of a revision is written first, then the row, which is refused without it. (SQLite cannot look at the end of a transaction: an event that is forged without its row is found by the audit, and no row can follow it.)")
		s.sqliteEventMoves()
		s.sqliteCreation()
		s.sqliteChanges()
		s.trigger("delete", "BEFORE DELETE ON "+s.table(""), "", s.raise("a record is never deleted", s.notPurged()))
	}
	s.metaRow("INSERT OR IGNORE INTO", "")
	return []byte(s.String())
}

// sqliteMade notes what this script has made, where it has made the tables: a
// migration by the runtime takes nothing else for the machine's own.
func (s *schemaText) sqliteMade() {
	names := []string{"", "_events", "_outbox", "_groups"}
	for i, suffix := range names {
		names[i] = quoteText(s.m.Name + suffix)
	}
	if s.m.Projection != nil {
		names = append(names, quoteText(viewName(s.m)))
	}
	s.line("")
	s.comment("", "What this script has made: Migrate of another version takes nothing else away.")
	s.line(`CREATE TABLE IF NOT EXISTS "fsm_made" (`)
	s.line(`    "machine" TEXT NOT NULL PRIMARY KEY,`)
	s.line(`    "hash" TEXT NOT NULL,`)
	s.line(`    "schema" TEXT NOT NULL`)
	s.line("%s", s.d.tableEnd)
	s.line(`INSERT OR IGNORE INTO "fsm_made" ("machine", "hash", "schema")`)
	s.line(`SELECT %s, %s, group_concat("sql", ';' || char(10)) || ';' FROM sqlite_master`, quoteText(s.m.Name), quoteText(s.m.Hash))
	s.line(`WHERE "tbl_name" IN (%s)`, strings.Join(names, ", "))
	s.line(`    AND NOT EXISTS (SELECT 1 FROM "fsm_meta" WHERE "machine" = %s);`, quoteText(s.m.Name))
}

// refusal is one statement of a trigger: what is refused and when.
type refusal struct {
	comment string
	message string
	where   []string // all must hold; none: always
}

func (s *schemaText) raise(message, where string) []refusal {
	r := refusal{message: message}
	if where != "" {
		r.where = []string{where}
	}
	return []refusal{r}
}

// trigger writes one trigger of statements that refuse. When, if not empty,
// says when it runs at all.
func (s *schemaText) trigger(name, event, when string, body []refusal) {
	if len(body) == 0 {
		return
	}
	s.line("")
	s.line("CREATE TRIGGER IF NOT EXISTS %s %s", s.object(name), event)
	if when != "" {
		s.line("WHEN %s", when)
	}
	s.line("BEGIN")
	for _, r := range body {
		s.comment("    ", r.comment)
		call := "    SELECT RAISE(ABORT, " + quoteText("fsm: "+s.m.Name+": "+r.message) + ")"
		if len(r.where) == 0 {
			s.line("%s;", call)
			continue
		}
		s.line("%s", call)
		s.line("    WHERE %s;", strings.Join(r.where, "\n      AND "))
	}
	s.line("END;")
}

// sqliteKeepRows refuses an insert or an update that would push another row out.
func (s *schemaText) sqliteKeepRows() {
	t := s.table("")
	taken := func(u uniqueRule, update bool) refusal {
		r := refusal{message: "the unique rule " + u.name + " is taken"}
		var same, inside, moved []string
		for _, f := range u.fields {
			same = append(same, fmt.Sprintf("%s = NEW.%s", column(f), column(f)))
			moved = append(moved, fmt.Sprintf("NEW.%s IS NOT OLD.%s", column(f), column(f)))
		}
		if u.states != nil {
			inside = append(inside, inStates(`"state"`, u.states))
			r.where = append(r.where, inStates(`NEW."state"`, u.states))
			moved = append(moved, `OLD."state" NOT IN (`+stateWords(u.states)+")")
		}
		if update { // the record itself does not count: it is not in the group yet
			r.where = append(r.where, "("+strings.Join(moved, " OR ")+")")
		}
		other := "SELECT 1 FROM " + t
		if conditions := append(same, inside...); len(conditions) > 0 {
			other += " WHERE " + strings.Join(conditions, " AND ")
		}
		r.where = append(r.where, "EXISTS ("+other+")")
		return r
	}
	insert := s.raise("the id is taken", "EXISTS (SELECT 1 FROM "+t+` WHERE "id" = NEW."id")`)
	update := s.raise("the id never changes", `NEW."id" IS NOT OLD."id"`)
	for _, u := range uniqueRules(s.m) {
		insert = append(insert, taken(u, false))
		if len(u.fields) > 0 || u.states != nil { // else no update brings a second record
			update = append(update, taken(u, true))
		}
	}
	s.trigger("insert_keeps", "BEFORE INSERT ON "+t, "", insert)
	s.trigger("update_keeps", "BEFORE "+s.moved()+" ON "+t, "", update)
}

// sqliteSets checks the form of sets and the invariants that look into one. A set
// is looked into when it is another one: a change of a field beside it reads none.
func (s *schemaText) sqliteSets() {
	var insert, update, rules []refusal
	for _, f := range s.m.Fields {
		if f.Type.Kind != spec.KindSet {
			continue
		}
		col := column(f)
		words := "SELECT value FROM json_each(NEW." + col + ")"
		r := refusal{message: f.Name + " is not a sorted set of strings", where: []string{
			"(EXISTS (SELECT 1 FROM json_each(NEW." + col + ") WHERE type <> 'text')\n" +
				"        OR (SELECT json_group_array(value) FROM (" + words + " ORDER BY key))\n" +
				"        IS NOT (SELECT json_group_array(value) FROM (SELECT DISTINCT value FROM (" + words + ") ORDER BY value)))"}}
		insert = append(insert, r)
		r.where = append([]string{s.another(f)}, r.where...)
		update = append(update, r)
	}
	for _, r := range s.stateRules() {
		if r.sets {
			refuse := refusal{message: r.name() + " does not hold"}
			if r.state != nil {
				refuse.where = append(refuse.where, `NEW."state" = `+quoteText(r.state.Stored()))
			}
			refuse.where = append(refuse.where, "NOT ("+r.sql("NEW.")+")")
			rules = append(rules, refuse)
		}
	}
	s.trigger("insert_sets", "BEFORE INSERT ON "+s.table(""), "", append(insert, rules...))
	s.trigger("update_sets", "BEFORE "+s.moved()+" ON "+s.table(""), "", append(update, rules...))
}

// another returns the condition that an update changes a field.
func (s *schemaText) another(f *spec.Field) string {
	return fmt.Sprintf("NEW.%s IS NOT OLD.%s", column(f), column(f))
}

// sqliteKeepEvents makes the log append-only.
func (s *schemaText) sqliteKeepEvents() {
	t := s.table("_events")
	exists := func(where string) string { return "EXISTS (SELECT 1 FROM " + t + " WHERE " + where + ")" }
	s.trigger("events_insert_keeps", "BEFORE INSERT ON "+t, "", []refusal{
		{message: "the event is in the log already", where: []string{exists(`"id" = NEW."id" AND "rev" = NEW."rev" AND "n" = NEW."n"`)}},
		{message: "the place in the log is taken", where: []string{exists(`"seq" = NEW."seq"`)}},
		{message: "the request id stands in the log already", where: []string{exists(`"id" = NEW."id" AND "request_id" = NEW."request_id"`)}},
		{message: "the request id stands in the log already", where: []string{ // in the words of the index
			exists(`"request_id" = NEW."request_id" AND "request_n" = NEW."request_n" AND "request_n" >= 0`)}},
	})
	s.trigger("events_update", "BEFORE UPDATE ON "+t, "", []refusal{{
		message: "the log is append-only: an event never changes",
		where:   []string{neither(s.buries("IS")), neither(s.forgets("IS"))}}})
	s.trigger("events_delete", "BEFORE DELETE ON "+t, "", []refusal{{
		message: "the log is append-only: an event is never deleted",
		where:   []string{neither(s.removes()), neither(s.leaves())}}})
}

// neither returns the condition that not all of the conditions hold.
func neither(conditions []string) string {
	return "NOT (" + strings.Join(conditions, "\n      AND ") + ")"
}

// sqliteEventMoves ties an event to a move of the machine and to the record as
// it is before the move.
func (s *schemaText) sqliteEventMoves() {
	t := s.table("")
	var ways []string
	for _, mv := range moves(s.m) {
		from := ""
		if mv.from != nil {
			from = mv.from.Stored()
		}
		ways = append(ways, quoteText(mv.operation.Stored()+": "+from+" > "+mv.to.Stored()))
	}
	record := func(where string) string {
		return "NOT EXISTS (SELECT 1 FROM " + t + ` WHERE "id" = NEW."id" AND ` + where + ")"
	}
	s.trigger("events_insert", "BEFORE INSERT ON "+s.table("_events"), eventUnchained, []refusal{
		{comment: "A transition is one that an operation makes.",
			message: "no operation makes this move", where: []string{`NEW."n" = 0`,
				`NEW."operation" || ': ' || coalesce(NEW."from_state", '') || ' > ' || NEW."to_state" NOT IN (` + wrapList(ways, "          ") + ")"}},
		{message: "the id is taken", where: []string{`NEW."n" = 0`, `NEW."rev" = 1`, "EXISTS (SELECT 1 FROM " + t + ` WHERE "id" = NEW."id")`}},
		{comment: "It starts at the record's revision and state.",
			message: "the record is not at the revision and state that the event leaves",
			where:   []string{`NEW."n" = 0`, `NEW."rev" > 1`, record(`"rev" = NEW."rev" - 1 AND "state" = NEW."from_state"`)}},
		{comment: "An event that is recorded only stands at the record's revision and state, and has the next number.",
			message: "the record is not at the revision and state of the event",
			where:   []string{`NEW."n" > 0`, record(`"rev" = NEW."rev" AND "state" = NEW."to_state"`)}},
		{message: "only a finished record is purged", where: s.purgesUnfinished()},
		{message: "the log has a gap", where: []string{`NEW."n" > 0`,
			"NOT EXISTS (SELECT 1 FROM " + s.table("_events") + ` WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND "n" = NEW."n" - 1)`}},
	})
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

// eventOf returns the query for the event of the new revision.
func (s *schemaText) eventOf(more string) string {
	return "SELECT 1 FROM " + s.table("_events") + ` AS e WHERE "id" = NEW."id" AND "rev" = NEW."rev" AND ` + more
}

func (s *schemaText) sqliteCreation() {
	states := s.beginnings()
	none := "no record can be made" // the checks refuse such a machine before
	body := s.raise(none, "")
	if len(states) > 0 {
		body = []refusal{
			{message: "a record begins in " + stateNameList(states), where: []string{
				`NEW."state" NOT IN (` + stateWords(states) + ")",
				"NOT EXISTS (" + s.eventOf(`"n" = 0 AND "operation" = '`+imported+`' AND "chain" <> 0`) + ")"}},
			// Only the event of revision 1 comes from nowhere: so does the record.
			{message: "a record needs the event of its creation", where: []string{
				"NOT EXISTS (" + s.eventOf(`"from_state" IS NULL AND "to_state" = NEW."state" AND "operation" <> '`+stub+`' AND `+s.follows("e")) + ")"}},
		}
	}
	s.trigger("insert", "BEFORE INSERT ON "+s.table(""), "", body)
}

// sqliteChanges writes what an update must keep.
func (s *schemaText) sqliteChanges() {
	var body []refusal
	successors := successors(s.m)
	for _, st := range s.m.States {
		r := refusal{where: []string{`OLD."state" = ` + quoteText(st.Stored())}}
		next := successors[st]
		switch {
		case st.Terminal:
			r.message = "a record in the terminal state " + st.Name + " never changes"
		case len(next) == 0:
			r.message = "no operation leaves the state " + st.Name
		default:
			r.message = "the state " + st.Name + " leads to " + stateNameList(next) + " only"
			r.where = append(r.where, `NEW."state" NOT IN (`+stateWords(next)+")")
		}
		body = append(body, r)
	}
	body = append(body,
		refusal{message: "the revision rises by one", where: []string{`NEW."rev" IS NOT OLD."rev" + 1`}},
		refusal{message: "created_at never changes", where: []string{`NEW."created_at" IS NOT OLD."created_at"`}},
		refusal{message: "updated_at never falls", where: []string{`NEW."updated_at" < OLD."updated_at"`}},
		refusal{message: "the new revision needs its event", where: []string{
			"NOT EXISTS (" + s.eventOf(`"n" = 0 AND "from_state" = OLD."state" AND "to_state" = NEW."state" AND `+s.follows("e")) + ")"}})
	for _, f := range s.m.Fields {
		col := column(f)
		changed := s.another(f)
		ops := writers(s.m, f)
		if len(ops) == 0 {
			body = append(body, refusal{message: f.Name + " never changes after the creation", where: []string{changed}})
			continue
		}
		switch f.Type.Kind {
		case spec.KindCounter:
			message, where := s.lost(f, "", "")
			body = append(body, refusal{message: message, where: []string{where}})
		case spec.KindSet:
			if s.m.Removes(f) {
				break // any member may go
			}
			message, where := s.lost(f, fmt.Sprintf("EXISTS (SELECT value FROM json_each(OLD.%[1]s) EXCEPT SELECT value FROM json_each(NEW.%[1]s))", col), "NEW."+col)
			body = append(body, refusal{message: message, where: []string{changed, where}})
		}
		body = append(body, refusal{message: f.Name + " is changed by " + operationList(ops) + " only", where: []string{
			changed, "NOT EXISTS (" + s.eventOf(`"n" = 0 AND "operation" IN (`+operationWordList(ops)+")") + ")"}})
	}
	for _, f := range s.m.Kept() {
		body = append(body, refusal{message: "a step keeps " + f.Text, where: []string{"NOT " + s.fact(f, "NEW.")}})
	}
	s.trigger("update", "BEFORE "+s.moved()+" ON "+s.table(""), chainStands, body)
	s.trigger("chain", "BEFORE UPDATE OF "+quoteName(chainColumn)+" ON "+s.table(""),
		"NEW._chain NOT IN (OLD._chain, 0) AND NEW.rev = OLD.rev", s.raise("the chain moves with the revision only", ""))
}

// sqliteUnchained writes what takes the chain from a row that others than the engine
// change: the engine's next move then looks it up in the log.
func (s *schemaText) sqliteUnchained() {
	s.line("")
	s.line("CREATE TRIGGER IF NOT EXISTS %s AFTER %s ON %s", s.object("unchained"), s.moved(), s.table(""))
	s.line("WHEN %s", chainIdle)
	s.line("BEGIN")
	s.line(`    UPDATE %s SET "_chain" = 0 WHERE "id" = NEW."id";`, s.table(""))
	s.line("END;")
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
