package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
)

// A text that was erased stands in no table that a dump would hold, and the triggers
// stand again afterwards.
func TestRedactedTables(t *testing.T) {
	t.Parallel()
	d := newDepot(t, pgtest.DSN(t))
	dump := func() (text string) {
		for _, table := range []string{"parcel", "parcel_events", "parcel_outbox", "parcel_groups"} {
			var rows string
			if err := d.db.QueryRow(fmt.Sprintf(`SELECT coalesce(string_agg(r::text, chr(10)), '') FROM %q AS r`, table)).Scan(&rows); err != nil {
				t.Fatal(err)
			}
			text += rows
		}
		return strings.ToLower(text)
	}
	ann := storetest.Meta{Actor: "Ann Secret", Reason: "a secret reason"}
	out, err := d.m.Create(t.Context(), storetest.Register(ann, storetest.RegisterInput{ID: "p1", Lane: "a", Tags: fsm.NewSet("a secret tag")}))
	for n := 0; err == nil && n < 70; n++ {
		out, err = d.m.Apply(t.Context(), out, storetest.Annotate(ann, fsm.Some(fsm.MustJSON(`"a secret note"`)), fsm.Optional[string]{}, fsm.Optional[bool]{}))
	}
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(dump(), "secret") {
		t.Error("the test finds nothing before it either")
	}
	o := audit.RedactOptions{Fields: []string{"note", "tags"}, Reasons: true, Actors: true, Actor: "root", Reason: "asked"}
	p, redacted, err := audit.Redact(t.Context(), d.m, "p1", o)
	if !redacted || err != nil {
		t.Fatalf("redacted: %t, %v", redacted, err)
	}
	if text := dump(); strings.Contains(text, "secret") {
		t.Errorf("what was erased is left in\n%s", text)
	}
	if _, err := d.db.Exec(`UPDATE "parcel_events" SET "actor" = 'eve'`); err == nil {
		t.Error("the log can be edited afterwards")
	}
	if _, err := d.db.Exec(`UPDATE "parcel" SET "lane" = 'b'`); err == nil {
		t.Error("the record can be edited afterwards")
	}
	if _, err := d.m.Apply(t.Context(), p, storetest.Annotate(storetest.Meta{}, fsm.Optional[fsm.JSON]{}, fsm.Some("small"), fsm.Optional[bool]{})); err != nil {
		t.Error(err)
	}
}
