package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Others may have put something between the store and its tables, or kept rights from its role.
// What would hide rows, or fail in the first call that needs it, is refused when a machine is
// opened or migrated.

// hindrance is what a query finds, and what to do about it. The name of what it finds replaces %[1]s,
// the table %[2]s, and the role %[3]s.
type hindrance struct{ kind, found, why string }

// inTheWay are the queries over the tables, c. Each gives a name and the table.
var inTheWay = []hindrance{
	{"view", `SELECT relname::text, relname::text FROM c WHERE relkind IN ('v', 'm', 'f')`,
		`has the name of a table that the machine needs; rename it, and give the table its name again`},
	{"partitioned table", `SELECT relname::text, relname::text FROM c WHERE relkind = 'p'`,
		`has the name of a table that the machine needs, whose unique rules no partitioned table can hold; ` +
			`rename it, let Migrate make the table, and copy the rows`},
	{"child table", `SELECT inhrelid::regclass::text, relname::text FROM c JOIN pg_inherits ON inhparent = c.oid WHERE relkind = 'r'`,
		`adds its rows to those of the table %[2]q, whose rules do not hold for them; run ALTER TABLE %[1]s NO INHERIT %[2]q`},
	{"rule", `SELECT rulename::text, relname::text FROM c JOIN pg_rewrite ON ev_class = c.oid
		WHERE relkind = 'r' AND ev_enabled IN ('O', 'A')`,
		`rewrites statements on the table %[2]q; run DROP RULE %[1]q ON %[2]q, and make it a trigger`},
	{"row security", `SELECT coalesce((SELECT string_agg(polname, ', ') FROM pg_policy WHERE polrelid = c.oid),
		'enabled without a policy'), relname::text FROM c WHERE relkind = 'r' AND row_security_active(c.oid)`,
		`hides rows of the table %[2]q from the role %[3]q, so rules across records would count too few; ` +
			`connect as the owner of the tables, run ALTER ROLE %[3]q BYPASSRLS, or run ALTER TABLE %[2]q DISABLE ROW LEVEL SECURITY`},
}

// needed are the rights that a program needs, by the end of the table's name.
var needed = []struct{ end, rights string }{
	{"", "SELECT INSERT UPDATE"}, {"_events", "SELECT INSERT"},
	{"_outbox", "SELECT INSERT UPDATE DELETE"}, {"_groups", "SELECT INSERT UPDATE"},
}

// usable refuses with *UserObjectError what hinders the store on the tables of t that there are.
func (p *postgres) usable(ctx context.Context, q querier, t *table) error {
	names, rights := []string{literal("fsm_meta")}, []string{"('fsm_meta', 'SELECT')"}
	for i, n := range needed {
		name := literal(t.schema.Table + n.end)
		names = append(names, name)
		for _, right := range strings.Fields(n.rights) {
			if !t.store.reading || i < 2 && right == "SELECT" {
				rights = append(rights, "("+name+", '"+right+"')")
			}
		}
	}
	list := append(slices.Clone(inTheWay), hindrance{"role", `SELECT r.word, relname::text
		FROM c JOIN (VALUES ` + strings.Join(rights, ", ") + `) AS r(name, word) ON r.name = relname
		WHERE NOT CASE r.word WHEN 'DELETE' THEN has_table_privilege(c.oid, 'DELETE') ELSE has_any_column_privilege(c.oid, r.word) END`,
		`lacks the right to %[1]s on the table %[2]q; run GRANT %[1]s ON %[2]q TO %[3]q as the owner`})
	all := make([]string, len(list))
	for i, h := range list {
		all[i] = fmt.Sprintf("SELECT '%d', x.* FROM (%s) AS x", i, h.found)
	}
	said, err := column(ctx, q, `WITH c AS (SELECT oid, relname, relkind FROM pg_class WHERE relnamespace = `+p.namespace()+
		` AND relname IN (`+strings.Join(names, ", ")+`)), found(n, name, place) AS (`+strings.Join(all, " UNION ALL ")+`)
		SELECT unnest(ARRAY[n, name, place, current_user::text]) FROM (SELECT * FROM found ORDER BY n, place, name LIMIT 1) AS f`)
	if err != nil || len(said) == 0 {
		return err
	}
	n, err := strconv.Atoi(said[0])
	if err != nil {
		return err
	}
	h, name, words := list[n], said[1], []string{}
	for i, s := range said[1:] {
		words = append(words, fmt.Sprintf("%%[%d]q", i+1), quote(s), fmt.Sprintf("%%[%d]s", i+1), s)
	}
	if h.kind == "role" {
		name = said[3]
	}
	return &UserObjectError{h.kind, name, strings.NewReplacer(words...).Replace(h.why)}
}
