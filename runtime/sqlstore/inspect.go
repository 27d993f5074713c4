package sqlstore

import (
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Doubles returns the groups of rows that hold one place of a unique rule. It
// reads the rows themselves and trusts no index, for as long as the caller waits.
func (r *reader) Doubles(u *driver.UniqueRule, after string, limit int) ([]driver.Double, error) {
	b := &text{d: r.t.dialect}
	fmt.Fprintf(b, `SELECT %smin("id"), max("id"), count(*) FROM %s`, r.t.says("doubles"), r.t.name)
	word := " WHERE "
	if u.States != nil {
		b.WriteString(word + r.t.states(u.States))
		word = " AND "
	}
	var keys []string
	for _, name := range u.Columns {
		kind, err := r.t.kind(name)
		if err != nil {
			return nil, err
		}
		b.WriteString(word + quote(name) + " IS NOT NULL")
		word = " AND "
		keys = append(keys, r.t.dialect.operand(quote(name), kind))
	}
	if len(keys) > 0 {
		b.WriteString(" GROUP BY " + strings.Join(keys, ", "))
	}
	fmt.Fprintf(b, ` HAVING count(*) > 1 AND min("id") > %s ORDER BY 1%s`, b.arg(after), r.t.dialect.limit(b.arg(unlimited(limit))))
	var list []driver.Double
	hasten, err := r.patient()
	if err != nil {
		return nil, err
	}
	defer hasten()
	err = r.each(b.String(), b.args, func(rows Rows) error {
		var d driver.Double
		err := rows.Scan(&d.First, &d.Last, &d.Count)
		list = append(list, d)
		return err
	})
	return list, err
}

// lastID is behind all ids, which are shorter.
var lastID = strings.Repeat("\U0010FFFF", driver.MaxID/4+1)

// Loose returns the ids of rows that their log does not end with.
func (r *reader) Loose(after string, limit int) ([]string, error) {
	return r.inWindows("loose", "id_behind", after, limit, unlimited(limit))
}

// logWindow is how many events one statement looks at for what their records lack.
const logWindow = 10_000

// Orphans returns ids that have events but no row.
func (r *reader) Orphans(after string, limit int) ([]string, error) {
	return r.inWindows("orphans", "logged_behind", after, limit, logWindow)
}

// inWindows returns at most limit ids that a query finds behind one. A statement looks at a window that
// another query finds the end of: a server ends one that takes long.
func (r *reader) inWindows(query, behind, after string, limit int, window int64) (found []string, err error) {
	most := unlimited(limit)
	for {
		end, err := r.ids(r.t.text(behind), after, window-1)
		if err != nil {
			return nil, err
		}
		upTo := lastID
		if len(end) > 0 {
			upTo = end[0]
		}
		ids, err := r.ids(r.t.text(query), after, upTo, most-int64(len(found)))
		found = append(found, ids...)
		if err != nil || len(end) == 0 || int64(len(found)) >= most {
			return found, err
		}
		after = end[0]
	}
}
