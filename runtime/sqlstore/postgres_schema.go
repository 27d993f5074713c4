package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/evolve"
)

// unlink: no table is rebuilt.
func (*postgres) unlink(context.Context, querier, bool) error { return nil }

// work compares the catalog with the schema. Tables that many programs use are
// changed by a reviewed script, not by the first program that starts: what is
// done here are columns, indexes, functions and triggers of the engine's own.
func (p *postgres) work(ctx context.Context, q querier, t *table, m *meta, next *evolve.Schema) ([]stage, error) {
	if m != nil && (m.hash != t.schema.Hash || m.enforce != t.enforce()) {
		return nil, errByScript
	}
	have, err := p.catalog(ctx, q, t)
	if err != nil {
		return nil, err
	}
	var steps []stage
	var last []string // once the triggers are these
	for _, w := range next.Pieces {
		texts, err := p.compare(ctx, q, t, next, w, have, m == nil, &last)
		if err != nil {
			return nil, err
		}
		steps = append(steps, executed(texts)...)
	}
	steps = append(steps, executed(last)...)
	return steps, nil
}

func executed(texts []string) (steps []stage) {
	for _, text := range texts {
		steps = append(steps, func(ctx context.Context, q querier) error {
			_, err := q.exec(ctx, text)
			return err
		})
	}
	return steps
}

// catalog returns what the schema holds, by kind and name: the body of a function with its settings, the
// table of an index and whether it is of use, the text of a comment. How an index or a trigger is
// made is not compared: `fsmctl audit` names one that is another than the generated.
func (p *postgres) catalog(ctx context.Context, q querier, t *table) (map[string]string, error) {
	have := map[string]string{}
	err := q.query(ctx, func(rows Rows) error {
		var kind, name, text string
		err := rows.Scan(&kind, &name, &text)
		have[kind+" "+name] = text
		return err
	}, `SELECT 'function', proname::text, prosrc || coalesce(replace(array_to_string(proconfig, '; '), '"', ''), '')
			FROM pg_proc WHERE pronamespace = `+p.namespace()+` AND (proname LIKE $1 OR proname = 'fsm_is_set')
		UNION ALL SELECT 'trigger', tgname || ' ON ' || relname, '' FROM pg_trigger JOIN pg_class ON tgrelid = pg_class.oid
			WHERE relnamespace = `+p.namespace()+` AND NOT tgisinternal AND relname LIKE $1
		UNION ALL SELECT CASE relkind WHEN 'i' THEN 'index' WHEN 'v' THEN 'view' WHEN 'r' THEN 'table' WHEN 'p' THEN 'table' ELSE 'relation' END,
			relname::text, coalesce((SELECT o.relname || CASE WHEN x.indisvalid THEN '' ELSE ' INVALID' END
				FROM pg_index AS x JOIN pg_class AS o ON o.oid = x.indrelid WHERE x.indexrelid = pg_class.oid), '')
			FROM pg_class WHERE relnamespace = `+p.namespace()+` AND (relname LIKE $1 OR relname = 'fsm_meta') `+p.comments(),
		likeForm.Replace(t.schema.Table)+"%")
	return have, err
}

// compare returns the statements that make one wanted object, and adds to last what is to
// be done when all are made.
func (p *postgres) compare(ctx context.Context, q querier, t *table, next *evolve.Schema, w evolve.Piece, have map[string]string,
	first bool, last *[]string) ([]string, error) {
	name := w.Kind + " " + w.Name
	if w.Kind == "trigger" {
		name += " ON " + w.Table
	}
	text, there := have[name]
	switch w.Kind {
	case "drop":
		if _, there = have["index "+w.Name]; there {
			return []string{w.Text}, nil
		}
		return nil, nil
	case "comment":
		return commented(w, have), nil
	case "function":
		wanted, body := w.Text, strings.Split(w.Text, "$fsm$")[1]
		if schema := p.place.chosen(); w.Pinned && schema != "" {
			wanted = strings.Replace(wanted, " AS $fsm$", " SET search_path = "+quote(schema)+", pg_temp AS $fsm$", 1)
			body += "search_path=" + strings.ReplaceAll(schema, `"`, "") + ", pg_temp"
		}
		if text != body {
			return []string{wanted}, nil
		}
		return nil, nil
	}
	other := func(kind, why string) error {
		return &UserObjectError{kind, w.Name, fmt.Sprintf("has the name of a%s that the machine %s needs%s; rename it",
			map[bool]string{true: "n index", false: " " + w.Kind}[w.Kind == "index"], t.schema.Machine, why)}
	}
	for _, kind := range []string{"table", "index", "view", "relation"} {
		if _, taken := have[kind+" "+w.Name]; taken && kind != w.Kind && w.Kind != "trigger" {
			return nil, other(kind, "")
		}
	}
	on, invalid := strings.CutSuffix(text, " INVALID")
	switch {
	case !there:
		return []string{w.Text}, nil
	case w.Kind == "index" && on != w.Table:
		return nil, other("index", ", and is one of the table "+on)
	case invalid:
		return []string{"DROP INDEX " + p.qualified(w.Name), w.Text}, nil
	case w.Kind == "table" && w.Name != "fsm_meta":
		return p.additions(ctx, q, t, next.Table(w.Name), first, last)
	}
	return nil, nil
}

// additions returns what adds the columns that a table lacks.
func (p *postgres) additions(ctx context.Context, q querier, t *table, w *evolve.Table, first bool, last *[]string) ([]string, error) {
	names, err := column(ctx, q, p.columns(w.Name))
	if err != nil {
		return nil, err
	}
	var added []string
	computed := false
	for _, c := range w.Columns {
		switch {
		case slices.Contains(names, c.Name):
		case first:
			return nil, &UserObjectError{"table", w.Name,
				fmt.Sprintf("has the name of a table that the machine %s needs, and no column %q; rename it", t.schema.Machine, c.Name)}
		default:
			added = append(added, "ADD COLUMN "+quote(c.Name)+" "+c.Def)
			computed = computed || t.works(c.Name)
		}
	}
	if added == nil {
		return nil, nil
	}
	if computed {
		*last = append(*last, t.compute(w.Name))
	}
	return []string{"ALTER TABLE " + quote(w.Name) + " " + strings.Join(added, ", ")}, nil
}

// likeForm takes from a text the meaning that LIKE gives some of its characters.
var likeForm = strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`)
