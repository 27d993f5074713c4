package sqlstore

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/evolve"
)

// An index that has the name of a wanted one is that one, or it is made again.

// otherIndex reports whether the index of this name seems to be another one than the
// wanted. text is what the catalog says: its table, and its definition, which is empty
// while somebody has locked the table. What is wrong with it in the eyes of the text
// only is found right by indexAgain.
func (p *postgres) otherIndex(t *table, w evolve.Piece, text string, first bool) (bool, error) {
	on, def, _ := strings.Cut(text, "\n")
	if at := strings.LastIndexByte(on, '.'); at >= 0 {
		on = on[at+1:]
	}
	other := def != "" && indexForm(def) != indexForm(w.Text)
	taken := func(why string) error {
		return &UserObjectError{"index", w.Name,
			fmt.Sprintf("has the name of an index that the machine %s needs, and %s; rename it", t.schema.Machine, why)}
	}
	switch {
	case strings.ReplaceAll(strings.Trim(on, `"`), `""`, `"`) != w.Table:
		return false, taken("is one of the table " + on)
	case other && first:
		return false, taken("is another one")
	case other && strings.Contains(def, " UNIQUE INDEX ") && !strings.HasPrefix(w.Is, "UNIQUE "):
		return false, taken("keeps a rule of somebody else")
	}
	return other, nil
}

var (
	indexHead = regexp.MustCompile(`(?s)^(.*?)INDEX .*? ON [^(]*`)
	// The catalog writes an instant in the session's time zone, and names the casts that it makes.
	lengthWords = []struct {
		wrote *regexp.Regexp
		is    string
	}{
		{regexp.MustCompile(`'(?:1969-12-31|1970-01-01) [^']*'`), "'1970'"},
		{regexp.MustCompile(`'00:00:00\.000001'|interval '1 microsecond'`), "'1 microsecond'"},
		{regexp.MustCompile(`::double precision|::timestamp with time zone`), ""},
	}
	indexWords = regexp.MustCompile(`::[a-z]+(?: varying)?(?:\[\])?|\b(?:IN|ANY|ARRAY)\b|=|[\s()\[\]",;]+`)
)

// indexForm brings the text of an index, ours or the catalog's, into one form: without
// its name and table, quotes, parentheses and casts, which the catalog sets its own way.
func indexForm(text string) string {
	m := indexHead.FindStringSubmatchIndex(text)
	if m == nil {
		return text
	}
	text = text[m[2]:m[3]] + text[m[1]:]
	for _, x := range lengthWords { // see postgres.later
		text = x.wrote.ReplaceAllString(text, x.is)
	}
	text = strings.Join(strings.Fields(indexWords.ReplaceAllString(text, " ")), " ")
	text = strings.ReplaceAll(text, "DESC NULLS LAST", "DESC LAST")
	return strings.ReplaceAll(text, " NULLS LAST", "") // as usual, of which the catalog says nothing
}

// indexAgain makes an index again unless PostgreSQL, when it makes the wanted one over
// an empty table of the same columns, says of both the same.
func (p *postgres) indexAgain(ctx context.Context, q querier, w evolve.Piece) error {
	const probe = `pg_temp."fsm_probe"`
	here := " ON " + quote(w.Table) + " "
	if !strings.Contains(w.Text, here) {
		return fmt.Errorf("sqlstore: the index %q is not one of the table %q: %.100s", w.Name, w.Table, w.Text)
	}
	for _, text := range []string{"CREATE TEMP TABLE \"fsm_probe\" (LIKE " + quote(w.Table) + ")",
		strings.Replace(w.Text, here, " ON "+probe+" ", 1)} {
		if _, err := q.exec(ctx, text); err != nil {
			return err
		}
	}
	const def = `split_part(pg_get_indexdef(x.indexrelid), ' USING ', 2) || x.indisunique || x.indisvalid`
	same, err := integer(ctx, q, `SELECT count(*) FROM pg_index AS x JOIN pg_index AS y ON y.indrelid = '`+probe+`'::regclass
		WHERE x.indexrelid = (SELECT oid FROM pg_class WHERE relkind = 'i' AND relname = $1 AND relnamespace = `+p.namespace()+`)
		AND `+def+` = `+strings.ReplaceAll(def, "x.", "y."), w.Name)
	if err != nil {
		return err
	}
	texts := []string{"DROP TABLE " + probe}
	if same == 0 {
		texts = append(texts, "DROP INDEX "+p.qualified(w.Name), w.Text)
	}
	for _, text := range texts {
		if _, err := q.exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}
