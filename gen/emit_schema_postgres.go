package gen

import (
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// postgresDialect is PostgreSQL from 14 on.
func postgresDialect() sqlDialect {
	return sqlDialect{
		name: "postgres", text: `text COLLATE "C"`, integer: "bigint", boolean: "boolean", time: "timestamptz", document: "json",
		yes: "true", no: "false", computes: true, maxName: 63,
		tableEnd: ");", recordEnd: ") WITH (fillfactor = 70, " + vacuum + ");", outboxEnd: ") WITH (" + vacuum + ");",
		catalog: true, setsInCheck: true, oneCheck: true, sparse: true,
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

// vacuum lets autovacuum come to a table whose rows change often when one row in fifty is dead: its own
// setting is one in five. The log only grows, and is vacuumed by what was inserted.
const vacuum = "autovacuum_vacuum_scale_factor = 0.02"

// The SQLSTATEs of what the triggers refuse.
const (
	stateCreation = "FS001"
	stateMove     = "FS002"
	stateTerminal = "FS003"
	stateField    = "FS004"
	stateLog      = "FS005"
	stateRemoval  = "FS006"
)

// postgresSchema returns the machine's PostgreSQL schema at a level of
// enforcement. Its statements can run again and again.
func postgresSchema(m *spec.Machine, enforce string) []byte {
	s := &schemaText{m: m, enforce: enforce, d: postgresDialect()}
	s.header()
	s.comment("", "Sets are sorted JSON arrays of strings. Level of enforcement: "+enforce+".")
	if s.full() {
		s.line("--")
		s.line("-- SQLSTATE of a refusal: %s a creation, %s a move, %s a terminal record,", stateCreation, stateMove, stateTerminal)
		s.line("-- %s a field, %s revision and event, %s a removal.", stateField, stateLog, stateRemoval)
	}
	s.section("tables", "")
	s.metaTable()
	s.postgresSet()
	s.recordTable()
	s.eventTable(`"xid" xid8 NOT NULL DEFAULT pg_current_xact_id()`, "the transaction, or a later one that the record's event before has: readers of the log follow it below the oldest one that is open", ");")
	s.line("-- the log of all records, in its order")
	s.line("CREATE INDEX IF NOT EXISTS %s ON %s (\"xid\", \"id\", \"rev\", \"n\");", s.object("events", "log"), s.table("_events"))
	s.sideTables()
	s.indexes()
	s.view("CREATE OR REPLACE VIEW")
	s.parkingTriggers()
	s.keepComputed()
	s.postgresUnchained()
	s.catalogComments()
	if s.checks() {
		s.section("checks", "The log is append-only.")
		s.function("events_keep", nil, s.postgresKeepEvents())
		s.onTable("events_keep", "BEFORE UPDATE OR DELETE ON "+s.table("_events"), "ROW", "events_keep")
		s.onTable("events_truncate", "BEFORE TRUNCATE ON "+s.table("_events"), "STATEMENT", "events_keep")
		s.pinned("events_keep")
	}
	if s.full() {
		s.section("full", engineAside+" A record moves as the machine says, one revision at a time. At the commit every revision has its event and every event its revision, in whatever order they were written.")
		s.postgresGuard()
		s.postgresRowHasEvent()
		s.postgresEventHasRow()
		s.function("keep", nil, []string{s.refuse(stateRemoval, "records are never removed: %s", "lower(TG_OP)")})
		s.onTable("truncate", "BEFORE TRUNCATE ON "+s.table(""), "STATEMENT", "keep")
		s.pinned("guard", "has_event", "events_has_row")
	}
	s.metaRow("INSERT INTO", "\nON CONFLICT (\"machine\") DO NOTHING")
	return []byte(s.String())
}

// postgresSet writes the function that knows the form of a set; a CHECK may
// not look into one itself.
func (s *schemaText) postgresSet() {
	used := false
	for _, f := range s.m.Fields {
		used = used || f.Type.Kind == spec.KindSet
	}
	if !used || !s.checks() {
		return
	}
	s.line("")
	s.comment("", "A set is an array of strings, sorted bytewise, each once.")
	// One pass in plpgsql, whose plan a session keeps; a function in SQL is planned
	// for each statement, and a window over the members costs three times as much.
	s.line(`CREATE OR REPLACE FUNCTION "fsm_is_set"(items json) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $fsm$
DECLARE
    word text;
    prior text;
BEGIN
    IF json_typeof(items) <> 'array' OR jsonb_path_exists(items::jsonb, 'strict $[*] ? (@.type() <> "string")') THEN
        RETURN false;
    END IF;
    FOR word IN SELECT json_array_elements_text(items) LOOP
        IF word COLLATE "C" <= prior COLLATE "C" THEN
            RETURN false;
        END IF;
        prior := word;
    END LOOP;
    RETURN true;
END
$fsm$;`)
}

// refuse returns the statement that refuses. Each %s of the message stands for
// one of the values, which are SQL; the record's id comes first by itself where
// there is one.
func (s *schemaText) refuse(state, message string, values ...string) string {
	parts := strings.Split(message, "%s")
	for i := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(parts[i], "%", "%%"), "'", "''")
	}
	text := "RAISE EXCEPTION 'fsm: " + s.m.Name + ": " + strings.Join(parts, "%") + "'"
	for _, v := range values {
		text += ", " + v
	}
	return text + " USING ERRCODE = '" + state + "';"
}

// function writes a trigger function of plain statements.
func (s *schemaText) function(name string, declare, body []string) {
	s.line("")
	s.line("CREATE OR REPLACE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql AS $fsm$", s.object(name))
	if len(declare) > 0 {
		s.line("DECLARE")
		for _, d := range declare {
			s.line("    %s", d)
		}
	}
	s.line("BEGIN")
	for _, line := range body {
		s.line("    %s", line)
	}
	s.line("END")
	s.line("$fsm$;")
}

// pinned writes what makes functions look into the schema that they are made in,
// whatever the search_path of the session or its temporary tables.
func (s *schemaText) pinned(names ...string) {
	s.line("")
	s.line("-- They look into this schema, whatever the search_path of a session.")
	s.line("DO $fsm$")
	s.line("BEGIN")
	for _, name := range names {
		s.line("    EXECUTE format('ALTER FUNCTION %%1$I.%s() SET search_path = %%1$I, pg_temp', current_schema());", s.object(name))
	}
	s.line("END")
	s.line("$fsm$;")
}

// onTable ties a function to an event; when, if any, says when it runs at all.
func (s *schemaText) onTable(name, event, each, function string, when ...string) {
	s.line("CREATE OR REPLACE TRIGGER %s %s", s.object(name), event)
	s.line("    FOR EACH %s%s EXECUTE FUNCTION %s();", each, whenClause(when), s.object(function))
}

// atCommit ties a function to the end of the transaction.
func (s *schemaText) atCommit(name, event, table, function string, when ...string) {
	s.line("DROP TRIGGER IF EXISTS %s ON %s;", s.object(name), table)
	s.line("CREATE CONSTRAINT TRIGGER %s %s ON %s DEFERRABLE INITIALLY DEFERRED", s.object(name), event, table)
	s.line("    FOR EACH ROW%s EXECUTE FUNCTION %s();", whenClause(when), s.object(function))
}

func whenClause(when []string) string {
	if len(when) == 0 {
		return ""
	}
	return " WHEN (" + when[0] + ")"
}

// postgresUnchained writes what takes the chain from a row that others than the engine
// change: the engine's next move then looks it up in the log.
func (s *schemaText) postgresUnchained() {
	s.function("unchained", nil, []string{"NEW." + quoteName(chainColumn) + " := 0;", "RETURN NEW;"})
	s.onTable("unchained", "BEFORE UPDATE ON "+s.table(""), "ROW", "unchained", chainIdle)
}

// The conditions that the engine itself repairs or redacts in this transaction: it has
// put the transaction's number into a setting that ends with it, so that no setting of
// a session, and none that a pooler carries on, ever fits; and it owns the tables, so
// that it could drop the triggers as well.
func (s *schemaText) unguarded() []string {
	return []string{
		`current_setting('fsm.unguarded', true) = pg_current_xact_id_if_assigned()::text || ` + quoteText(" "+s.m.Name),
		`pg_has_role(current_user, (SELECT c.relowner FROM pg_class AS c WHERE c.oid = TG_RELID), 'USAGE')`,
	}
}

// unlessGuarded ends a trigger function in such a transaction. The first condition alone
// is what every other one pays for.
func (s *schemaText) unlessGuarded(end string) []string {
	ours := s.unguarded()
	inner := ifThen("    ", ours[1], end)
	return append(append([]string{"IF " + ours[0] + " THEN"}, inner...), "END IF;")
}

func ifThen(indent, condition, refusal string) []string {
	return []string{indent + "IF " + condition + " THEN", indent + "    " + refusal, indent + "END IF;"}
}

// postgresGuard writes what one change of one row must keep.
func (s *schemaText) postgresGuard() {
	var body []string
	add := func(indent, condition, state, message string, values ...string) {
		body = append(body, ifThen(indent, condition, s.refuse(state, message, values...))...)
	}
	const old = `quote_literal(OLD."id")`
	body = append(body, "IF TG_OP = 'DELETE' THEN")
	if condition := s.notPurged(); condition == "" {
		body = append(body, "    "+s.refuse(stateRemoval, "%s is never deleted", old))
	} else {
		add("    ", condition, stateRemoval, "%s is never deleted", old)
	}
	body = append(body, "    RETURN OLD;", "END IF;")
	body = append(body, s.unlessGuarded("RETURN NEW;")...)
	body = append(body, "IF TG_OP = 'INSERT' THEN")
	if first := s.beginnings(); len(first) > 0 { // at the commit that of an import is looked for
		add("    ", `NEW."`+chainColumn+`" = 0 AND NEW."state" NOT IN (`+stateWords(first)+")",
			stateCreation, beginsIn+stateNameList(first), `quote_literal(NEW."id")`)
	}
	add("    ", `NEW."rev" <> 1`, stateCreation, "%s begins at revision 1", `quote_literal(NEW."id")`)
	body = append(body, "    RETURN NEW;", "END IF;")
	successors := successors(s.m)
	for _, st := range s.m.States {
		condition := `OLD."state" = ` + quoteText(st.Stored())
		next := successors[st]
		switch {
		case st.Terminal:
			add("", condition, stateTerminal, "%s is in the terminal state "+st.Name+" and never changes", old)
		case len(next) == 0:
			add("", condition, stateMove, "%s: no operation leaves the state "+st.Name, old)
		default:
			add("", condition+` AND NEW."state" NOT IN (`+stateWords(next)+")", stateMove,
				"%s: the state "+st.Name+" leads to "+stateNameList(next)+" only", old)
		}
	}
	add("", `NEW."id" <> OLD."id"`, stateField, "%s: the id never changes", old)
	add("", `NEW."rev" <> OLD."rev" + 1`, stateLog, "%s: the revision rises by one", old)
	add("", `NEW."created_at" <> OLD."created_at"`, stateField, "%s: created_at never changes", old)
	add("", `NEW."updated_at" < OLD."updated_at"`, stateField, "%s: updated_at never falls", old)
	for _, f := range s.m.Fields {
		col := column(f)
		switch {
		case len(writers(s.m, f)) == 0:
			add("", s.differs(f), stateField, "%s: "+f.Name+" never changes after the creation", old)
		case f.Type.Kind == spec.KindCounter:
			message, where := s.lost(f, "", "")
			add("", where, stateField, "%s: "+message, old)
		case f.Type.Kind == spec.KindSet && !s.m.Removes(f): // else any member may go
			lacks := fmt.Sprintf("EXISTS (SELECT json_array_elements_text(OLD.%[1]s) EXCEPT SELECT json_array_elements_text(NEW.%[1]s))", col)
			message, where := s.lost(f, lacks, "NEW."+col+"::text")
			add("", s.differs(f)+" AND "+where, stateField, "%s: "+message, old)
		}
	}
	for _, f := range s.m.Kept() {
		add("", "NOT "+s.fact(f, "NEW."), stateField, "%s: a step keeps %s", old, quoteText(f.Text))
	}
	body = append(body, "RETURN NEW;")
	s.function("guard", nil, body)
	s.onTable("guard", "BEFORE "+s.moved()+", "+quoteName(chainColumn)+" ON "+s.table(""), "ROW", "guard", chainStands)
	s.onTable("created", "BEFORE INSERT ON "+s.table(""), "ROW", "guard", chainBegins) // what has a chain is judged at the commit
	s.onTable("removed", "BEFORE DELETE ON "+s.table(""), "ROW", "guard")
}

const beginsIn = "%s begins in "

// beginnings returns the states in which operations make records.
func (s *schemaText) beginnings() (list []*spec.State) {
	for _, mv := range moves(s.m) {
		if mv.from == nil {
			list = append(list, mv.to)
		}
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

// postgresRowHasEvent looks at the commit for the event of each new revision,
// and whether its operation may change what changed.
func (s *schemaText) postgresRowHasEvent() {
	const id = `quote_literal(NEW."id")`
	body := s.unlessGuarded("RETURN NULL;")
	look := func(indent, from, chain string) {
		for _, line := range []string{
			`SELECT e."operation" INTO made_by FROM ` + s.table("_events") + " AS e",
			`WHERE e."id" = NEW."id" AND e."rev" = NEW."rev" AND e."n" = 0`,
			`  AND e."from_state" ` + from + ` AND e."to_state" = NEW."state" AND e."operation" <> '` + stub + `'`,
			"  AND " + chain + ";",
		} {
			body = append(body, indent+line)
		}
		body = append(body, ifThen(indent, "NOT FOUND", s.refuse(stateLog, "%s: revision %s has no event", id, `NEW."rev"`))...)
	}
	body = append(body, "IF TG_OP = 'INSERT' THEN")
	look("    ", "IS NULL", `(e."chain" = 0 OR e."chain" = e."checksum")`) // which begins the chain
	if first := s.beginnings(); len(first) > 0 {
		body = append(body, ifThen("    ", `made_by <> '`+imported+`' AND NEW."state" NOT IN (`+stateWords(first)+")",
			s.refuse(stateCreation, beginsIn+stateNameList(first), id))...)
	}
	body = append(body, "    RETURN NULL;", "END IF;")
	look("", `= OLD."state"`, s.follows("e"))
	for _, f := range s.m.Fields {
		if ops := writers(s.m, f); len(ops) > 0 {
			body = append(body, ifThen("", s.differs(f)+" AND made_by NOT IN ("+operationWordList(ops)+")",
				s.refuse(stateField, "%s: "+f.Name+" is changed by "+operationList(ops)+" only", id))...)
		}
	}
	body = append(body, "RETURN NULL;")
	s.function("has_event", []string{`made_by text COLLATE "C";`}, body)
	s.atCommit("has_event", "AFTER "+s.moved(), s.table(""), "has_event", chainStands)
	s.atCommit("created_has_event", "AFTER INSERT", s.table(""), "has_event")
}

// postgresEventHasRow looks at the commit whether an event is a move of the
// machine, follows the one before it, and is that of its record. Of several
// events of a record in one transaction only the last one looks for the row,
// which has a dead version for each of them by then: where a later one stands in
// the log, that one's row is this one's too, unless it was purged, which the mark
// at its last revision tells.
func (s *schemaText) postgresEventHasRow() {
	const id = `quote_literal(NEW."id")`
	log := s.table("_events")
	var ways []string
	for _, mv := range moves(s.m) {
		from := ""
		if mv.from != nil {
			from = mv.from.Stored()
		}
		ways = append(ways, quoteText(mv.operation.Stored()+": "+from+" > "+mv.to.Stored()))
	}
	body := s.unlessGuarded("RETURN NULL;")
	add := func(indent, condition, message string, values ...string) {
		body = append(body, ifThen(indent, condition, s.refuse(stateLog, message, values...))...)
	}
	const noRow = "%s has no revision %s"
	row := `EXISTS (SELECT 1 FROM ` + s.table("") + ` AS r WHERE r."id" = NEW."id" AND r."rev" >= NEW."rev")`
	body = append(body, `IF NEW."n" > 0 THEN`)
	if states := finished(s.m); len(states) > 0 {
		body = append(body, `    IF NEW."operation" = '`+markPurge+`' THEN`)
		add("        ", `EXISTS (SELECT 1 FROM `+s.table("")+` AS r WHERE r."id" = NEW."id" AND (r."rev" <> NEW."rev" OR r."state" NOT IN (`+stateWords(states)+`)))
            OR NOT EXISTS (SELECT 1 FROM `+log+` AS e WHERE e."id" = NEW."id" AND e."rev" = 1 AND e."n" = 0)`,
			"%s is not finished and cannot be purged", id)
		body = append(body, "        RETURN NULL;", "    END IF;")
	} else {
		add("    ", `NEW."operation" = '`+markPurge+`'`, "%s is not finished and cannot be purged", id)
	}
	add("    ", "NOT "+row, noRow, id, `NEW."rev"`)
	add("    ", `NOT EXISTS (SELECT 1 FROM `+log+` AS e WHERE e."id" = NEW."id" AND e."rev" = NEW."rev" AND e."n" = NEW."n" - 1 AND e."to_state" = NEW."to_state")`,
		"%s: the log of revision %s has a gap", id, `NEW."rev"`)
	body = append(body, "    RETURN NULL;", "END IF;")
	add("", `NEW."operation" || ': ' || coalesce(NEW."from_state", '') || ' > ' || NEW."to_state" NOT IN (`+wrapList(ways, "        ")+")",
		"%s: %s makes no move from %s to %s", id, `NEW."operation"`, `coalesce(NEW."from_state", 'nothing')`, `NEW."to_state"`)
	body = append(body,
		`IF NEW."rev" > 1 THEN`,
		`    IF EXISTS (SELECT 1 FROM `+log+` AS e`,
		`        WHERE e."id" = NEW."id" AND e."rev" = NEW."rev" - 1 AND e."n" = 0 AND e."to_state" = NEW."from_state"`,
		`          AND (e."xid" = NEW."xid" AND EXISTS (SELECT 1 FROM (SELECT max(l."rev") AS "rev" FROM `+log+` AS l WHERE l."id" = NEW."id") AS newest`,
		`                WHERE newest."rev" > NEW."rev" AND NOT EXISTS (SELECT 1 FROM `+log+` AS p`,
		`                    WHERE p."id" = NEW."id" AND p."rev" = newest."rev" AND p."operation" IN ('`+markPurge+`', '`+forgotten+`')))`,
		`            OR `+row+`)) THEN`,
		`        RETURN NULL;`,
		`    END IF;`,
		`END IF;`)
	add("", "NOT "+row, noRow, id, `NEW."rev"`)
	add("", `NEW."rev" > 1`, "%s: the event of revision %s does not follow the one before it", id, `NEW."rev"`)
	body = append(body, "RETURN NULL;")
	s.function("events_has_row", nil, body)
	s.atCommit("events_has_row", "AFTER INSERT", log, "events_has_row", eventUnchained+" OR NEW.xid <> pg_current_xact_id()")
}
