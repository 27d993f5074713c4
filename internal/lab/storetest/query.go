package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// shelf makes the rows that the query tests look for.
func (b *bench) shelf() {
	b.Helper()
	add := func(id string, weight int64, label, lane string, tags ...string) Parcel {
		p := parcel(id, lane)
		if weight >= 0 {
			p.Weight = fsm.Some(weight)
		}
		if label != "" {
			p.Label = fsm.Some(label)
		}
		p.Tags = fsm.NewSet(tags...)
		p.CreatedAt = instant.Add(time.Duration(len(id)) * time.Second)
		p.UpdatedAt = p.CreatedAt
		return b.make(p)
	}
	add("d", 5, "Zoe", "x", "t")
	add("a", 7, "anna", "x")
	e := add("e", 5, "", "y", "t", "u")
	add("b", -1, "Ärger", "x")
	c := add("c", 10, "zoe", "y")
	add("ff", 9, "", "y")
	heldC := c.held("ann", instant.Add(2*time.Hour))
	b.commit(change(c, heldC, "hold", ""))
	heldE := e.held("bob", instant.Add(time.Hour))
	b.commit(change(e, heldE, "hold", ""))
	flagged := heldE
	flagged.Rev++
	flagged.Fragile, flagged.Size = fsm.Some(true), fsm.Some("small")
	b.commit(change(heldE, flagged, "annotate", ""))
}

func where(column string, op driver.Op, value any) []driver.Cond {
	return []driver.Cond{{Column: column, Op: op, Value: value}}
}

// queryCases list queries over shelf and the ids they find.
var queryCases = []struct {
	name string
	q    driver.Query
	want string
}{
	{"all by id", driver.Query{}, "a b c d e ff"},
	{"no state", driver.Query{States: []string{}}, ""},
	{"one state", driver.Query{States: []string{"held"}}, "c e"},
	{"two states", driver.Query{States: []string{"sent", "held"}}, "c e"},
	{"limit", driver.Query{Limit: 2}, "a b"},
	{"after", driver.Query{After: "b", Limit: 2}, "c d"},
	{"of some ids", driver.Query{IDs: []string{"ff", "a", "none", "a"}}, "a ff"},
	{"of no ids", driver.Query{IDs: []string{}}, ""},
	{"of some ids in a state", driver.Query{IDs: []string{"a", "c", "d"}, States: []string{"waiting"}, Where: where("lane", driver.OpEq, "x"), Limit: 1}, "a"},
	{"of some ids in an order", driver.Query{IDs: []string{"a", "c", "d"}, Order: []driver.Order{{Column: "weight"}}}, "d a c"},
	{"after one that is not there", driver.Query{After: "bb"}, "c d e ff"},
	{"equal", driver.Query{Where: where("lane", driver.OpEq, "x")}, "a b d"},
	{"equal is bytewise", driver.Query{Where: where("label", driver.OpEq, "zoe")}, "c"},
	{"not equal passes over absent", driver.Query{Where: where("label", driver.OpNe, "zoe")}, "a b d"},
	{"less", driver.Query{Where: where("weight", driver.OpLt, int64(7))}, "d e"},
	{"at most", driver.Query{Where: where("weight", driver.OpLe, int64(7))}, "a d e"},
	{"greater", driver.Query{Where: where("weight", driver.OpGt, int64(7))}, "c ff"},
	{"at least", driver.Query{Where: where("weight", driver.OpGe, int64(7))}, "a c ff"},
	{"text order is bytewise", driver.Query{Where: where("label", driver.OpGt, "zoe")}, "b"},
	{"present", driver.Query{Where: where("weight", driver.OpPresent, nil)}, "a c d e ff"},
	{"absent", driver.Query{Where: where("weight", driver.OpAbsent, nil)}, "b"},
	{"set present", driver.Query{Where: where("tags", driver.OpPresent, nil)}, "d e"},
	{"set absent", driver.Query{Where: where("tags", driver.OpAbsent, nil)}, "a b c ff"},
	{"bool", driver.Query{Where: where("fragile", driver.OpEq, true)}, "e"},
	{"bool not", driver.Query{Where: where("fragile", driver.OpNe, true)}, ""},
	{"enum", driver.Query{Where: where("size", driver.OpEq, "small")}, "e"},
	{"time at", driver.Query{Where: where("due", driver.OpLe, instant.Add(time.Hour))}, "e"},
	{"time before", driver.Query{Where: where("due", driver.OpLt, instant.Add(time.Hour))}, ""},
	{"created_at", driver.Query{Where: where("created_at", driver.OpGt, instant.Add(time.Second))}, "ff"},
	{"updated_at", driver.Query{Where: where("updated_at", driver.OpGe, instant.Add(2*time.Second))}, "ff"},
	{"all conditions", driver.Query{States: []string{"waiting"}, Where: append(where("lane", driver.OpEq, "x"), driver.Cond{Column: "weight", Op: driver.OpLt, Value: int64(7)})}, "d"},
	{"order, ties by id", driver.Query{Order: []driver.Order{{Column: "weight"}}}, "d e a ff c b"},
	{"descending, absent last", driver.Query{Order: []driver.Order{{Column: "weight", Descending: true}}}, "c ff a d e b"},
	{"two keys", driver.Query{Order: []driver.Order{{Column: "lane", Descending: true}, {Column: "weight"}}}, "e ff c d a b"},
	{"order of texts is bytewise", driver.Query{Order: []driver.Order{{Column: "label"}}}, "d a c b e ff"},
	{"order by time", driver.Query{Order: []driver.Order{{Column: "created_at", Descending: true}}}, "ff a b c d e"},
	{"order and limit", driver.Query{Order: []driver.Order{{Column: "weight"}}, Limit: 3}, "d e a"},
	{"behind one key", driver.Query{Order: []driver.Order{{Column: "weight"}}, After: "a", Behind: []any{int64(7)}}, "ff c b"},
	{"behind a tie", driver.Query{Order: []driver.Order{{Column: "weight"}}, After: "d", Behind: []any{int64(5)}, Limit: 2}, "e a"},
	{"behind, descending", driver.Query{Order: []driver.Order{{Column: "weight", Descending: true}}, After: "a", Behind: []any{int64(7)}}, "d e b"},
	{"behind an absent value", driver.Query{Order: []driver.Order{{Column: "label"}}, After: "e", Behind: []any{nil}}, "ff"},
	{"behind two keys", driver.Query{Order: []driver.Order{{Column: "lane", Descending: true}, {Column: "weight"}}, After: "ff", Behind: []any{"y", int64(9)}}, "c d a b"},
	{"behind a time", driver.Query{Order: []driver.Order{{Column: "created_at", Descending: true}}, After: "b", Behind: []any{instant.Add(time.Second)}}, "c d e"},
	{"behind, of a group", driver.Query{
		Where: where("lane", driver.OpEq, "x"), Order: []driver.Order{{Column: "weight", Descending: true}},
		States: []string{"waiting"}, After: "a", Behind: []any{int64(7)},
	}, "d b"},
	{"behind a bool", driver.Query{Order: []driver.Order{{Column: "fragile"}}, After: "e", Behind: []any{true}, Limit: 2}, "a b"},
	{"a hostile text", driver.Query{Where: where("lane", driver.OpEq, `x' OR "1"='1`)}, ""},
}

// A query finds what it says, in its order.
var queryTests = []test{
	{"rows and count", func(b *bench) {
		b.shelf()
		for _, c := range queryCases {
			if got := strings.Join(b.ids(c.q), " "); got != c.want {
				b.Errorf("%s: got %q, want %q", c.name, got, c.want)
			}
			b.view(func(r driver.Reader) error {
				q := c.q
				if len(q.Behind) > 0 {
					return nil
				}
				want := int64(len(b.rowIDs(r, q)))
				got, err := r.Count(c.q)
				if got != want {
					b.Errorf("%s: counted %d, want %d", c.name, got, want)
				}
				return err
			})
		}
	}},
	{"the rows of each state", func(b *bench) {
		b.shelf()
		for _, most := range []int{0, 1, 2, 1000} {
			b.view(func(r driver.Reader) error {
				counts, err := r.CountStates(most)
				sum := int64(0)
				for _, s := range b.schema.States {
					want := int64(len(b.rowIDs(r, driver.Query{States: []string{s.Stored}})))
					got := counts[s.Stored]
					if least := min(want, int64(most)); most == 0 && got != want || got < least || got > want {
						b.Errorf("at most %d: %d rows are %s, want %d", most, got, s.Stored, want)
					}
					sum += got
				}
				if all := int64(len(b.rowIDs(r, driver.Query{}))); most == 1000 && sum != all {
					b.Errorf("%d rows are in states, of %d", sum, all)
				}
				return err
			})
		}
	}},
	{"a lock finds the same rows in a transaction", func(b *bench) {
		b.shelf()
		b.update(func(tx fsm.Tx) error {
			q := driver.Query{States: []string{"waiting"}, Order: []driver.Order{{Column: "weight"}}, Limit: 2, Lock: true}
			if got := b.rowIDs(tx, q); !slices.Equal(got, []string{"d", "a"}) {
				b.Errorf("got %q, want d and a", got)
			}
			return nil
		})
	}},
	{"a walk may end early and be nested", func(b *bench) {
		b.shelf()
		b.view(func(r driver.Reader) error {
			var seen []string
			for row, err := range r.Rows(driver.Query{}) {
				if err != nil {
					return err
				}
				n := 0
				for _, err := range r.Events(row.ID, 0) {
					if err != nil {
						return err
					}
					n++
				}
				again, err := r.Row(row.ID)
				if err != nil {
					return err
				}
				seen = append(seen, fmt.Sprintf("%s:%d:%d", row.ID, n, again.Rev))
				if len(seen) == 3 {
					break
				}
			}
			b.same([]string{"a:1:1", "b:1:1", "c:2:2"}, seen)
			return nil
		})
	}},
	{"pages meet without gap", func(b *bench) {
		for i := range 25 {
			b.make(parcel(fmt.Sprintf("p%02d", i), "a"))
		}
		var all []string
		after := ""
		for {
			page := b.ids(driver.Query{After: after, Limit: 7})
			all = append(all, page...)
			if len(page) < 7 {
				break
			}
			after = page[6]
		}
		if len(all) != 25 || !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != 25 {
			b.Errorf("got %q", all)
		}
	}},
}

func (b *bench) rowIDs(r driver.Reader, q driver.Query) []string {
	b.Helper()
	var ids []string
	for row, err := range r.Rows(q) {
		if err != nil {
			b.Fatal(err)
		}
		ids = append(ids, row.ID)
	}
	return ids
}
