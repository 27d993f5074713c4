package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
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

func where(column string, op fsm.Op, value any) []fsm.Cond {
	return []fsm.Cond{{Column: column, Op: op, Value: value}}
}

// queryCases list queries over shelf and the ids they find.
var queryCases = []struct {
	name string
	q    fsm.Query
	want string
}{
	{"all by id", fsm.Query{}, "a b c d e ff"},
	{"no state", fsm.Query{States: []string{}}, ""},
	{"one state", fsm.Query{States: []string{"held"}}, "c e"},
	{"two states", fsm.Query{States: []string{"sent", "held"}}, "c e"},
	{"limit", fsm.Query{Limit: 2}, "a b"},
	{"after", fsm.Query{After: "b", Limit: 2}, "c d"},
	{"after one that is not there", fsm.Query{After: "bb"}, "c d e ff"},
	{"equal", fsm.Query{Where: where("lane", fsm.OpEq, "x")}, "a b d"},
	{"equal is bytewise", fsm.Query{Where: where("label", fsm.OpEq, "zoe")}, "c"},
	{"not equal passes over absent", fsm.Query{Where: where("label", fsm.OpNe, "zoe")}, "a b d"},
	{"less", fsm.Query{Where: where("weight", fsm.OpLt, int64(7))}, "d e"},
	{"at most", fsm.Query{Where: where("weight", fsm.OpLe, int64(7))}, "a d e"},
	{"greater", fsm.Query{Where: where("weight", fsm.OpGt, int64(7))}, "c ff"},
	{"at least", fsm.Query{Where: where("weight", fsm.OpGe, int64(7))}, "a c ff"},
	{"text order is bytewise", fsm.Query{Where: where("label", fsm.OpGt, "zoe")}, "b"},
	{"present", fsm.Query{Where: where("weight", fsm.OpPresent, nil)}, "a c d e ff"},
	{"absent", fsm.Query{Where: where("weight", fsm.OpAbsent, nil)}, "b"},
	{"set present", fsm.Query{Where: where("tags", fsm.OpPresent, nil)}, "d e"},
	{"set absent", fsm.Query{Where: where("tags", fsm.OpAbsent, nil)}, "a b c ff"},
	{"bool", fsm.Query{Where: where("fragile", fsm.OpEq, true)}, "e"},
	{"bool not", fsm.Query{Where: where("fragile", fsm.OpNe, true)}, ""},
	{"enum", fsm.Query{Where: where("size", fsm.OpEq, "small")}, "e"},
	{"time at", fsm.Query{Where: where("due", fsm.OpLe, instant.Add(time.Hour))}, "e"},
	{"time before", fsm.Query{Where: where("due", fsm.OpLt, instant.Add(time.Hour))}, ""},
	{"created_at", fsm.Query{Where: where("created_at", fsm.OpGt, instant.Add(time.Second))}, "ff"},
	{"updated_at", fsm.Query{Where: where("updated_at", fsm.OpGe, instant.Add(2*time.Second))}, "ff"},
	{"all conditions", fsm.Query{States: []string{"waiting"}, Where: append(where("lane", fsm.OpEq, "x"), fsm.Cond{Column: "weight", Op: fsm.OpLt, Value: int64(7)})}, "d"},
	{"order, ties by id", fsm.Query{Order: []fsm.Order{{Column: "weight"}}}, "d e a ff c b"},
	{"descending, absent last", fsm.Query{Order: []fsm.Order{{Column: "weight", Descending: true}}}, "c ff a d e b"},
	{"two keys", fsm.Query{Order: []fsm.Order{{Column: "lane", Descending: true}, {Column: "weight"}}}, "e ff c d a b"},
	{"order of texts is bytewise", fsm.Query{Order: []fsm.Order{{Column: "label"}}}, "d a c b e ff"},
	{"order by time", fsm.Query{Order: []fsm.Order{{Column: "created_at", Descending: true}}}, "ff a b c d e"},
	{"order and limit", fsm.Query{Order: []fsm.Order{{Column: "weight"}}, Limit: 3}, "d e a"},
	{"a hostile text", fsm.Query{Where: where("lane", fsm.OpEq, `x' OR "1"='1`)}, ""},
}

// A query finds what it says, in its order.
var queryTests = []test{
	{"rows and count", func(b *bench) {
		b.shelf()
		for _, c := range queryCases {
			if got := strings.Join(b.ids(c.q), " "); got != c.want {
				b.Errorf("%s: got %q, want %q", c.name, got, c.want)
			}
			b.view(func(r fsm.Reader) error {
				q := c.q
				q.Limit = 0
				want := int64(len(b.rowIDs(r, q)))
				got, err := r.Count(c.q)
				if got != want {
					b.Errorf("%s: counted %d, want %d", c.name, got, want)
				}
				return err
			})
		}
	}},
	{"a lock finds the same rows in a transaction", func(b *bench) {
		b.shelf()
		b.update(func(tx fsm.Tx) error {
			q := fsm.Query{States: []string{"waiting"}, Order: []fsm.Order{{Column: "weight"}}, Limit: 2, Lock: true}
			if got := b.rowIDs(tx, q); !slices.Equal(got, []string{"d", "a"}) {
				b.Errorf("got %q, want d and a", got)
			}
			return nil
		})
	}},
	{"a walk may end early and be nested", func(b *bench) {
		b.shelf()
		b.view(func(r fsm.Reader) error {
			var seen []string
			for row, err := range r.Rows(fsm.Query{}) {
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
			page := b.ids(fsm.Query{After: after, Limit: 7})
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

func (b *bench) rowIDs(r fsm.Reader, q fsm.Query) []string {
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
