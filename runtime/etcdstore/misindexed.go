package etcdstore

import (
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// The places of Misindexed: behind the row of an id, or from a key on.
const (
	placeRow = "row "
	placeKey = "key "
)

// Misindexed looks first at what each row should be found under, and then at what
// each key says.
func (r reader) Misindexed(place string) ([]driver.Misindexed, string, error) {
	if key, ok := strings.CutPrefix(place, placeKey); ok {
		return r.strayKeys(key)
	}
	return r.strayRows(strings.TrimPrefix(place, placeRow))
}

// shelved returns the keys under which a row is found, and what they say.
func (t *table) shelved(row *driver.Row) map[string]string {
	keys := map[string]string{}
	for _, e := range t.indexes(row) {
		keys[e.key] = e.value
	}
	for _, p := range t.taken(row) {
		keys[p.key] = row.ID
	}
	return keys
}

// strayRows looks at the rows behind an id.
func (r reader) strayRows(after string) (wrong []driver.Misindexed, place string, err error) {
	var list []driver.Row
	var names []string
	sp := below(r.t.keys.row("")) // no commit is to depend on all of it
	if after != "" {
		sp.from = next(r.t.keys.row(after))
	}
	err = r.walk(sp, false, func(e entry) (bool, error) {
		row := r.t.rowAsItIs(strings.TrimPrefix(e.key, r.t.keys.row("")), e.value)
		list = append(list, row)
		for key := range r.t.shelved(&row) {
			names = append(names, key)
		}
		return len(list) < pageSize, nil
	})
	if err == nil {
		err = r.load(names...)
	}
	if err != nil {
		return nil, "", err
	}
	for i := range list {
		id := list[i].ID
		for key, want := range r.t.shelved(&list[i]) {
			value, found, err := r.get(key)
			switch {
			case err != nil:
				return nil, "", err
			case !found:
				wrong = append(wrong, driver.Misindexed{ID: id, Key: key, Problem: "is missing: the record is not found by it"})
			case string(value) != want:
				wrong = append(wrong, driver.Misindexed{ID: id, Key: key, Problem: fmt.Sprintf("says %q, the record %q", value, want)})
			}
		}
	}
	if len(list) < pageSize {
		return wrong, placeKey + r.t.keys.base + partUnique, nil
	}
	return wrong, placeRow + list[len(list)-1].ID, nil
}

// strayKeys looks at the keys from one on: those of the places, the states, the
// other indexes.
func (r reader) strayKeys(from string) (wrong []driver.Misindexed, place string, err error) {
	base := r.t.keys.base
	parts := []string{partUnique, partState, partIndex}
	at := 0
	for i, part := range parts {
		if strings.HasPrefix(from, base+part) {
			at = i
		}
	}
	part := parts[at]
	sp := span{from, below(base + part).to}
	var list []entry
	err = r.walk(sp, false, func(e entry) (bool, error) {
		list = append(list, e)
		return len(list) < pageSize, nil
	})
	ids := make([]string, len(list))
	names := make([]string, len(list))
	for i, e := range list {
		switch part {
		case partUnique:
			ids[i] = string(e.value)
		case partState:
			_, ids[i], _ = strings.Cut(strings.TrimPrefix(e.key, base+part), "\x00")
		default:
			_, ids[i] = cutIndexed(e.value)
		}
		names[i] = r.t.keys.row(ids[i])
	}
	if err == nil {
		err = r.load(names...)
	}
	if err != nil {
		return nil, "", err
	}
	for i, e := range list {
		text, found, err := r.get(names[i])
		if err != nil {
			return nil, "", err
		}
		if !found {
			wrong = append(wrong, driver.Misindexed{ID: ids[i], Key: e.key, Problem: fmt.Sprintf("is left over: there is no record %q", ids[i])})
			continue
		}
		row := r.t.rowAsItIs(ids[i], text)
		if want, is := r.t.shelved(&row)[e.key]; !is || want != string(e.value) {
			wrong = append(wrong, driver.Misindexed{ID: ids[i], Key: e.key, Problem: fmt.Sprintf("is left over: the record %q is not to be found by it", ids[i])})
		}
	}
	switch {
	case len(list) == pageSize:
		return wrong, placeKey + next(list[len(list)-1].key), nil
	case at+1 < len(parts):
		return wrong, placeKey + base + parts[at+1], nil
	}
	return wrong, "", nil
}
