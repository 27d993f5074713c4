package sqlstore

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

var update = flag.Bool("update", false, "write the golden files")

func parcels(t *testing.T, d Dialect) *table {
	t.Helper()
	tab, err := newTable(&Store{dialect: d}, storetest.Schema())
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// A query says to SQLite which of its conditions hold for few rows, and which
// index to walk along; to PostgreSQL it says neither.
func TestConditions(t *testing.T) {
	t.Parallel()
	at := time.UnixMicro(7).UTC()
	due := func(op driver.Op) driver.Cond { return driver.Cond{Column: "due", Op: op, Value: at} }
	lane := driver.Cond{Column: "lane", Op: driver.OpEq, Value: "a"}
	heavy := driver.Cond{Column: "weight", Op: driver.OpGe, Value: int64(5)}
	with := func(column string, op driver.Op) driver.Cond { return driver.Cond{Column: column, Op: op} }
	by := func(columns ...string) []driver.Order {
		var list []driver.Order
		for _, c := range columns {
			list = append(list, driver.Order{Column: c})
		}
		return list
	}
	held := []string{"held"}
	for name, c := range map[string]struct {
		q                driver.Query
		sqlite, postgres string
	}{
		"no state": {driver.Query{States: []string{}, Where: []driver.Cond{lane}},
			` WHERE 1 = 0 AND "lane" = ? ORDER BY "id"`,
			` WHERE 1 = 0 AND "lane" = $1 ORDER BY "id"`},
		"states alone": {driver.Query{States: []string{"sent", "held"}, After: "i", Limit: 3},
			` WHERE "state" IN ('held', 'sent') AND "id" > ? ORDER BY "id" LIMIT ? + 0`,
			` WHERE "state" IN ('held', 'sent') AND "id" > $1 ORDER BY "id" LIMIT 3`},
		"many": {driver.Query{Limit: maxFew + 1}, ` ORDER BY "id" LIMIT ? + 0`, ` ORDER BY "id" LIMIT $1`},
		"states that the schema does not know": {driver.Query{States: []string{"z", "held", "b", "z"}},
			` WHERE "state" IN ('held', 'b', 'z') ORDER BY "id"`,
			` WHERE "state" IN ('held', 'b', 'z') ORDER BY "id"`},
		"a condition that most rows fit": {driver.Query{States: held, Where: []driver.Cond{lane}},
			` WHERE likelihood("state" IN ('held'), 0.9) AND "lane" = ? ORDER BY "id"`,
			` WHERE "state" IN ('held') AND "lane" = $1 ORDER BY "id"`},
		"a walk along an order": {driver.Query{States: held, Where: []driver.Cond{lane}, Order: by("due")},
			` WHERE likelihood("state" IN ('held'), 0.9) AND "lane" = ? AND likelihood(("due" IS NULL) >= 0, 0.0001) ORDER BY "due" IS NULL, "due", "id"`,
			` WHERE "state" IN ('held') AND "lane" = $1 ORDER BY "due" NULLS LAST, "id"`},
		"the order's first key has one value": {driver.Query{States: held, Where: []driver.Cond{lane}, Order: by("lane", "moves")},
			` WHERE likelihood("state" IN ('held'), 0.9) AND "lane" = ? AND likelihood("moves" >= -9223372036854775808, 0.0001) ORDER BY "lane", "moves", "id"`,
			` WHERE "state" IN ('held') AND "lane" = $1 ORDER BY "lane", "moves", "id"`},
		"no key of the order decides": {driver.Query{States: held, Where: []driver.Cond{lane}, Order: by("lane")},
			` WHERE likelihood("state" IN ('held'), 0.9) AND "lane" = ? ORDER BY "lane", "id"`,
			` WHERE "state" IN ('held') AND "lane" = $1 ORDER BY "lane", "id"`},
		"an order without states": {driver.Query{Order: by("updated_at")},
			` ORDER BY "updated_at", "id"`,
			` ORDER BY "updated_at", "id"`},
		"a deadline": {driver.Query{States: held, Where: []driver.Cond{due(driver.OpLe)}},
			` WHERE likelihood("state" IN ('held'), 0.9) AND likelihood("due" <= ?, 0.0001) ORDER BY "id"`,
			` WHERE "state" IN ('held') AND "due" <= $1 ORDER BY "id"`},
		"a deadline in its order needs no walk": {driver.Query{States: held, Where: []driver.Cond{due(driver.OpLe)}, Order: by("due")},
			` WHERE likelihood("state" IN ('held'), 0.9) AND likelihood("due" <= ?, 0.0001) ORDER BY "due", "id"`,
			` WHERE "state" IN ('held') AND "due" <= $1 ORDER BY "due", "id"`},
		"a deadline in another order": {driver.Query{Where: []driver.Cond{due(driver.OpLt)}, Order: by("moves")},
			` WHERE "due" < ? ORDER BY "moves", "id"`,
			` WHERE "due" < $1 ORDER BY "moves", "id"`},
		"a number in its order": {driver.Query{Where: []driver.Cond{heavy}, Order: by("weight")},
			` WHERE likelihood("weight" >= ?, 0.0001) ORDER BY "weight", "id"`,
			` WHERE "weight" >= $1 ORDER BY "weight", "id"`},
		"a number without an order": {driver.Query{Where: []driver.Cond{heavy}},
			` WHERE "weight" >= ? ORDER BY "id"`,
			` WHERE "weight" >= $1 ORDER BY "id"`},
		"equal and unequal instants": {driver.Query{Where: []driver.Cond{due(driver.OpEq), due(driver.OpNe)}},
			` WHERE "due" = ? AND "due" <> ? ORDER BY "id"`,
			` WHERE "due" = $1 AND "due" <> $2 ORDER BY "id"`},
		"unequal in its order": {driver.Query{Where: []driver.Cond{due(driver.OpNe)}, Order: by("due")},
			` WHERE "due" <> ? ORDER BY "due", "id"`,
			` WHERE "due" <> $1 ORDER BY "due", "id"`},
		"the order of what is absent": {driver.Query{Where: []driver.Cond{with("due", driver.OpAbsent)}, Order: by("due")},
			` WHERE "due" IS NULL ORDER BY "due" IS NULL, "due", "id"`,
			` WHERE "due" IS NULL ORDER BY "due" NULLS LAST, "id"`},
		"the order of what is present": {driver.Query{Where: []driver.Cond{with("due", driver.OpPresent)}, Order: by("due")},
			` WHERE "due" IS NOT NULL ORDER BY "due", "id"`,
			` WHERE "due" IS NOT NULL ORDER BY "due", "id"`},
		"what sets hold": {driver.Query{Where: []driver.Cond{with("tags", driver.OpPresent), with("tags", driver.OpAbsent), {Column: "tags", Op: driver.OpEq, Value: "[]"}}},
			` WHERE (json_array_length("tags") > 0) AND NOT (json_array_length("tags") > 0) AND "tags" = ? ORDER BY "id"`,
			` WHERE (json_array_length("tags") > 0) AND NOT (json_array_length("tags") > 0) AND "tags"::text = $1 ORDER BY "id"`},
		"an order behind what is absent": {driver.Query{States: held, Where: []driver.Cond{with("due", driver.OpAbsent)}, Order: by("moves")},
			` WHERE likelihood("state" IN ('held'), 0.9) AND "due" IS NULL AND likelihood("moves" >= -9223372036854775808, 0.0001) ORDER BY "due", "moves", "id"`,
			` WHERE "state" IN ('held') AND "due" IS NULL ORDER BY "due", "moves", "id"`},
		"what is not parked, by id": {driver.Query{States: held, Park: &driver.Parking{Column: "p"}},
			` WHERE likelihood("state" IN ('held'), 0.9) AND "p" IS NULL AND likelihood("id" >= '', 0.0001) ORDER BY "id"`,
			` WHERE "state" IN ('held') AND "p" IS NULL ORDER BY "id"`},
		"compared with what is absent": {driver.Query{Where: []driver.Cond{with("lane", driver.OpEq)}},
			` WHERE 1 = 0 ORDER BY "id"`,
			` WHERE 1 = 0 ORDER BY "id"`},
	} {
		for d, want := range map[Dialect]string{SQLite(): c.sqlite, Postgres(): c.postgres} {
			b, err := parcels(t, d).selectRows(&c.q)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			_, got, _ := strings.Cut(strings.Replace(b.String(), `"main".`, "", 1), `FROM "parcel"`)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, d.Name(), diff)
			}
		}
	}
	for name, q := range map[string]driver.Query{
		"unknown comparison": {Where: []driver.Cond{{Column: "lane", Op: 99, Value: "a"}}},
		`no column "x"`:      {Where: []driver.Cond{{Column: "x", Op: driver.OpEq, Value: "a"}}},
		`no column "y"`:      {Order: by("y")},
		`no column "z"`:      {States: held, Order: by("z")},
	} {
		if _, err := parcels(t, SQLite()).selectRows(&q); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error that says %s", err, name)
		}
	}
}

// Who lists one state asks for the open records besides, whatever column says the state: a rule's
// index over that column may lack rows. Who picks has an index of its own.
func TestListsAskForOpenRecords(t *testing.T) {
	t.Parallel()
	tab := parcels(t, Postgres())
	tab.keep(func(column string) bool { return column == "_open" || column == "_in_held" })
	for want, q := range map[string]driver.Query{
		` WHERE "_in_held" AND "_open" ORDER BY "id"`:             {States: []string{"held"}},
		` WHERE "_in_held" ORDER BY "moves", "id"`:                {States: []string{"held"}, Order: []driver.Order{{Column: "moves"}}},
		` WHERE "_in_held" AND "p" IS NULL ORDER BY "id"`:         {States: []string{"held"}, Park: &driver.Parking{Column: "p"}},
		` WHERE "state" IN ('waiting') AND "_open" ORDER BY "id"`: {States: []string{"waiting"}},
	} {
		b, err := tab.selectRows(&q)
		if err != nil {
			t.Fatal(err)
		}
		if _, got, _ := strings.Cut(b.String(), `FROM "parcel"`); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// However many ids a query names, its text on a server is one.
func TestIDsAreOneParameter(t *testing.T) {
	t.Parallel()
	tab := parcels(t, Postgres())
	for want, ids := range map[string][]string{`{"a"}`: {"a"}, `{"a","b \"\\c","a"}`: {"a", `b "\c`, "a"}} {
		b, err := tab.selectRows(&driver.Query{IDs: ids})
		if err != nil {
			t.Fatal(err)
		}
		const text = ` WHERE "id" = ANY($1::text::text[]) ORDER BY "id"`
		if _, got, _ := strings.Cut(b.String(), `FROM "parcel"`); got != text || len(b.args) != 1 || b.args[0] != want {
			t.Errorf("got  %s with %q\nwant %s with %q", got, b.args, text, want)
		}
	}
}
