package sqlstore

import (
	"strings"

	"github.com/fsmgen/fsmgen/runtime/evolve"
)

// comments is the part of the catalog's query for what is said of the machine's tables, and
// for the rules that they have.
func (p *postgres) comments() string {
	const name = `'"' || replace(%::text, '"', '""') || '"'`
	named := func(column string) string { return strings.Replace(name, "%", column, 1) }
	tables := `c.relnamespace = ` + p.namespace() + ` AND (c.relname LIKE $1 OR c.relname = 'fsm_meta')`
	others := `c.relkind IN ('r', 'p') AND NOT pg_has_role(c.relowner, 'USAGE') AND ` + tables
	rule := `'CONSTRAINT ' || ` + named("k.conname") + ` || ' ON ' || ` + named("c.relname")
	return `UNION ALL SELECT 'comment', 'TABLE ' || ` + named("c.relname") + `, d.description FROM pg_description AS d
			JOIN pg_class AS c ON d.classoid = 'pg_class'::regclass AND d.objoid = c.oid AND d.objsubid = 0 WHERE ` + tables + `
		UNION ALL SELECT 'comment', 'COLUMN ' || ` + named("c.relname") + ` || '.' || ` +
		named("a.attname") + `, d.description FROM pg_description AS d
			JOIN pg_class AS c ON d.classoid = 'pg_class'::regclass AND d.objoid = c.oid
			JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = d.objsubid WHERE ` + tables + `
		UNION ALL SELECT 'comment', ` + rule + `, d.description FROM pg_description AS d
			JOIN pg_constraint AS k ON d.classoid = 'pg_constraint'::regclass AND d.objoid = k.oid
			JOIN pg_class AS c ON c.oid = k.conrelid WHERE ` + tables + `
		UNION ALL SELECT 'rule', ` + rule + `, '' FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid
			WHERE k.contype = 'c' AND ` + tables + `
		UNION ALL SELECT 'others', relname::text, '' FROM pg_class AS c WHERE ` + others
}

// commented returns what says of an object what it is, where nothing is said: what is there
// may be a user's. It is for the owner of the table: nobody else needs it.
func commented(w evolve.Piece, have map[string]string) []string {
	_, there := have["comment "+w.Name]
	if _, others := have["others "+w.Table]; there || others {
		return nil
	}
	rule := strings.HasPrefix(w.Name, "CONSTRAINT ")
	_, table := have["table "+w.Table]
	if _, there := have["rule "+w.Name]; there || !rule || !table {
		return []string{w.Text}
	}
	return nil // somebody has dropped the rule
}
