package fsm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// A specification that was edited without a new version tells other feeds than those by which
// its events were made. What an event says that it gave a field goes from its inputs all the same;
// an input of equal value stays where the map tells where the field's value came from.
func TestRedactAfterAnEdit(t *testing.T) {
	t.Parallel()
	store := newStore()
	opened := func(d *fsmimpl.Descriptor[storetest.Parcel]) *fsm.Machine[storetest.Parcel] {
		t.Helper()
		if err := fsmimpl.Migrate(t.Context(), store, d.Schema); err != nil {
			t.Fatal(err)
		}
		m, err := fsm.NewMachine(t.Context(), store, d, effects(nil))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	d := storetest.Descriptor(storetest.Schema())
	m := opened(d)
	out := must(t)(m.Create(t.Context(), storetest.Register(meta("1"), storetest.RegisterInput{ID: "p1", Lane: "ann", Tags: fsm.NewSet("ann")})))
	out = must(t)(m.Apply(t.Context(), out, storetest.Weigh(meta("2"), 4711)))
	note := fsm.Some(fsm.MustJSON(`"ann"`))
	must(t)(m.Apply(t.Context(), out, storetest.Annotate(meta("3"), note, fsm.Some("small"), fsm.Optional[bool]{})))
	for i, op := range d.Operations {
		edited := *op
		if op.Name == "weigh" || op.Name == "annotate" {
			edited.Feeds = nil
		}
		d.Operations[i] = &edited
	}
	m = opened(d)
	o := audit.RedactOptions{Fields: []string{"weight", "tags", "note"}, Actor: "root", Reason: "asked"}
	if _, redacted, err := audit.Redact(t.Context(), m, "p1", o); !redacted || err != nil {
		t.Fatal(redacted, err)
	}
	var got []string
	for e, err := range m.History(t.Context(), "p1") {
		if err != nil {
			t.Fatal(err)
		}
		if e.Operation != "__redact" {
			got = append(got, e.Inputs.String())
		}
	}
	want := []string{
		`{"label":null,"lane":"ann","tags":null,"weight":null}`,
		`{"grams":null}`,
		`{"fragile":null,"note":null,"size":"small"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if found := texts(t, audit.Run(t.Context(), m)); found != nil {
		t.Errorf("the audit found %v", found)
	}
}
