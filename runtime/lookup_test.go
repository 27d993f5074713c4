package fsm_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// A cursor that the look-up did not give is refused, and so is a page that cannot be.
func TestPageRefusals(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema())
	for i := range 3 {
		must(t)(m.Create(t.Context(), storetest.Register(meta(""), storetest.RegisterInput{ID: fmt.Sprint("p", i), Lane: "a"})))
	}
	page := func(l *fsmimpl.Lookup, value any, p fsm.Page) (fsm.Page, error) {
		_, next, err := m.Page(t.Context(), l, []any{value}, p)
		return next, err
	}
	next, err := page(&storetest.InLane, "a", fsm.Page{Size: 2})
	if err != nil || next.After == "" || next.Size != 2 {
		t.Fatalf("the next page is %+v, %v", next, err)
	}
	text, err := base64.RawURLEncoding.DecodeString(next.After)
	if err != nil {
		t.Fatal(err)
	}
	forged := func(old, now string) string {
		if !strings.Contains(string(text), old) {
			t.Fatalf("the cursor is %s", text)
		}
		return base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(text), old, now, 1)))
	}
	other := storetest.InLane
	other.Order = other.Order[:1]
	for name, c := range map[string]struct {
		l     *fsmimpl.Lookup
		after string
	}{
		"made up":          {&storetest.InLane, "abc"},
		"no text":          {&storetest.InLane, "!"},
		"another look-up":  {&storetest.OfSize, next.After},
		"another order":    {&other, next.After},
		"without an id":    {&storetest.InLane, forged(`"p1"`, `""`)},
		"no time":          {&storetest.InLane, forged(`"2026`, `"x`)},
		"a text with NUL":  {&storetest.InLane, forged(`null`, `"\u0000"`)},
		"more than it has": {&storetest.InLane, forged(`"p1"`, `null,"p1"`)},
	} {
		if _, err := page(c.l, "small", fsm.Page{After: c.after}); !errors.Is(err, fsm.ErrCursor) {
			t.Errorf("%s: %v, want ErrCursor", name, err)
		}
	}
	for name, c := range map[string]struct {
		p     fsm.Page
		value string
		names string
	}{
		"negative": {fsm.Page{Size: -1}, "a", "size"},
		"NUL":      {fsm.Page{}, "a\x00", "lane"},
		"no UTF-8": {fsm.Page{}, "\xff", "lane"},
	} {
		var r *fsm.Refusal
		if _, err := page(&storetest.InLane, c.value, c.p); !errors.As(err, &r) || r.Code != fsm.ErrInvalidInput || r.Name != c.names {
			t.Errorf("%s: %v, want that %s is refused", name, err, c.names)
		}
	}
	if _, err := m.Find(t.Context(), &storetest.ByLabel, []any{"\x00"}); !errors.Is(err, fsm.ErrInvalidInput) {
		t.Errorf("Find: %v", err)
	}
}

// A page without a size has 100 records.
func TestPageSize(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema())
	for i := range 101 {
		must(t)(m.Create(t.Context(), storetest.Register(meta(""), storetest.RegisterInput{ID: fmt.Sprintf("p%03d", i), Lane: "a"})))
	}
	first, next, err := m.Page(t.Context(), &storetest.InLane, []any{"a"}, fsm.Page{})
	if err != nil || len(first) != 100 || next.After == "" {
		t.Fatalf("%d records, next %+v, %v", len(first), next, err)
	}
	rest, last, err := m.Page(t.Context(), &storetest.InLane, []any{"a"}, next)
	if err != nil || len(rest) != 1 || last != (fsm.Page{Size: 100}) {
		t.Errorf("%d records, next %+v, %v", len(rest), last, err)
	}
}

// A list that a store reads in parts is read in one view.
func TestGroupIsOfOneMoment(t *testing.T) {
	t.Parallel()
	store := &wrapped{Store: newStore()}
	m := open(t, store, storetest.Schema())
	unordered := storetest.InLane
	unordered.Order = nil
	must(t)(m.Create(t.Context(), storetest.Register(meta(""), storetest.RegisterInput{ID: "p", Lane: "a"})))
	for l, looks := range map[*fsmimpl.Lookup]int64{&unordered: 0, &storetest.InLane: 1} {
		before := store.looks.Load()
		if _, err := m.Group(t.Context(), l, []any{"a"}); err != nil || store.looks.Load()-before != looks {
			t.Errorf("%d keys of order: %d looks, %v; want %d", len(l.Order), store.looks.Load()-before, err, looks)
		}
	}
}

// A group has all records with the values, and is none where one of them breaks a rule.
func TestGroup(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema())
	for i := range 130 {
		lane := map[bool]string{true: "a", false: "b"}[i%2 == 0]
		must(t)(m.Create(t.Context(), storetest.Register(meta(""), storetest.RegisterInput{ID: fmt.Sprintf("p%03d", i), Lane: lane})))
	}
	group := func(lane string) ([]storetest.Parcel, error) {
		return m.Group(t.Context(), &storetest.InLane, []any{lane})
	}
	found, err := group("b")
	if err != nil || len(found) != 65 || slices.ContainsFunc(found, func(p storetest.Parcel) bool { return p.Lane != "b" }) {
		t.Errorf("%d records, %v, want 65 in lane b", len(found), err)
	}
	if none, err := group("c"); !errors.Is(err, fsm.ErrNotFound) {
		t.Errorf("%d records, %v, want ErrNotFound", len(none), err)
	}
	if _, err := group("\x00"); !errors.Is(err, fsm.ErrInvalidInput) {
		t.Errorf("%v, want that the value is refused", err)
	}
}
