package sources_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/examples/scheduler/task"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// executor is the effect of a task.
type executor func(key string) error

func (x executor) ExecuteTask(_ context.Context, _ task.Task, key string, _ fsm.Event) error {
	return x(key)
}

func scheduler(t *testing.T, store *sqlstore.Store, execute func(key string) error) *task.Machine {
	t.Helper()
	if err := task.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	return must[*task.Machine](t)(task.Open(t.Context(), store, executor(execute)))
}

// 004:69-77, 120: nothing but recovery leads back to pending, and a process recovers once.
func TestOnlyACrashLeadsBack(t *testing.T) {
	over(t, func(t *testing.T, store *sqlstore.Store) {
		if _, ok := reflect.TypeFor[*task.Machine]().MethodByName("Recover"); ok {
			t.Error("a program can claim that a crash came before")
		}
		var m *task.Machine
		m = scheduler(t, store, func(string) error { // while the task executes
			refused[int](t, fsm.ErrStarted)(m.Startup(t.Context()))
			return nil
		})
		if n, err := m.Deliver(t.Context()); n != 0 || err == nil {
			t.Errorf("delivered %d before Startup, %v", n, err)
		}
		must[int](t)(m.Startup(t.Context()))
		out := must[task.Outcome](t)(m.Submit(t.Context(), "a", fsm.Call{}))
		must[task.Outcome](t)(m.Start(t.Context(), fsm.Call{}))
		if n, err := m.Deliver(t.Context()); n != 1 || err != nil {
			t.Errorf("delivered %d, %v", n, err)
		}
		if got := must[task.Task](t)(m.Record(t.Context(), out.Record.ID)); got.State != task.StateCompleted || got.Rev != 3 {
			t.Errorf("the task is %s at revision %d, want completed without a detour", got.State, got.Rev)
		}
	})
}

// 004:104, 108, 120 and C32: to the Startup of another process a task that executes looks
// interrupted. It runs once more under its key, and the first process hears that what it
// did is not recorded.
func TestStartupBesideAnotherProcess(t *testing.T) {
	over(t, func(t *testing.T, store *sqlstore.Store) {
		var keys []string
		begun, proceed := make(chan string), make(chan error)
		first := scheduler(t, store, func(key string) error {
			begun <- key
			return <-proceed
		})
		must[int](t)(first.Startup(t.Context()))
		must[task.Outcome](t)(first.Submit(t.Context(), "a", fsm.Call{}))
		must[task.Outcome](t)(first.Start(t.Context(), fsm.Call{}))
		type answer struct {
			n   int
			err error
		}
		answers := make(chan answer, 1)
		go func() {
			n, err := first.Deliver(t.Context())
			answers <- answer{n, err}
		}()
		keys = append(keys, <-begun)

		second := scheduler(t, store, func(key string) error {
			keys = append(keys, key)
			return nil
		})
		if n := must[int](t)(second.Startup(t.Context())); n != 1 {
			t.Errorf("the second process took %d tasks back, want 1", n)
		}
		proceed <- nil
		if got := <-answers; got.n != 0 || !errors.Is(got.err, fsm.ErrMovedOn) {
			t.Errorf("the first process delivered %d, %v; want ErrMovedOn", got.n, got.err)
		}
		if got := must[task.Task](t)(second.Record(t.Context(), "a")); got.State != task.StatePending {
			t.Errorf("the task is %s", got.State)
		}
		must[task.Outcome](t)(second.Start(t.Context(), fsm.Call{}))
		if n, err := second.Deliver(t.Context()); n != 1 || err != nil {
			t.Errorf("delivered %d, %v", n, err)
		}
		if got := must[task.Task](t)(second.Record(t.Context(), "a")); got.State != task.StateCompleted || !slices.Equal(keys, []string{"a", "a"}) {
			t.Errorf("the task is %s, and ran under %q", got.State, keys)
		}
	})
}
