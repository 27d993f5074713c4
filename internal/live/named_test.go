package live_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/examples/events/jobstate"
	"github.com/fsmgen/fsmgen/examples/machines/pod"
	"github.com/fsmgen/fsmgen/examples/machines/riverjob"
	"github.com/fsmgen/fsmgen/examples/webhook/notice"
	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/live"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// byName is a machine that is called by names alone.
type byName interface {
	named(ctx context.Context, operation, id string, values map[string]any) ([]fsm.Event, error)
	operation(name string) (takes []fsmimpl.Argument, rules []fsmimpl.Rule, doc string)
}

type names[R any] struct{ *fsm.Machine[R] }

func (n names[R]) named(ctx context.Context, operation, id string, values map[string]any) ([]fsm.Event, error) {
	call, err := n.Descriptor().Named(operation, id, values, fsmimpl.Caller{RequestID: "r1", Actor: "ann"})
	if err != nil {
		return nil, err
	}
	out, err := n.Create(ctx, call)
	return out.Events, err
}

func (n names[R]) operation(name string) (takes []fsmimpl.Argument, rules []fsmimpl.Rule, doc string) {
	for _, op := range n.Descriptor().Operations {
		if op.Name == name {
			return op.Takes, op.Rules, op.Doc
		}
	}
	return nil, nil, ""
}

// clocked is an empty store, and a clock that stands still.
func clocked(t *testing.T, migrate func(context.Context, fsm.Store) error) (fsm.Store, fsm.Option) {
	t.Helper()
	store := memstore.New()
	t.Cleanup(func() { store.Close() })
	if err := migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	return store, fsm.WithClock(func() time.Time { return noon })
}

// without is a machine without its package.
func without(t *testing.T, name string, migrate func(context.Context, fsm.Store) error) byName {
	t.Helper()
	store, clock := clocked(t, migrate)
	m := machine(t, name)
	schema, err := live.Schema(m, "", "full")
	if err != nil {
		t.Fatal(err)
	}
	core, err := fsm.NewMachine(t.Context(), store, live.Descriptor(m, schema), nil, clock)
	if err != nil {
		t.Fatal(err)
	}
	return names[interp.Record]{core}
}

func rivers(t *testing.T) *riverjob.Machine {
	t.Helper()
	store, clock := clocked(t, riverjob.Migrate)
	m, err := riverjob.Open(t.Context(), store, riverjob.Sources{
		Rescue: func(riverjob.Job, time.Time) (riverjob.RescueInput, error) { return riverjob.RescueInput{}, nil },
	}, clock)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func pods(t *testing.T) *pod.Machine {
	t.Helper()
	store, clock := clocked(t, pod.Migrate)
	m, err := pod.Open(t.Context(), store, pod.Sources{
		ExceedDeadline: func(pod.Pod, time.Time) (pod.ExceedDeadlineInput, error) { return pod.ExceedDeadlineInput{}, nil },
		Collect:        func(pod.Pod, time.Time) (pod.CollectInput, error) { return pod.CollectInput{}, nil },
	}, clock)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func plans(t *testing.T) *jobstate.Machine {
	t.Helper()
	store, clock := clocked(t, jobstate.Migrate)
	m, err := jobstate.Open(t.Context(), store, clock)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A call by name writes the event of the typed call, with the package and without it.
func TestNamedIsTheMethod(t *testing.T) {
	t.Parallel()
	zoned := noon.Add(time.Hour + 7).In(time.FixedZone("elsewhere", 3600))
	job, err := rivers(t).Insert(t.Context(), "j1", riverjob.InsertInput{
		Pending: true, Kind: "mail", Queue: "slow", Args: fsm.MustJSON(`{"to": "ann"}`), Priority: 2, MaxAttempts: 3,
		UniqueKey: fsm.Some("k"), ScheduledAt: zoned,
	}, fsm.Call{RequestID: "r1", Actor: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := plans(t).Create(t.Context(), "p1", jobstate.CreateInput{
		CompensationPolicy: fsm.Some("manual"), Expected: fsm.NewSet("b", "a"),
	}, fsm.Call{RequestID: "r1", Actor: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	made, err := pods(t).Create(t.Context(), "c1", pod.CreateInput{
		RestartPolicy: pod.RestartPolicyOnFailure, Containers: 2, Deadline: fsm.Some(zoned),
	}, fsm.Call{RequestID: "r1", Actor: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, operation, id string
		machines            []byName
		values              map[string]any
		want                []fsm.Event
	}{
		{
			"riverjob", "insert", "j1", []byName{names[riverjob.Job]{rivers(t).Core()}, without(t, "machines/riverjob", riverjob.Migrate)},
			map[string]any{
				"pending": true, "kind": "mail", "queue": "slow", "args": ` {"to":"ann"}`, "priority": int64(2), "max_attempts": int64(3),
				"unique_key": "k", "scheduled_at": zoned,
			}, job.Events,
		},
		{
			"jobstate", "create", "p1", []byName{names[jobstate.Job]{plans(t).Core()}, without(t, "jobstate", jobstate.Migrate)},
			map[string]any{"compensation_policy": "manual", "expected": `["a","b","a"]`}, plan.Events,
		},
		{
			"pod", "create", "c1", []byName{names[pod.Pod]{pods(t).Core()}, without(t, "machines/pod", pod.Migrate)},
			map[string]any{"restart_policy": "on_failure", "containers": int64(2), "deadline": zoned}, made.Events,
		},
	} {
		for i, m := range c.machines {
			got, err := m.named(t.Context(), c.operation, c.id, c.values)
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(driver.JSON{})); err != nil || diff != "" {
				t.Errorf("%s, machine %d: %v\n%s", c.name, i, err, diff)
			}
		}
		takes, rules, doc := c.machines[0].operation(c.operation)
		liveTakes, liveRules, liveDoc := c.machines[1].operation(c.operation)
		if diff := cmp.Diff(takes, liveTakes) + cmp.Diff(rules, liveRules) + cmp.Diff(doc, liveDoc); diff != "" {
			t.Errorf("%s: what people read (-package +specification):\n%s", c.name, diff)
		}
	}
}

const noValue = ", which is not a value of its type"

// What is wrong with a call by name is said before anything is decided.
func TestWronglyNamed(t *testing.T) {
	t.Parallel()
	with, alone := names[riverjob.Job]{rivers(t).Core()}, without(t, "machines/riverjob", riverjob.Migrate)
	good := map[string]any{
		"pending": false, "kind": "mail", "queue": "slow", "args": `{}`, "priority": int64(2), "max_attempts": int64(3), "scheduled_at": noon,
	}
	for _, c := range []struct {
		operation, input string
		value            any
		want, without    string
	}{
		{"insert", "colour", "red", "input colour: the operation has no such input", ""},
		{"insert", "kind", nil, "input kind: it is required and missing", ""},
		{"insert", "pending", nil, "input pending: it is required and missing", ""},
		{"insert", "kind", int64(3), "input kind: it holds int64, expected string", "input kind: it holds int64" + noValue},
		{"insert", "priority", "2", "input priority: it holds string, expected int64", "input priority: it holds string" + noValue},
		{"insert", "unique_key", true, "input unique_key: it holds bool, expected string", "input unique_key: it holds bool" + noValue},
		{"insert", "args", "{", "input args: not JSON: unexpected end of JSON input", ""},
		{"insert", "args", int64(1), "input args: it holds int64, expected a string", "input args: it holds int64" + noValue},
		{"rescue", "", nil, "only the machine itself runs rescue of riverjob", ""},
		{"vanish", "", nil, `riverjob has no operation "vanish"`, ""},
	} {
		values := map[string]any{}
		for name, v := range good {
			values[name] = v
		}
		if values[c.input] = c.value; c.input == "" {
			values = nil
		}
		for i, m := range []byName{with, alone} {
			want := c.want
			if i == 1 && c.without != "" {
				want = c.without
			}
			_, err := m.named(t.Context(), c.operation, "j1", values)
			var input *fsmimpl.InputError
			if err == nil || err.Error() != want || errors.As(err, &input) != (c.input != "") || input != nil && input.Input != c.input {
				t.Errorf("%s with %s %v, machine %d: %v, want %s", c.operation, c.input, c.value, i, err, want)
			}
		}
	}
	for i, m := range []byName{names[pod.Pod]{pods(t).Core()}, without(t, "machines/pod", pod.Migrate)} {
		want := `input restart_policy: ` + `it is "once", expected always, on_failure or never`
		values := map[string]any{"restart_policy": "once", "containers": int64(1)}
		if _, err := m.named(t.Context(), "create", "c1", values); err == nil || err.Error() != want {
			t.Errorf("machine %d: %v, want %s", i, err, want)
		}
	}
	for _, m := range []byName{with, alone} {
		if _, err := m.named(t.Context(), "insert", "j1", good); err != nil {
			t.Error(err)
		}
	}
}

// Without the program nothing asks for an effect.
func TestNamedWithoutTheProgram(t *testing.T) {
	t.Parallel()
	m := without(t, "webhook/notice", notice.Migrate)
	_, err := m.named(t.Context(), "publish", "n1", nil)
	if want := "publish of notice needs the program of the machine: it asks for the effect post"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
