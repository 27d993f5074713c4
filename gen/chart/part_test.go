package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shown says what is on a chart: its nodes, and its edges with the operations.
func shown(c *Chart) (nodes, edges []string) {
	for _, n := range c.Nodes {
		nodes = append(nodes, n.ID)
	}
	for _, e := range c.Edges {
		var ops []string
		for _, s := range e.Steps {
			ops = append(ops, s.Operation.Name)
		}
		edges = append(edges, e.From.ID+" "+strings.Join(ops, "+")+" "+e.To.ID)
	}
	return nodes, edges
}

func TestFocus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		machine, state string
		nodes, edges   []string
	}{
		{"task", "completed", []string{"s_running", "s_completed"},
			[]string{"s_running complete s_completed", "s_completed  x_end"}},
		// Behind a choice point only what touches the state is shown: the way
		// from running to done, and not the one back to running.
		{"jobstate", "done", []string{"s_running", "s_compensating", "s_done", "c_expected_event", "c_compensation_event"},
			[]string{
				"s_running expected_event c_expected_event", "c_expected_event expected_event s_done",
				"s_compensating compensation_event c_compensation_event", "c_compensation_event compensation_event s_done",
				"s_done  x_end",
			}},
	} {
		ch := Of(shipped(t)[c.machine])
		if err := ch.Focus(c.state); err != nil {
			t.Fatal(err)
		}
		nodes, edges := shown(ch)
		if diff := cmp.Diff(c.nodes, nodes); diff != "" {
			t.Errorf("nodes around %s (-want +got):\n%s", c.state, diff)
		}
		if diff := cmp.Diff(c.edges, edges); diff != "" {
			t.Errorf("edges around %s (-want +got):\n%s", c.state, diff)
		}
	}
}

func TestOnly(t *testing.T) {
	t.Parallel()
	ch := Of(shipped(t)["ingest"])
	if err := ch.Only("fail_stalled", "retry_stalled"); err != nil {
		t.Fatal(err)
	}
	nodes, edges := shown(ch)
	if diff := cmp.Diff([]string{"s_pending", "s_running", "s_failed"}, nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	// fail and reschedule share these arrows in the whole machine.
	want := []string{"s_failed retry_stalled s_pending", "s_running fail_stalled s_failed"}
	if diff := cmp.Diff(want, edges); diff != "" {
		t.Errorf("edges (-want +got):\n%s", diff)
	}
	if len(ch.Guards) != 1 || ch.Guards[0].Name != "has_stalled" {
		t.Errorf("guards %v; want those of the operations that are shown", ch.Guards)
	}
}

func TestUnknownPart(t *testing.T) {
	t.Parallel()
	m := shipped(t)["lifecycle"]
	for _, c := range []struct {
		err  error
		want string
	}{
		{Of(m).Focus("runnin"), `the machine has no state "runnin"; did you mean "running"?`},
		{Of(m).Focus("zzz"), `the machine has no state "zzz"; it has: queued, claimed, running, succeeded, failed, stalled`},
		{Of(m).Only("start", "heartbet"), `the machine has no operation "heartbet"; did you mean "heartbeat"?`},
	} {
		if c.err == nil {
			t.Errorf("no error; want %s", c.want)
		} else if diff := cmp.Diff(c.want, c.err.Error()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestWeigh(t *testing.T) {
	t.Parallel()
	ch := Of(shipped(t)["jobstate"])
	recorded, unknown := ch.Weigh([]Traffic{
		{"create", "", "created", false, 1200},
		{"job_kick", "created", "running", false, 1000},
		{"job_kick", "running", "running", true, 7}, // recorded only, on no arrow
		{"expected_event", "running", "running", false, 2000},
		{"expected_event", "running", "done", false, 900},
		{"compensation_event", "compensating", "compensating", true, 5}, // the branch that records only
		{"gone", "running", "done", false, 3},
	})
	if recorded != 7 || unknown != 3 {
		t.Errorf("%d recorded and %d unknown, want 7 and 3", recorded, unknown)
	}
	got := make(map[string]int64)
	for _, e := range ch.Edges {
		got[e.From.ID+" "+e.To.ID] = e.Count
	}
	want := map[string]int64{
		"x_start s_created":                   1200,
		"s_created s_running":                 1000,
		"s_running c_expected_event":          2900,
		"c_expected_event s_done":             900,
		"c_expected_event s_running":          2000,
		"s_running c_error_event":             0,
		"s_running c_other":                   0,
		"c_other s_running":                   0,
		"c_error_event s_compensating":        0,
		"c_error_event s_failed":              0,
		"c_error_event s_running":             0,
		"s_compensating c_compensation_event": 5,
		"c_compensation_event s_done":         0,
		"c_compensation_event s_failed":       0,
		"c_compensation_event s_compensating": 5,
		"s_done x_end":                        0,
		"s_failed x_end":                      0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	for _, e := range ch.Edges {
		if never := ch.NeverTaken(e); never != (e.Count == 0 && e.To.Kind != End) {
			t.Errorf("%s to %s: never taken is %v", e.From.ID, e.To.ID, never)
		}
		if w := ch.Width(e, 6); w < 1 || w > 6 {
			t.Errorf("%s to %s: width %v", e.From.ID, e.To.ID, w)
		}
	}
	for _, f := range Formats {
		if got := string(f.Write(ch)); !strings.Contains(got, "1 200×") || !strings.Contains(got, "never") {
			t.Errorf("%s shows no counts:\n%s", f.Name, got)
		}
		golden(t, "weighed."+f.Name+f.Ext, f.Write(ch))
	}
}
