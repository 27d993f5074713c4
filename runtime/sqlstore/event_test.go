package sqlstore

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// What a column holds is the same whether it is sent by itself or in an array, by its place
// or as a value.
func TestColumnsOfAnEvent(t *testing.T) {
	t.Parallel()
	full := &driver.Event{
		ID: `a "b" \c`, Rev: 7, N: 1, Operation: "op", Name: "name", From: "from", To: "to",
		At: time.UnixMicro(1).UTC(), Actor: "actor", Reason: "reason", RequestID: "r", RequestN: -1,
		Fingerprint: "f", Labels: map[string]string{"k": `"`}, Inputs: driver.RawJSON(`{"x":1}`),
		Changes: driver.RawJSON(`{"y":"z"}`), Image: driver.RawJSON(`{}`), Version: 3, Cause: "cause",
		Guard: "guard", Sum: 1<<32 - 1,
	}
	for name, c := range map[string]struct {
		event *driver.Event
		want  []any
	}{
		"all of them": {full, []any{`a "b" \c`, int64(7), int64(1), "op", "name", "from", "to", full.At, "actor",
			"reason", "r", int64(-1), "f", `{"k":"\""}`, `{"x":1}`, `{"y":"z"}`, "{}", int64(3), "cause", "guard",
			int64(1<<32 - 1)}},
		"none of them": {&driver.Event{}, []any{"", int64(0), int64(0), "", "", nil, "", time.Time{}, "", "", nil,
			int64(0), "", nil, nil, nil, nil, int64(0), nil, nil, int64(0)}},
	} {
		x, w := &writeText{cells: eventCells()}, &driver.Write{Event: *c.event}
		server, file := &table{dialect: Postgres()}, &table{dialect: sqlite{}}
		if diff := cmp.Diff(c.want, x.args(server, w)); diff != "" {
			t.Errorf("%s, to a server (-want +got):\n%s", name, diff)
		}
		in := slices.Clone(c.want)
		in[7] = c.event.At.UnixMicro()
		if diff := cmp.Diff(in, x.args(file, w)); diff != "" {
			t.Errorf("%s, to a file (-want +got):\n%s", name, diff)
		}
		for i, want := range c.want {
			var place, value arrays
			place.add(eventColumns[i].value(c.event))
			value.add(want)
			if got, want := place.end(), value.end(); got != want {
				t.Errorf("%s: %s is %s in an array, want %s", name, eventColumns[i].name, got, want)
			}
		}
	}
}
