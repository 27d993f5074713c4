package sqlstore

import (
	"context"
	"fmt"
	"regexp"
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
		if text, there := have["index "+w.Name]; there && w.Kind == "index" {
			other, err := p.otherIndex(t, w, text, m == nil)
			if err != nil {
				return nil, err
			}
			if other {
				steps = append(steps, func(ctx context.Context, q querier) error { return p.indexAgain(ctx, q, w) })
			}
			continue
		}
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

// catalog returns what the schema holds, by kind and name, with its text as far as
// it can be compared: the body of a function, what pg_get_triggerdef says, the table
// of an index and what pg_get_indexdef says, the text of a comment.
func (p *postgres) catalog(ctx context.Context, q querier, t *table) (map[string]string, error) {
	functions := `SELECT 'function', proname::text, concat_ws('; ', prosrc, array_to_string(proconfig, '; ')) FROM pg_proc WHERE pronamespace = ` + p.namespace() + ` AND (proname LIKE $1 OR proname = 'fsm_is_set')`
	triggers := `UNION ALL SELECT 'trigger', tgname::text,
			CASE WHEN tgrelid IN (SELECT relation FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation IS NOT NULL AND pid <> pg_backend_pid()) THEN '' -- it would wait
				ELSE pg_get_triggerdef(pg_trigger.oid) END FROM pg_trigger JOIN pg_class ON tgrelid = pg_class.oid
		WHERE relnamespace = ` + p.namespace() + ` AND NOT tgisinternal AND relname LIKE $1`
	have := map[string]string{}
	err := q.query(ctx, func(rows Rows) error {
		var kind, name, text string
		err := rows.Scan(&kind, &name, &text)
		have[kind+" "+name] = text
		return err
	}, functions+` `+triggers+`
		UNION ALL SELECT CASE relkind WHEN 'i' THEN 'index' WHEN 'v' THEN 'view' WHEN 'r' THEN 'table' WHEN 'p' THEN 'table' ELSE 'relation' END, relname::text,
			coalesce((SELECT x.indrelid::regclass::text || E'\n' || CASE WHEN NOT x.indisvalid THEN 'INVALID'
				WHEN x.indrelid IN (SELECT relation FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation IS NOT NULL AND pid <> pg_backend_pid()) THEN '' -- it would wait
				ELSE pg_get_indexdef(x.indexrelid) END FROM pg_index AS x WHERE x.indexrelid = pg_class.oid), '')
		FROM pg_class WHERE relnamespace = `+p.namespace()+` AND (relname LIKE $1 OR relname = 'fsm_meta') `+p.comments(),
		likeForm.Replace(t.schema.Table)+"%")
	return have, err
}

// compare returns the statements that make one wanted object, and adds to last what is to
// be done when all are made.
func (p *postgres) compare(ctx context.Context, q querier, t *table, next *evolve.Schema, w evolve.Piece, have map[string]string,
	first bool, last *[]string) ([]string, error) {
	text, there := have[w.Kind+" "+w.Name]
	switch w.Kind {
	case "drop":
		if _, there = have["index "+w.Name]; there {
			return []string{w.Text}, nil
		}
		return nil, nil
	case "comment":
		return commented(w, have), nil
	case "function":
		wanted := w.Text
		if schema := p.place.chosen(); w.Pinned && schema != "" {
			wanted = strings.Replace(wanted, " AS $fsm$", " SET search_path = "+quote(schema)+", pg_temp AS $fsm$", 1)
		}
		if !there || bare(text) != bare(functionForm(wanted)) {
			return []string{wanted}, nil
		}
		return nil, nil
	case "trigger":
		switch {
		case !there:
			return []string{w.Text}, nil
		case text != "" && triggerForm(text) != triggerForm(w.Text):
			return []string{"DROP TRIGGER IF EXISTS " + quote(w.Name) + " ON " + quote(w.Table), w.Text}, nil
		}
		return nil, nil
	}
	for _, kind := range []string{"table", "index", "view", "relation"} {
		if _, taken := have[kind+" "+w.Name]; taken && kind != w.Kind {
			return nil, &UserObjectError{kind, w.Name,
				fmt.Sprintf("has the name of a %s that the machine %s needs; rename it", w.Kind, t.schema.Machine)}
		}
	}
	switch {
	case !there:
		return []string{w.Text}, nil
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

// bare takes the quotes off the schema that a function looks into: the catalog has
// them only where a name needs them.
func bare(form string) string {
	if i := strings.LastIndex(form, "; search_path="); i >= 0 {
		return form[:i] + strings.ReplaceAll(form[i:], `"`, "")
	}
	return form
}

// functionForm returns what the catalog says of a function: its body, and the
// settings it runs with.
func functionForm(text string) string {
	head, body, _ := strings.Cut(text, "$fsm$")
	body, _, _ = strings.Cut(body, "$fsm$")
	for _, m := range functionSetting.FindAllStringSubmatch(head, -1) {
		body += "; " + m[1] + "=" + strings.TrimSpace(m[2])
	}
	return body
}

var (
	functionSetting = regexp.MustCompile(`(?i)\bSET (\w+) (?:=|TO) ((?:[\w"$.]+, )*[\w"$.]+)`)
	triggerHead     = regexp.MustCompile(`(?i)\b(BEFORE|AFTER|INSTEAD OF)\s+(.*?)\s+ON\s`)
	triggerWords    = regexp.MustCompile(`::[a-z]+(?: varying)?|\b(?:IN|ANY|ARRAY)\b|=|[\s()",\[\]]+`)
)

// triggerForm brings the text of a trigger, ours or the catalog's, into one form:
// without quotes, parentheses and casts, which the catalog sets its own way, and
// with the events in one order.
func triggerForm(text string) string {
	text = strings.TrimSuffix(strings.Replace(text, "OR REPLACE ", "", 1), ";")
	if m := triggerHead.FindStringSubmatchIndex(text); m != nil {
		events := regexp.MustCompile(`(?i)\s+OR\s+`).Split(text[m[4]:m[5]], -1)
		slices.Sort(events)
		text = text[:m[4]] + strings.Join(events, " OR ") + text[m[5]:]
	}
	list := strings.Fields(triggerWords.ReplaceAllString(strings.ReplaceAll(text, `."`, "."), " "))
	for i, w := range list {
		if at := strings.LastIndexByte(w, '.'); at >= 0 && i > 0 && strings.EqualFold(list[i-1], "ON") || strings.EqualFold(list[max(i-1, 0)], "FUNCTION") {
			list[i] = w[at+1:] // the table and the function, without their schema
		}
	}
	return strings.ToUpper(strings.Join(list, " "))
}

// likeForm takes from a text the meaning that LIKE gives some of its characters.
var likeForm = strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`)
