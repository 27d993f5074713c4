package migration_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A thing is a random machine that changes from version to version. Each state has
// an operation that creates records in it, so that rows are made without the engine.

type thingField struct{ name, kind, was, def string }

type thing struct {
	*rand.Rand
	version int
	fields  []thingField
	states  []string
	gone    map[string]string // removed states and where their records go
	uniques []string          // fields
	bounds  map[string]int    // smallest value of an int
	next    int
	clash   string // what users have made under a name that the next version needs
}

func newThing(r *rand.Rand) *thing {
	m := &thing{Rand: r, version: 1, gone: map[string]string{}, bounds: map[string]int{}, states: []string{"s0", "s1"}}
	m.fields = []thingField{{name: "key", kind: "optional string"}}
	for range 1 + r.IntN(4) {
		m.addField()
	}
	return m
}

func (m *thing) fresh(prefix string) string {
	m.next++
	return fmt.Sprint(prefix, m.next)
}

var thingKinds = []string{"optional string", "optional string", "optional int 0..9", "optional time", "optional bool", "optional json", "optional red|green|blue", "counter", "set", "string", "int 0..9"}

// thingDefaults are two defaults of each kind of field that has any.
var thingDefaults = map[string][2]string{
	"string": {`'it''s "x"'`, "other"}, "int 0..9": {"7", "8"}, "bool": {"true", "false"}, "red|green|blue": {"blue", "red"},
	"time": {"2026-01-31T12:00:00+01:00", "2026-02-01T00:00:00.5Z"}, "json": {`'{"a": ["''", 1]}'`, "'null'"},
}

var sortedDefaults = slices.Sorted(keysOf(thingDefaults))

func (m *thing) addField() {
	f := thingField{name: m.fresh("f"), kind: thingKinds[m.IntN(len(thingKinds))]}
	if m.IntN(3) == 0 { // mandatory, for rows that are there
		f.kind = sortedDefaults[m.IntN(len(sortedDefaults))]
		f.def = thingDefaults[f.kind][0]
	}
	i := m.IntN(len(m.fields) + 1)
	m.fields = slices.Insert(m.fields, i, f)
}

// evolve makes the next version, with one to three changes.
func (m *thing) evolve() *thing {
	n := *m
	n.version++
	n.fields, n.states, n.uniques = slices.Clone(m.fields), slices.Clone(m.states), slices.Clone(m.uniques)
	n.gone, n.bounds = map[string]string{}, map[string]int{}
	for f, b := range m.bounds {
		n.bounds[f] = b
	}
	for range 1 + n.IntN(3) {
		n.change()
	}
	return &n
}

func (m *thing) change() {
	i := m.IntN(len(m.fields))
	f := &m.fields[i]
	switch m.IntN(11) {
	case 0, 1, 2:
		m.addField()
	case 3:
		if len(m.fields) > 2 && f.name != "key" {
			m.uniques = slices.DeleteFunc(m.uniques, func(u string) bool { return u == f.name })
			m.fields = slices.Delete(m.fields, i, i+1)
		}
	case 4:
		if f.was == "" && f.name != "key" && !slices.Contains(m.uniques, f.name) {
			f.was, f.name = f.name, m.fresh("f")
		}
	case 5:
		switch f.kind {
		case "string":
			f.kind, f.def = "optional string", ""
		case "optional string":
			if f.name != "key" {
				f.kind = "string"
			}
		case "optional red|green|blue":
			f.kind = "optional red|green|blue|white"
		case "int 0..9":
			f.kind, f.def = "counter", ""
		}
	case 6:
		m.states = append(m.states, m.fresh("s"))
	case 7:
		if len(m.states) > 2 {
			j := 1 + m.IntN(len(m.states)-1)
			m.gone[m.states[j]] = m.states[0]
			m.states = slices.Delete(m.states, j, j+1)
			for s, to := range m.gone {
				if !slices.Contains(m.states, to) {
					m.gone[s] = m.states[0]
				}
			}
		}
	case 8:
		if strings.HasSuffix(f.kind, "string") && !slices.Contains(m.uniques, f.name) {
			m.uniques = append(m.uniques, f.name)
		} else if len(m.uniques) > 0 {
			m.uniques = m.uniques[1:]
		}
	case 10:
		switch all, has := thingDefaults[f.kind]; {
		case has && f.def == all[0]:
			f.def = all[1]
		case has:
			f.def = all[0]
		}
	case 9:
		if f.kind == "optional int 0..9" {
			m.bounds[f.name] = m.IntN(3)
		}
	}
}

// yaml is the specification.
func (m *thing) yaml() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("fsm: 1\nmachine: thing\nentity: Thing\nversion: %d\notherwise: reject\nfields:", m.version)
	var set, counters, sets []string
	for _, f := range m.fields {
		kind := f.kind
		if n := m.bounds[f.name]; n > 0 && kind == "optional int 0..9" {
			kind = fmt.Sprintf("optional int %d..9", n)
		}
		more := ""
		if f.was != "" {
			more += ", was: " + f.was
		}
		if f.def != "" {
			more += ", default: " + f.def
		}
		p("  %s: {type: %s%s}", f.name, kind, more)
		switch {
		case f.kind == "counter":
			counters = append(counters, f.name)
		case f.kind == "set":
			sets = append(sets, f.name)
		case strings.HasPrefix(f.kind, "optional"):
			set = append(set, f.name+": input or absent")
		case f.def == "":
			set = append(set, f.name+": input")
		}
	}
	p("states:")
	for _, s := range m.states {
		p("  %s: {}", s)
	}
	if len(m.gone) > 0 {
		p("removed:")
		for _, s := range slices.Sorted(keysOf(m.gone)) {
			p("  %s: {to: %s}", s, m.gone[s])
		}
	}
	if len(m.uniques) > 0 {
		p("unique:")
		for _, u := range m.uniques {
			p("  one_%s: {fields: [%s], error: %s_taken}", u, u, u)
		}
	}
	p("operations:")
	for _, s := range m.states {
		p("  make_%s: {creates: %s, set: {%s}}", s, s, strings.Join(set, ", "))
		extra := ""
		if len(counters) > 0 {
			extra += ", increment: [" + strings.Join(counters, ", ") + "]"
		}
		if len(sets) > 0 {
			extra += ", input: {tag: string}, add: {" + strings.Join(sets, ": input.tag, ") + ": input.tag}"
		}
		p("  touch_%s: {from: %s, to: same%s}", s, s, extra)
		p("  move_%s: {from: [%s], to: %s}", s, strings.Join(m.states, ", "), s)
	}
	return b.String()
}

func keysOf[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// rows returns the statements that make n records with their events.
func (m *thing) rows(dialect string, n int) string {
	var b strings.Builder
	at := "1700000000000000"
	if dialect == "postgres" {
		at = "'2026-01-01T00:00:00Z'"
	}
	for i := range n {
		state := m.states[m.IntN(len(m.states))]
		names, values := []string{"id", "state", "rev", "created_at", "updated_at"}, []string{fmt.Sprintf("'t%d'", i), "'" + state + "'", "1", at, at}
		for _, f := range m.fields {
			stored := f.name
			if f.was != "" {
				stored = f.was
			}
			value := map[string]string{"counter": "0", "set": "'[]'"}[f.kind]
			switch {
			case value != "":
			case strings.HasPrefix(f.kind, "optional") && m.IntN(3) == 0:
				value = "NULL"
			case strings.HasSuffix(f.kind, "string"):
				value = fmt.Sprintf("'w%d'", m.IntN(1000)*100+i)
			case strings.Contains(f.kind, "int"):
				value = fmt.Sprint(m.bounds[f.name] + m.IntN(10-m.bounds[f.name]))
			case strings.HasSuffix(f.kind, "time"):
				value = at
			case strings.HasSuffix(f.kind, "bool"):
				value = map[string]string{"postgres": "true", "sqlite": "1"}[dialect]
			case strings.HasSuffix(f.kind, "json"):
				value = `'{"a":1}'`
			default:
				value = "'green'"
			}
			names, values = append(names, stored), append(values, value)
		}
		fmt.Fprintf(&b, `INSERT INTO "thing_events" ("id", "rev", "n", "operation", "name", "to_state", "occurred_at", "actor", "reason", "request_n", "fingerprint", "version", "checksum", "chain")
			VALUES ('t%d', 1, 0, 'make_%s', 'make_%[2]s', '%[2]s', %s, 'a', '', -1, '', 1, 7, 7);`+"\n", i, state, at)
		fmt.Fprintf(&b, `INSERT INTO "thing" ("%s") VALUES (%s);`+"\n", strings.Join(names, `", "`), strings.Join(values, ", "))
	}
	return b.String()
}

// around is what users have made: tables that refer to the things and to each
// other, indexes, views, triggers, a column of their own.
//
// Where PostgreSQL moves records of removed states, that is an update like any
// other: foreign keys to the revision and triggers do then what their maker asked
// for. So there are none of these where moves is true.
func (m *thing) around(dialect string, things int, moves bool, next *thing) (schema, rows string) {
	var b, r strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+";\n", args...) }
	actions := []string{"CASCADE", "SET NULL", "SET DEFAULT", "RESTRICT", "NO ACTION"}
	action := func() string {
		text := " ON DELETE " + actions[m.IntN(5)] + " ON UPDATE " + actions[m.IntN(5)]
		return text + []string{"", " DEFERRABLE INITIALLY DEFERRED", " DEFERRABLE INITIALLY IMMEDIATE", ""}[m.IntN(4)]
	}
	text := `text`
	if dialect == "postgres" {
		text = `text COLLATE "C"`
	}
	field := func() string { // a field that may go
		f := m.fields[m.IntN(len(m.fields))]
		if m.IntN(4) > 0 || f.was != "" {
			return "key"
		}
		return f.name
	}
	if m.IntN(4) == 0 {
		p(`ALTER TABLE "thing" ADD COLUMN own_column %s DEFAULT 'mine'`, text)
	}
	if m.IntN(8) == 0 {
		for _, f := range next.fields {
			if m.kind(f.name) == "" && f.was == "" {
				m.clash = f.name
				p(`ALTER TABLE "thing" ADD COLUMN "%s" %s DEFAULT 'mine'`, f.name, text)
				break
			}
		}
	}
	if m.IntN(8) == 0 && m.clash == "" {
		for _, u := range next.uniques {
			if !slices.Contains(m.uniques, u) {
				m.clash = "thing_unique_one_" + u
				p(`CREATE INDEX "%s" ON "thing" ("key", "id")`, m.clash)
				break
			}
		}
	}
	composite := m.IntN(2) == 0 && !moves
	if composite {
		p(`CREATE UNIQUE INDEX own_key ON "thing" ("id", "rev")`)
	}
	tables := 1 + m.IntN(4)
	for i := range tables {
		self := ""
		if m.IntN(2) == 0 {
			self = fmt.Sprintf(", parent integer REFERENCES own_%d (n)%s", i, action())
		}
		before := ""
		if i > 0 {
			before = fmt.Sprintf(", other integer REFERENCES own_%d (n)%s", m.IntN(i), action())
		}
		pair := ""
		if composite && m.IntN(2) == 0 {
			pair = ", thing_rev bigint, FOREIGN KEY (thing, thing_rev) REFERENCES \"thing\" (\"id\", \"rev\")" + action()
		}
		p(`CREATE TABLE own_%d (n integer PRIMARY KEY, thing %s DEFAULT 't0' REFERENCES "thing" (id)%s%s%s%s)`, i, text, action(), self, before, pair)
		if m.IntN(2) == 0 {
			p(`CREATE INDEX own_%d_by_thing ON own_%[1]d (thing) WHERE n > 0`, i)
		}
		for n := 1; n <= 1+m.IntN(5); n++ {
			fmt.Fprintf(&r, "INSERT INTO own_%d (n, thing) VALUES (%d, 't%d');\n", i, n, m.IntN(things))
			if self != "" && n > 1 {
				fmt.Fprintf(&r, "UPDATE own_%d SET parent = %d WHERE n = %d;\n", i, 1+m.IntN(n-1), n)
			}
			if pair != "" {
				fmt.Fprintf(&r, "UPDATE own_%d SET thing_rev = 1 WHERE n = %d;\n", i, n)
			}
			if before != "" {
				fmt.Fprintf(&r, "UPDATE own_%d SET other = 1 WHERE n = %d;\n", i, n)
			}
		}
	}
	for i := range m.IntN(3) {
		form := []string{`("%s")`, `(("id" || coalesce(CAST("%s" AS text), '')))`, `("id") WHERE "%s" IS NOT NULL`}[m.IntN(3)]
		if f := field(); f == "key" || !strings.HasSuffix(m.kind(f), "json") && m.kind(f) != "set" && (!strings.HasSuffix(m.kind(f), "time") || dialect == "sqlite") {
			p(`CREATE INDEX "%sown%sindex_%d" ON "thing" `+form, m.prefix("unique_", "due_", "next_", "events_"), m.odd(), i, f)
		}
	}
	if m.IntN(2) == 0 {
		view := m.prefix("") + "own" + m.odd() + "view"
		p("CREATE VIEW \"%s\" AS\nSELECT\n    \"id\", %s AS shown FROM thing", view, field())
		p(`CREATE VIEW own_view_2 AS SELECT count(*) AS n FROM "%s" AS v, own_0 WHERE own_0.thing = v.id`, view)
	}
	p(`CREATE TABLE own_log (what text)`)
	for i := range m.IntN(3) {
		event := []string{"AFTER INSERT ON", "AFTER UPDATE ON", "AFTER DELETE ON"}[m.IntN(3)]
		row := "NEW"
		if strings.Contains(event, "DELETE") {
			row = "OLD"
		}
		on := []string{`"thing"`, "own_0"}[m.IntN(2)]
		if moves {
			on = "own_0"
		}
		body := fmt.Sprintf("INSERT INTO own_log SELECT 'seen ' || count(*) FROM thing WHERE %s IS NOT NULL", field())
		if on != "own_0" && dialect == "sqlite" {
			body += fmt.Sprintf(" AND %s.id IS NOT NULL", row)
		}
		if dialect == "sqlite" {
			prefix := m.prefix("update_", "insert_", "events_")
			p(`CREATE TRIGGER "%sown%strigger_%d" %s %s BEGIN %s; END`, prefix, m.odd(), i, event, on, body)
		} else {
			body = "INSERT INTO own_log SELECT 'seen ' || count(*) FROM thing"
			p(`CREATE FUNCTION own_trigger_%d() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN %s; RETURN NULL; END'`, i, strings.ReplaceAll(body, "'", "''"))
			p(`CREATE TRIGGER "%sown%strigger_%d" %s %s FOR EACH ROW EXECUTE FUNCTION own_trigger_%[3]d()`,
				m.prefix("guard_", "has_"), m.odd(), i, event, on)
		}
	}
	return b.String(), r.String()
}

// odd stands within the name of a user's object, in quotes.
func (m *thing) odd() string {
	return []string{"_", " ", "-Upper-", `""quoted""`, "'", "_é_"}[m.IntN(6)]
}

// prefix begins half of the names as the generator begins its own.
func (m *thing) prefix(words ...string) string {
	if m.IntN(2) == 0 {
		return ""
	}
	return "thing_" + words[m.IntN(len(words))]
}

// ownLines gives the empty table a column and rules of users, each on a line of its
// own, as if they had rebuilt it from its text.
func (m *thing) ownLines(t testing.TB, db *sql.DB) {
	if m.IntN(3) > 0 {
		return
	}
	var text string
	if err := db.QueryRow(`SELECT "sql" FROM sqlite_master WHERE "name" = 'thing'`).Scan(&text); err != nil {
		t.Fatal(err)
	}
	whole := text
	if m.IntN(3) > 0 {
		text = strings.Replace(text, "    \"state\" TEXT", "    \"own_line\" TEXT DEFAULT 'mine',\n    \"state\" TEXT", 1)
		whole = strings.Replace(text, "\n) STRICT", ",\n    CONSTRAINT \"rev is mine\" CHECK (\"own_line\" <> 'x'),\n    FOREIGN KEY (\"own_line\") REFERENCES \"own_target\" (\"k\")\n) STRICT", 1)
	}
	if m.IntN(2) == 0 {
		whole = strings.Replace(whole, "\n) STRICT", ",\n    CHECK (\"rev\" < 1000000)\n) STRICT", 1)
	}
	execute(t, db, `CREATE TABLE "own_target" ("k" TEXT PRIMARY KEY); INSERT INTO "own_target" VALUES ('mine'); PRAGMA writable_schema = ON;
		UPDATE sqlite_master SET "sql" = '`+strings.ReplaceAll(whole, "'", "''")+`' WHERE "name" = 'thing'; PRAGMA writable_schema = RESET`)
}

func (m *thing) kind(name string) string {
	for _, f := range m.fields {
		if f.name == name {
			return f.kind
		}
	}
	return ""
}
