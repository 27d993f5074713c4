package sqlstore

import (
	_ "embed"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

var (
	//go:embed postgres.queries.sql
	postgresQueries string
	//go:embed sqlite.queries.sql
	sqliteQueries string

	queryFiles = map[string]*queryFile{"postgres": queriesOf(postgresQueries), "sqlite": queriesOf(sqliteQueries)}
)

// queryFile are the queries of a file.
type queryFile struct {
	texts map[string]string
	words map[string]string // what stands before them
	sent  []string          // the names of those that a machine has one of
	park  []string          // and of those that each of its picks has that parks
}

// queriesOf cuts a file at its lines "-- name: x", "-- write: x", "-- park: x" and "-- part: x", and keeps its comments apart.
func queriesOf(file string) *queryFile {
	list, name := &queryFile{texts: map[string]string{}, words: map[string]string{}}, ""
	for line := range strings.Lines(file) {
		kind, word, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case kind == "-- name", kind == "-- write", kind == "-- park", kind == "-- part":
			if name = word; list.texts[name] != "" {
				panic("sqlstore: there are two queries of the name " + name)
			}
			switch kind {
			case "-- name":
				list.sent = append(list.sent, name)
			case "-- park":
				list.park = append(list.park, name)
			}
		case name != "" && !strings.HasPrefix(line, "--"):
			list.texts[name] += line
		case name != "" && list.texts[name] == "":
			list.words[name] += line
		}
	}
	for name, text := range list.texts {
		list.texts[name] = strings.TrimRight(text, "\n")
	}
	return list
}

// expanded returns a query of a file with the words in braces replaced: those that begin with
// a capital by what the machine makes, the others by the query of that name. There are no
// conditions and no loops; what a machine does not need is empty. In names, which are of the tables, braces
// mean nothing.
func expanded(queries map[string]string, name string, names, made map[string]string) string {
	var b strings.Builder
	var put func(text string)
	put = func(text string) {
		for {
			before, rest, more := strings.Cut(text, "{")
			b.WriteString(before)
			if !more {
				return
			}
			word, after, _ := strings.Cut(rest, "}")
			list := queries
			if word != "" && word[0] >= 'A' && word[0] <= 'Z' {
				list = made
			}
			if name, is := names[word]; is {
				b.WriteString(name)
			} else if value, known := list[word]; known {
				put(value)
			} else {
				panic("sqlstore: the query " + name + " names {" + word + "}, which there is not")
			}
			text = after
		}
	}
	put("{" + name + "}")
	return b.String()
}

// query returns a query for the machine. made are the words of one operation.
func (t *table) query(name string, made map[string]string) string {
	names := map[string]string{
		"M": t.name, "M_events": t.part("_events"), "M_outbox": t.part("_outbox"), "M_groups": t.part("_groups"),
		"M_text": literal(t.name), "M_groups_text": literal(t.part("_groups")), "EVENTS": literal(t.schema.Table + "_events"), "SAME": "true",
		"META": t.dialect.qualified("fsm_meta"), "VERSIONS": t.dialect.qualified(versionsTable),
	}
	all := map[string]string{"ROW": t.reads, "VALUES": t.mark() + "1", "SETS": ""}
	const own = 5 // columns before those of the specification
	for i := range own + len(t.schema.Columns) {
		all["VALUES"] += ", " + t.mark() + strconv.Itoa(i+2)
	}
	for i := range t.schema.Columns {
		all["SETS"] += ", " + quote(t.schema.Columns[i].Stored) + " = " + t.mark() + strconv.Itoa(own+i+1)
	}
	if same := strings.TrimPrefix(t.same, " AND "); same != "" {
		names["SAME"] = same
	}
	maps.Copy(all, made)
	text := expanded(queryFiles[t.dialect.Name()].texts, name, names, all)
	if !t.dialect.server() {
		return unnumbered(text)
	}
	return text
}

// parameter finds SQLite's parameters.
var parameter = regexp.MustCompile(`\?\d+`)

// unnumbered takes the numbers off parameters that SQLite gives the same ones: one more than the largest so far.
func unnumbered(text string) string {
	largest := 0
	return parameter.ReplaceAllStringFunc(text, func(word string) string {
		n, _ := strconv.Atoi(word[1:]) // digits
		if n == largest+1 {
			largest = n
			return "?"
		}
		largest = max(largest, n)
		return word
	})
}

// Query is a statement that a store sends, and what it is for, in lines of comments.
type Query struct{ Name, Comment, Text string }

// Queries returns the statements of a machine that are the same for each call, as a store sends them. Where
// it names no schema, the names stand without one, and nothing compares which tables they lead to.
func Queries(d Dialect, schema *driver.Schema) ([]Query, error) {
	t, err := newTable(&Store{dialect: d}, schema)
	if err != nil {
		return nil, err
	}
	t.keep(func(string) bool { return d.server() })
	t.build()
	return t.queries(), nil
}

func (t *table) queries() (list []Query) {
	file := queryFiles[t.dialect.Name()]
	for _, x := range t.writes.all {
		of, _, _ := strings.Cut(x.name, " ")
		if file.texts[of] == "" { // it is a batch, or of an operation
			of = strings.TrimSuffix(of, "_many")
		}
		if file.texts[of] == "" {
			of = "move"
		}
		list = append(list, Query{x.name, file.words[of], x.text().text})
	}
	for _, name := range file.sent {
		list = append(list, Query{name, file.words[name], t.text(name)})
	}
	for i := range t.schema.Parkings {
		p := &t.schema.Parkings[i]
		for _, name := range file.park {
			list = append(list, Query{name + " " + p.Column, file.words[name], t.parked(name, p)})
		}
	}
	return list
}

// text returns a query that the machine has one of.
func (t *table) text(name string) string { return t.textOf(name, name, nil) }

// textOf returns a query that is made once under a key.
func (t *table) textOf(key, name string, made func() map[string]string) string {
	t.mu.RLock()
	text, known := t.texts[key]
	t.mu.RUnlock()
	if known {
		return text
	}
	var words map[string]string
	if made != nil {
		words = made()
	}
	text = t.named(key, t.query(name, words))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.texts[key] = text
	return text
}

// named puts the name of a text behind its first word. There a statistic of the server keeps it, in each version, and
// a pooler that looks at the first word still finds it.
func (t *table) named(name, text string) string {
	first, rest, _ := strings.Cut(text, " ")
	return first + " " + t.says(name) + rest
}

// says is the comment of a text that is sent to a server.
func (t *table) says(name string) string {
	if !t.dialect.server() {
		return ""
	}
	return "/* " + noComment.Replace(t.schema.Machine+": "+name) + " */ "
}

// noComment takes out of a name what ends a comment, or begins one in it.
var noComment = strings.NewReplacer("*", "", "/", "")

// parked returns a query of a pick that parks.
func (t *table) parked(name string, p *driver.Parking) string {
	return t.textOf(name+" "+p.Column, name, func() map[string]string {
		var notes, reasons []string
		for _, r := range p.Rules {
			notes = append(notes, literal(r.Note))
		}
		due := "{no_time_comes}"
		if len(p.Due) > 0 {
			due = "{a_time_has_come}"
			reasons = append(reasons, due)
		}
		if notes != nil {
			reasons = append(reasons, "{there_may_be_room}")
		} else {
			notes = []string{"''"}
		}
		if reasons == nil {
			reasons = []string{"1 = 0"}
		}
		return map[string]string{
			"PARKED": quote(p.Column), "NOTES": strings.Join(notes, ", "), "REASONS": strings.Join(reasons, " OR "), "A_TIME": due,
		}
	})
}

// mark begins a parameter with a number.
func (t *table) mark() string {
	if !t.dialect.server() {
		return "?"
	}
	return "$"
}
