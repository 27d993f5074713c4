package live_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	"github.com/fsmgen/fsmgen/internal/live"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/spec"
)

// The machine of the stores' suite is written by hand: it says of its operations what
// its specification says.
func TestParcelIsItsSpecification(t *testing.T) {
	t.Parallel()
	m, ds := spec.Parse("parcel.yaml", []byte(storetest.Spec))
	if m == nil {
		t.Fatal(ds)
	}
	schema, err := live.Schema(m, "sqlite", "full")
	if err != nil {
		t.Fatal(err)
	}
	type facts struct {
		Name           string
		From, Recorded []string
		Moves          []fsmimpl.Move
		Feeds          []fsmimpl.Feed
	}
	var want, got []facts
	for _, o := range live.Descriptor(m, schema).Operations {
		want = append(want, facts{o.Name, o.From, o.Recorded, o.Moves, o.Feeds})
	}
	for _, o := range storetest.Descriptor(storetest.Schema()).Operations {
		got = append(got, facts{o.Name, o.From, o.Recorded, o.Moves, o.Feeds})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(schema.Operations, storetest.Schema().Operations, cmpopts.EquateEmpty()); diff != "" || schema.NoOutbox {
		t.Error(diff)
	}
	if diff := cmp.Diff(schema.Worked, storetest.Schema().Worked); diff != "" {
		t.Error(diff)
	}
}
