package memstore

import (
	"slices"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Doubles returns the groups of rows that hold one place of a unique rule.
func (v *view) Doubles(u *driver.UniqueRule, after string, limit int) ([]driver.Double, error) {
	rule := &driver.Schema{Columns: v.schema.Columns, Uniques: []driver.UniqueRule{*u}}
	places := map[string]int{} // -> index in list
	var list []driver.Double
	for _, id := range v.table.ids {
		row := v.table.rows[id]
		for _, key := range uniqueKeys(rule, &row) {
			i, met := places[key.text]
			if !met {
				places[key.text] = len(list)
				list = append(list, driver.Double{First: id, Last: id, Count: 1})
				continue
			}
			list[i].Last = id
			list[i].Count++
		}
	}
	list = slices.DeleteFunc(list, func(d driver.Double) bool { return d.Count < 2 || d.First <= after })
	if limit > 0 && len(list) > limit {
		list = list[:limit]
	}
	return list, nil
}

// Loose returns the ids of rows that their log does not end with.
func (v *view) Loose(after string, limit int) ([]string, error) {
	var ids []string
	for _, id := range v.table.ids {
		if id <= after {
			continue
		}
		row := v.table.rows[id]
		ends := false
		for _, e := range slices.Backward(v.table.events[id]) { // by revision: the newest transition decides
			if !e.RecordOnly() {
				ends = e.Rev == row.Rev && e.To == row.State
				break
			}
		}
		if !ends {
			ids = append(ids, id)
		}
		if limit > 0 && len(ids) == limit {
			break
		}
	}
	return ids, nil
}

// Blurred reports false: the log is in the order of the commits.
func (v *view) Blurred(_, _ *driver.Entry) bool { return false }

// Lag finds nothing: one transaction writes at a time.
func (v *view) Lag() (driver.Lag, error) { return driver.Lag{}, nil }

// Misindexed finds nothing: there are no keys beside the rows that are asked.
func (v *view) Misindexed(string) ([]driver.Misindexed, string, error) { return nil, "", nil }
