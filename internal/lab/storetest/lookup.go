package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// lookupTests are about the questions of the application.
var lookupTests = []test{
	{"pages meet without gap", func(b *bench) {
		d := b.open()
		for i := range 7 {
			in := RegisterInput{ID: fmt.Sprintf("p%d", i), Lane: "x"}
			if i%2 == 0 {
				in.Label = fsm.Some(fmt.Sprintf("l%d", 9-i))
			}
			d.registerAt(time.Duration(i%3)*time.Second, in)
		}
		d.registerAt(0, RegisterInput{ID: "other", Lane: "y"})
		d.registerAt(0, RegisterInput{ID: "shelved", Lane: "x"})
		d.moveOut("shelved")
		const want = "p2 p5 p4 p1 p6 p0 p3"
		for size := 1; size <= 8; size++ {
			if got := d.walk(&InLane, "x", size, nil); got != want {
				b.Errorf("pages of %d: got %q, want %q", size, got, want)
			}
		}
	}},
	{"writes in between shift nothing", func(b *bench) {
		d := b.open()
		for i := range 6 {
			d.registerAt(-time.Duration(i)*time.Minute, RegisterInput{ID: fmt.Sprintf("p%d", i), Lane: "x"})
		}
		got := d.walk(&InLane, "x", 2, func(page int) {
			switch page {
			case 1: // before the place, behind it, and one that is passed already
				d.registerAt(time.Minute, RegisterInput{ID: "earlier", Lane: "x"})
				d.registerAt(-150*time.Second, RegisterInput{ID: "between", Lane: "x"})
				d.moveOut("p1")
			case 2:
				d.moveOut("p5")
			}
		})
		if want := "p0 p1 p2 between p3 p4"; got != want {
			b.Errorf("got %q, want %q", got, want)
		}
	}},
	{"by id, beside absent values", func(b *bench) {
		d := b.open()
		for _, id := range []string{"c", "a", "b", "e", "d"} {
			out := d.registerAt(0, RegisterInput{ID: id, Lane: "x"})
			size := map[bool]string{true: "large", false: "small"}[id == "d"]
			d.must(d.Apply(d.ctx, out, Annotate(Meta{}, fsm.Optional[fsm.JSON]{}, fsm.Some(size), fsm.Optional[bool]{})))
		}
		d.registerAt(0, RegisterInput{ID: "unsized", Lane: "x"})
		if got := d.walk(&OfSize, "small", 3, nil); got != "a b c e" {
			b.Errorf("got %q", got)
		}
	}},
	{"one record", func(b *bench) {
		d := b.open()
		d.registerAt(0, RegisterInput{ID: "p", Lane: "x", Label: fsm.Some("l")})
		d.registerAt(0, RegisterInput{ID: "q", Lane: "x"})
		if got, err := d.Find(b.ctx, &ByLabel, []any{"l"}); err != nil || got.ID != "p" {
			b.Errorf("got %q, %v", got.ID, err)
		}
		if got, err := d.Find(b.ctx, &ByLabel, []any{"L"}); !errors.Is(err, fsm.ErrNotFound) {
			b.Errorf("got %q, %v, want ErrNotFound", got.ID, err)
		}
	}},
}

// registerAt makes a parcel at a time.
func (d *depot) registerAt(after time.Duration, in RegisterInput) outcome {
	d.Helper()
	d.tick(after)
	defer d.tick(-after)
	return d.must(d.Create(d.ctx, Register(Meta{}, in)))
}

// moveOut takes a parcel out of the states of InLane.
func (d *depot) moveOut(id string) {
	d.Helper()
	held := d.must(d.Apply(d.ctx, fsm.Ref{ID: id}, Hold(Meta{Actor: "ann"}, "x", instant.Add(time.Hour))))
	d.must(d.Apply(d.ctx, held, Shelve(Meta{}, "slot of "+id, "t")))
}

// walk reads a look-up page by page; between is called after each.
func (d *depot) walk(l *fsmimpl.Lookup, value any, size int, between func(page int)) string {
	d.Helper()
	var ids []string
	page := fsm.Page{Size: size}
	for n := 1; ; n++ {
		found, next, err := d.Page(d.ctx, l, []any{value}, page)
		if err != nil {
			d.Fatal(err)
		}
		if len(found) > size || next.After != "" && len(found) < size {
			d.Errorf("a page of %d has %d records, and there is another one: %t", size, len(found), next.After != "")
		}
		for _, p := range found {
			ids = append(ids, p.ID)
		}
		if next.After == "" {
			return strings.Join(ids, " ")
		}
		if page = next; between != nil {
			between(n)
		}
	}
}
