package machines

import (
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/machines/pod"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// TestSourcesOfTwoMachines opens one machine twice: each sweeps with its own sources.
func TestSourcesOfTwoMachines(t *testing.T) {
	t.Parallel()
	opened := func(reason string) *pod.Machine {
		store := memstore.New()
		if err := pod.Migrate(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		m, err := pod.Open(t.Context(), store, pod.Sources{
			ExceedDeadline: func(pod.Pod, time.Time) (pod.ExceedDeadlineInput, error) {
				return pod.ExceedDeadlineInput{StatusReason: reason}, nil
			},
			Collect: func(pod.Pod, time.Time) (pod.CollectInput, error) { return pod.CollectInput{}, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	first, second := opened("first"), opened("second")
	for want, m := range map[string]*pod.Machine{"first": first, "second": second} {
		in := pod.CreateInput{RestartPolicy: pod.RestartPolicyAlways, Containers: 1, Deadline: fsm.Some(time.Now().Add(-time.Hour))}
		if _, err := m.Create(t.Context(), "a", in, fsm.Call{Actor: "api"}); err != nil {
			t.Fatal(err)
		}
		if n, err := m.Sweep(t.Context()); n != 1 || err != nil {
			t.Fatalf("%d are swept, %v, want one", n, err)
		}
		if p, err := m.Record(t.Context(), "a"); err != nil || p.StatusReason != fsm.Some(want) {
			t.Errorf("the reason is %v, %v, want %s", p.StatusReason, err, want)
		}
	}
}
