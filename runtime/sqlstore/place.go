package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// ErrTables says that a session of the store reaches other tables than the store was
// opened on, by the same names: they were made again, or it is another database. Open
// the store again, on the right one.
var ErrTables = errors.New("the session reaches other tables than those the store was opened on")

// WithSchema names the schema of the tables. Without it, it is the first one of the
// search_path that there is when the store is opened.
func WithSchema(name string) PostgresOption { return func(p *postgres) { p.place.schema = name } }

// place is where the tables are. The schema is chosen once, by the first session. Every
// statement names it, so that a search_path that changes later, or a temporary table,
// leads nowhere else; each new session is asked which tables it reaches by these names.
type place struct {
	mu     sync.Mutex
	schema string   // empty: there was none, and so there are no tables
	names  []string // of the tables, qualified
	ids    []string // what they are: their oids
}

// choose asks for the schema.
func (l *place) choose(ctx context.Context, q querier, pooled bool) error {
	if l.chosen() != "" {
		return nil
	}
	text := "SELECT coalesce(current_schema()::text, '')"
	if pooled {
		text = ownSchema
	}
	schema, err := one(ctx, q, text)
	if err != nil {
		return fmt.Errorf("sqlstore: ask for the schema of the tables: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.schema = schema
	return nil
}

func (l *place) chosen() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.schema
}

// oids returns an expression for the identities of the tables that are known; empty: there
// are none.
func (l *place) oids() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return oidsOf(l.names)
}

func oidsOf(names []string) string {
	if len(names) == 0 {
		return ""
	}
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = "coalesce(to_regclass(" + literal(n) + ")::oid::text, '0')"
	}
	return "concat_ws(',', " + strings.Join(list, ", ") + ")"
}

// same compares what oids gave in a session with what is known. What came to be known
// meanwhile stands at the end and is not compared.
func (l *place) same(said string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, id := range strings.Split(said, ",") {
		if id != l.ids[i] {
			return fmt.Errorf("sqlstore: %s has the oid %s and had %s: %w", l.names[i], id, l.ids[i], ErrTables)
		}
	}
	return nil
}

// filtered is an expression for whether a policy hides rows of the machine's tables.
func (p *postgres) filtered(t *table) string {
	list := make([]string, len(needed))
	for i, n := range needed {
		list[i] = "to_regclass(" + literal(p.qualified(t.schema.Table+n.end)) + ")"
	}
	return "(SELECT coalesce(bool_or(row_security_active(o)), false) FROM unnest(ARRAY[" + strings.Join(list, ", ") + "]) AS o)"
}

// note keeps what tables are.
func (l *place) note(ctx context.Context, q querier, names []string) error {
	said, err := one(ctx, q, "SELECT "+oidsOf(names))
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, id := range strings.Split(said, ",") {
		if !slices.Contains(l.names, names[i]) && id != "0" {
			l.names, l.ids = append(l.names, names[i]), append(l.ids, id)
		}
	}
	return nil
}

// otherTables is what the server quotes when a write has found other tables.
const otherTables = "fsm: the tables were made again or renamed"

// verified compares constants: the server finds the tables by their names when it plans the
// statement, and plans it again whenever a table or a schema has changed. So the comparison
// costs no trip and nothing at run time, and holds for the plan that writes.
func (p *postgres) verified(t *table) string {
	p.place.mu.Lock()
	defer p.place.mu.Unlock()
	var same []string
	for _, suffix := range []string{"", "_events", "_outbox"} {
		name := quote(p.place.schema) + "." + quote(t.schema.Table+suffix)
		if i := slices.Index(p.place.names, name); i >= 0 {
			same = append(same, literal(name)+"::regclass::oid = "+literal(p.place.ids[i]))
		}
	}
	if len(same) == 0 {
		return ""
	}
	return " WHERE CASE WHEN " + strings.Join(same, " AND ") + " THEN true ELSE " + literal(otherTables) + "::text::boolean END"
}

// checked is verified as one more condition of a statement.
func (t *table) checked() string {
	return strings.Replace(t.dialect.verified(t), " WHERE ", " AND ", 1)
}

func (p *postgres) qualified(table string) string {
	if schema := p.place.chosen(); schema != "" {
		return quote(schema) + "." + quote(table)
	}
	return quote(table)
}

func (p *postgres) within() string {
	if schema := p.place.chosen(); schema != "" {
		return "; SET LOCAL search_path TO " + quote(schema) + ", pg_temp"
	}
	return ""
}

// namespace is an expression for the schema.
func (p *postgres) namespace() string {
	return "(SELECT oid FROM pg_namespace WHERE nspname = " + literal(p.place.chosen()) + ")"
}

func (p *postgres) reached(ctx context.Context, q querier, tables []string) error {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = p.qualified(t)
	}
	return p.place.note(ctx, q, names)
}
