package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// metaTable writes the table that tells a program which specification the
// database was made for.
func (s *schemaText) metaTable() {
	s.line("")
	s.begin(`"fsm_meta"`, "Which specification each machine's tables were made for.")
	s.line("    \"machine\" %s NOT NULL PRIMARY KEY,", s.d.text)
	s.line("    \"version\" %s NOT NULL,", s.d.integer)
	s.line("    \"hash\" %s NOT NULL,", s.d.text)
	s.line("    \"enforce\" %s NOT NULL,", s.d.text)
	s.line("    \"dialect\" %s NOT NULL", s.d.text)
	s.line("%s", s.d.tableEnd)
}

// metaRow notes the specification. A row that is there stays: tables that are
// there stay too.
func (s *schemaText) metaRow(insert, conflict string) {
	s.section("meta", "")
	if s.d.name == "sqlite" {
		s.sqliteMade()
	}
	s.line("")
	s.line("%s \"fsm_meta\" (\"machine\", \"version\", \"hash\", \"enforce\", \"dialect\")", insert)
	s.line("VALUES (%s, %d, %s, %s, %s)%s;", quoteText(s.m.Name), s.m.Version, quoteText(s.m.Hash),
		quoteText(s.enforce), quoteText(s.d.name), conflict)
}

func (s *schemaText) recordTable() {
	s.line("")
	s.begin(s.table(""), "One row per "+s.m.Entity+".\n"+s.stateList())
	items := []tableItem{
		{text: fmt.Sprintf("\"id\" %s NOT NULL PRIMARY KEY", s.d.text)},
		{text: fmt.Sprintf("\"state\" %s NOT NULL", s.d.text)},
		{text: fmt.Sprintf("\"rev\" %s NOT NULL", s.d.integer)},
		{text: fmt.Sprintf("\"created_at\" %s NOT NULL", s.d.time)},
		{text: fmt.Sprintf("\"updated_at\" %s NOT NULL", s.d.time)},
	}
	for _, f := range s.m.Fields {
		items = append(items, tableItem{comment: f.Doc, text: column(f) + " " + s.columnType(&f.Type) + s.columnDefault(f)})
	}
	for _, p := range parkings(s.m) {
		items = append(items, tableItem{comment: "null: " + p.op.Name + " looks at it; else not before that time, or not before others make room",
			text: quoteName(p.column()) + " " + s.d.integer})
	}
	items = append(items, tableItem{comment: "that of the record's last event, for the engine alone; 0: the log has it",
		text: quoteName(chainColumn) + " " + s.d.integer + " NOT NULL DEFAULT 0"})
	for _, c := range s.computed() {
		items = append(items, tableItem{c.comment, quoteName(c.Name) + " " + c.kind})
	}
	if s.checks() {
		checks := []sqlCheck{
			{rule: "id is not empty", sql: `"id" <> ''`},
			{rule: "state is known", sql: `"state" IN (` + stateWords(s.m.States) + ")"},
			{rule: "rev is at least 1", sql: `"rev" >= 1`},
		}
		for _, f := range s.m.Fields {
			checks = append(checks, s.fieldChecks(f)...)
		}
		rules := s.stateRules()
		if s.d.oneCheck {
			rules = together(rules)
		}
		for _, r := range rules {
			if !r.sets || s.d.setsInCheck {
				checks = append(checks, r.check())
			}
		}
		items = append(items, s.checkItems(checks)...)
	}
	s.tableItems(s.table(""), items)
	s.line("%s", s.d.recordEnd)
}

func (s *schemaText) stateList() string {
	var ends, others []string
	for _, st := range s.m.States {
		if st.Terminal {
			ends = append(ends, st.Name)
		} else {
			others = append(others, st.Name)
		}
	}
	text := "States: " + strings.Join(others, ", ")
	if len(ends) > 0 {
		text += "; terminal: " + strings.Join(ends, ", ")
	}
	return text + "."
}

// begin begins a table that is what the text says.
func (s *schemaText) begin(table, text string) {
	s.comment("", text)
	s.about("TABLE "+table, text)
	s.line("CREATE TABLE IF NOT EXISTS %s (", table)
}

// tableItem is a column or a constraint, with a comment above it.
type tableItem struct{ comment, text string }

func (s *schemaText) tableItems(table string, items []tableItem) {
	for i, item := range items {
		s.aboutItem(table, item)
		s.comment("    ", item.comment)
		end := ","
		if i == len(items)-1 {
			end = ""
		}
		s.line("    %s%s", item.text, end)
	}
}

func (s *schemaText) checkItems(checks []sqlCheck) []tableItem {
	s.names = map[string]bool{}
	var items []tableItem
	for _, c := range checks {
		name, comment := s.constraint(c)
		items = append(items, tableItem{comment, fmt.Sprintf("CONSTRAINT %s CHECK (%s)", name, c.sql)})
	}
	return items
}

// eventTable writes the log. The first column, which orders it by commit, is
// the dialect's own.
func (s *schemaText) eventTable(first, firstDoc, end string) {
	s.line("")
	s.begin(s.table("_events"), "The log, append-only: one event per revision (n = 0), and the calls that were recorded only "+
		"(n = 1, 2, ...) at the revision they found.")
	text, integer := s.d.text, s.d.integer
	document, key := "TEXT", " UNIQUE"
	if s.d.name != "sqlite" {
		document, key = s.d.document, " PRIMARY KEY" // logical replication names a row by it
	}
	items := []tableItem{
		{firstDoc, first},
		{"", `"id" ` + text + " NOT NULL"},
		{"", `"rev" ` + integer + " NOT NULL"},
		{"", `"n" ` + integer + " NOT NULL"},
		{"", `"operation" ` + text + " NOT NULL"},
		{"", `"name" ` + text + " NOT NULL"},
		{"null: the creation", `"from_state" ` + text},
		{"", `"to_state" ` + text + " NOT NULL"},
		{"", `"occurred_at" ` + s.d.time + " NOT NULL"},
		{"", `"actor" ` + text + " NOT NULL"},
		{"", `"reason" ` + text + " NOT NULL"},
		{"null: a call without one, or a step that another operation leads to", `"request_id" ` + text},
		{"-1: the request belongs to the record; else to the machine, and this is its index in a batch", `"request_n" ` + integer + " NOT NULL"},
		{"", `"fingerprint" ` + text + " NOT NULL"},
		{"", `"labels" ` + document},
		{"", `"inputs" ` + document},
		{"the new values of the changed fields; of a set, the added members", `"changes" ` + document},
		{"all fields, at revision 1 and every 64th", `"image" ` + document},
		{"of the specification", `"version" ` + integer + " NOT NULL"},
		{"the operation that led to this one", `"cause" ` + text},
		{"the guard that failed, when the call was recorded only for that", `"guard" ` + text},
		{"CRC-32C over the event", `"checksum" ` + integer + " NOT NULL"},
		{"over the sums of this event and all before it; see Event.Chain", `"chain" ` + integer + " NOT NULL DEFAULT 0"},
		{"", `CONSTRAINT ` + s.object("events", "revision") + key + ` ("id", "rev", "n")`},
	}
	if s.checks() {
		var checks []sqlCheck
		if s.d.name == "sqlite" { // -1 stands for a place that is not chosen yet
			checks = append(checks, sqlCheck{rule: "seq is at least 1", sql: `"seq" >= 1`})
		}
		items = append(items, s.checkItems(append(checks, []sqlCheck{
			{rule: "rev is at least 1", sql: `"rev" >= 1`},
			{rule: "n is a count", sql: `"n" >= 0`},
			{rule: "revision 1 is the creation", sql: `"n" > 0 OR ("rev" = 1) = ("from_state" IS NULL)`},
			{rule: "a recorded call moves nothing", sql: `"n" = 0 OR "from_state" IS NOT NULL AND "from_state" = "to_state"`},
			{rule: "request_id is not empty", sql: `"request_id" <> ''`},
			{rule: "request_n is an index", sql: `"request_n" >= -1`},
		}...))...)
	}
	s.tableItems(s.table("_events"), items)
	s.line("%s", end)
	s.line("")
	s.comment("", "A request id is used once: in its record, or in the machine.")
	s.line("CREATE UNIQUE INDEX IF NOT EXISTS %s ON %s (\"id\", \"request_id\")", s.object("events", "request"), s.table("_events"))
	s.line("    WHERE \"request_id\" IS NOT NULL;")
	s.line("CREATE UNIQUE INDEX IF NOT EXISTS %s ON %s (\"request_id\", \"request_n\")", s.object("events", "batch"), s.table("_events"))
	s.line("    WHERE \"request_n\" >= 0;")
	s.line("")
	s.comment("", "What is left of records that were removed.")
	s.line("CREATE INDEX IF NOT EXISTS %s ON %s (\"id\") WHERE \"operation\" = '__purge';", s.object("events", "purged"), s.table("_events"))
}

func (s *schemaText) sideTables() {
	text, integer := s.d.text, s.d.integer
	s.line("")
	s.begin(s.table("_outbox"), "Effects that wait for being performed.")
	items := []tableItem{
		{"", `"id" ` + text + " NOT NULL"},
		{"the revision whose commit asked for it", `"rev" ` + integer + " NOT NULL"},
		{"of what it asked for, 0 for the first", `"n" ` + integer + " NOT NULL"},
		{"", `"effect" ` + text + " NOT NULL"},
		{"the effect's idempotency key", `"key" ` + text + " NOT NULL"},
		{"", `"attempts" ` + integer + " NOT NULL"},
		{"", `"due" ` + s.d.time + " NOT NULL"},
		{"", `"last_error" ` + text + " NOT NULL"},
		{"", `PRIMARY KEY ("id", "rev", "n")`},
	}
	if s.checks() {
		items = append(items, s.checkItems([]sqlCheck{{rule: "attempts is a count", sql: `"attempts" >= 0`}})...)
	}
	s.tableItems(s.table("_outbox"), items)
	s.line("%s", s.d.tableEnd)
	s.line("-- What is due of an effect: what was not tried yet, and what was")
	s.line("DROP INDEX IF EXISTS %s;", s.object("outbox", "due"))
	for _, part := range []struct{ name, attempts string }{{"fresh", "="}, {"again", ">"}} {
		s.line("CREATE INDEX IF NOT EXISTS %s ON %s (\"effect\", \"due\", \"id\", \"rev\", \"n\") WHERE \"attempts\" %s 0;",
			s.object("outbox", part.name), s.table("_outbox"), part.attempts)
	}
	s.line("")
	s.begin(s.table("_groups"), "One row per group of records that a rule looks at together: it is locked while the rule "+
		"is decided, and holds the last number of a sequence.")
	s.tableItems(s.table("_groups"), []tableItem{
		{"of the guard or the sequence", `"name" ` + text + " NOT NULL"},
		{"the group's values as a JSON array", `"key" ` + text + " NOT NULL"},
		{"", `"number" ` + integer + " NOT NULL"},
		{"", `PRIMARY KEY ("name", "key")`},
	})
	s.line("%s", s.d.tableEnd)
}

func (s *schemaText) indexes() {
	t := s.table("")
	s.line("")
	s.comment("", "Rules across records: a record in which one of the fields is absent never collides.")
	if len(uniqueRules(s.m)) == 0 {
		s.comment("", "This machine has none.")
	}
	for _, u := range uniqueRules(s.m) {
		keys := columnList(u.fields)
		if len(u.fields) == 0 {
			keys = `("state" IS NOT NULL)`
		}
		s.line("CREATE UNIQUE INDEX IF NOT EXISTS %s ON %s (%s)%s;", s.object("unique", u.name), t, keys, s.partial(u.states, s.mayLack(u)...))
	}
	s.line("")
	s.comment("", "What queries look for.")
	s.listing()
	for _, l := range lookups(s.m) {
		var keys []string
		for _, f := range l.fields {
			keys = append(keys, column(f))
		}
		if l.by != nil {
			keys = append(keys, s.d.later(column(l.order[0].Field), column(l.by)))
			if !s.d.computes {
				keys = append(keys, `"id"`)
			}
		} else if l.due && s.d.computes {
			keys = append(keys, quoteName(s.minuteColumn(l.order[0].Field)))
		} else {
			for _, o := range l.order {
				keys = append(keys, s.orderKeys(o, slices.Contains(l.present, o.Field))...)
			}
			if l.byID {
				keys = append(keys, `"id"`)
			}
		}
		if l.parking != nil {
			s.parkingIndexes(l.parking, &l, keys)
			continue
		}
		s.line("-- %s", l.why)
		where := s.partial(l.states, s.lacking(&l)...)
		s.line("CREATE INDEX IF NOT EXISTS %s ON %s (%s)%s;", s.object(l.name...), t, strings.Join(keys, ", "), where)
	}
}

// lacking returns the fields of a look-up that rows may lack: those need no place in its index.
func (s *schemaText) lacking(l *lookup) (list []*spec.Field) {
	for _, f := range l.fields {
		if l.asked && f.Type.Optional && s.d.sparse {
			list = append(list, f)
		}
	}
	return list
}

// orderKeys returns the index keys of one key of an order: absent values come
// last. A field that all records have which are asked for needs none of that.
func (s *schemaText) orderKeys(o spec.Order, present bool) []string {
	keys := []string{column(o.Field)}
	if o.Field.Type.Optional && !present {
		keys = s.d.nulls(keys[0])
	}
	if o.Descending {
		keys = slices.Clone(keys)
		last := len(keys) - 1
		if name, ok := strings.CutSuffix(keys[last], " NULLS LAST"); ok {
			keys[last] = name + " DESC NULLS LAST"
		} else {
			keys[last] += " DESC"
		}
	}
	return keys
}

// mayLack returns the fields of a rule that rows may lack: those rows need no
// place in its index, which each write of them would pay for. The numbers of a
// sequence are looked up for absent values as well.
func (s *schemaText) mayLack(u uniqueRule) []*spec.Field {
	var list []*spec.Field
	for _, f := range u.fields {
		if f.Type.Kind == spec.KindSequence || !s.d.sparse {
			return nil
		}
		if f.Type.Optional {
			list = append(list, f)
		}
	}
	return list
}

// partial returns the WHERE clause of an index over some of the states, and over
// rows that have fields.
func (s *schemaText) partial(states []*spec.State, present ...*spec.Field) string {
	var parts []string
	if len(states) > 0 && !s.allStates(states) {
		parts = append(parts, s.among(states))
	}
	for _, f := range present {
		parts = append(parts, column(f)+" IS NOT NULL")
	}
	if len(parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(parts, " AND ")
}
