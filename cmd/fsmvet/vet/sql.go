package vet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// SQL finds statements that write a machine's tables past the machine.
var SQL = &analysis.Analyzer{
	Name: "fsmsql",
	Doc: `report SQL that writes the tables of a machine

A row that is written past the machine has no event, keeps no rule and breaks replay:

	db.ExecContext(ctx, "UPDATE lifecycle SET state = 'queued' WHERE id = ?", id) // wrong

Make the step by an operation. The tables are known from the generated packages that
the code imports; -tables names more of them. Reading is right: CONTRACT.md says what
the tables hold. A name is taken for a machine's table only behind INSERT INTO, UPDATE,
DELETE FROM, REPLACE INTO, MERGE INTO or TRUNCATE at the beginning of a statement.
Tests are passed over: some write what a program must not.`,
	URL:      page("fsmsql"),
	Requires: needs,
	Run:      runSQL,
}

// moreTables is the flag of SQL.
var moreTables string

func init() {
	SQL.Flags.StringVar(&moreTables, "tables", "", "tables of machines whose packages the code does not import, with commas between")
}

// writes is a statement that writes: the verb, and the table with or without its schema.
var writes = regexp.MustCompile("(?is)(?:^|;|\\(|\\bAS\\s*\\()\\s*" +
	"(INSERT\\s+(?:OR\\s+\\w+\\s+)?INTO|REPLACE\\s+INTO|UPDATE(?:\\s+OR\\s+\\w+)?(?:\\s+ONLY)?|" +
	"DELETE\\s+FROM(?:\\s+ONLY)?|MERGE\\s+INTO|TRUNCATE(?:\\s+TABLE)?)" +
	"\\s+((?:[\"`\\[]?\\w+[\"`\\]]?\\s*\\.\\s*)?[\"`\\[]?(\\w+)[\"`\\]]?)(.*)")

// rest is what follows the table, by the verb, so that a sentence is no statement.
var rest = map[string]*regexp.Regexp{
	"INSERT":   regexp.MustCompile(`(?is)^\s*(AS\s+\w+\s*)?(\(|VALUES\b|SELECT\b|DEFAULT\b|WITH\b|OVERRIDING\b|$)`),
	"REPLACE":  regexp.MustCompile(`(?is)^\s*(\(|VALUES\b|SELECT\b|DEFAULT\b|$)`),
	"UPDATE":   regexp.MustCompile(`(?is)^\s*(\*\s*)?(AS\s+\w+\s+|\w+\s+)?SET\s+\S`),
	"DELETE":   regexp.MustCompile(`(?is)^\s*(AS\s+\w+\s*|\w+\s+)?(WHERE\b|USING\b|RETURNING\b|;|\)|$)`),
	"MERGE":    regexp.MustCompile(`(?is)^\s*(AS\s+\w+\s+|\w+\s+)?USING\b`),
	"TRUNCATE": regexp.MustCompile(`(?is)^\s*(RESTART\b|CONTINUE\b|CASCADE\b|RESTRICT\b|,|;|$)`),
}

func runSQL(pass *analysis.Pass) (any, error) {
	w := pass.ResultOf[machines].(*world)
	tables := map[string]string{} // to the machine's name
	for _, m := range w.sorted() {
		for _, t := range m.Tables {
			tables[t] = m.Name
		}
	}
	for t := range strings.SplitSeq(moreTables, ",") {
		if t = strings.ToLower(strings.TrimSpace(t)); t != "" {
			tables[t] = t
		}
	}
	if len(tables) == 0 {
		return nil, nil
	}
	for _, f := range w.files {
		if isTest(pass, f) {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text, ok := sqlText(pass, e)
			if !ok {
				return true
			}
			if verb, table, found := written(text, tables); found {
				w.report(pass, e, nil, "%s on %s writes a table of the machine %s past it: "+
					"no rule is kept and no event tells it; make the step by an operation", verb, table, tables[table])
			}
			return false
		})
	}
	return nil, nil
}

// sqlText returns a constant text; of a sum that is not constant, what is known of it.
func sqlText(pass *analysis.Pass, e ast.Expr) (string, bool) {
	if v := pass.TypesInfo.Types[e].Value; v != nil && v.Kind() == constant.String {
		switch e.(type) {
		case *ast.BasicLit, *ast.BinaryExpr, *ast.ParenExpr:
			return constant.StringVal(v), true
		}
		return "", false // a name: its declaration is looked at
	}
	sum, ok := e.(*ast.BinaryExpr)
	if !ok || sum.Op != token.ADD {
		return "", false
	}
	var b strings.Builder
	var add func(ast.Expr)
	add = func(e ast.Expr) {
		e = ast.Unparen(e)
		if s, ok := textOf(pass.TypesInfo, e); ok {
			b.WriteString(s)
		} else if sum, ok := e.(*ast.BinaryExpr); ok && sum.Op == token.ADD {
			add(sum.X)
			add(sum.Y)
		} else {
			b.WriteString("$")
		}
	}
	add(sum)
	return b.String(), true
}

// written returns the first statement of a text that writes one of the tables.
func written(text string, tables map[string]string) (verb, table string, found bool) {
	for text != "" {
		m := writes.FindStringSubmatch(text)
		if m == nil {
			return "", "", false
		}
		verb = strings.ToUpper(strings.Fields(m[1])[0])
		if m[1] != strings.ToUpper(m[1]) && (m[1] != strings.ToLower(m[1]) || strings.TrimSpace(m[4]) == "") {
			text = m[4] // a label or a sentence: "Delete from lifecycle"
			continue
		}
		name := strings.ToLower(m[3])
		if _, ok := tables[name]; ok && rest[verb].MatchString(m[4]) {
			return verb, name, true
		}
		text = m[4]
	}
	return "", "", false
}
