package postgres_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// delivererEnv makes of this test program a process that delivers from the database
// of that address, and says on its output what it performs.
const delivererEnv = "FSM_TEST_DELIVERER"

// shared opens the database that processes deliver from: a server's, or a SQLite file.
func shared(ctx context.Context, place string) (fsm.Store, error) {
	if strings.HasPrefix(place, "postgres:") {
		return postgres.Open(ctx, place, quiet)
	}
	return sqlite.Open(place, sqlite.WithBusyTimeout(30*time.Second))
}

// generatedSQL is the suite's, of both databases.
func generatedSQL(t *testing.T) map[string]string {
	t.Helper()
	sql := parcelSQL(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "gen", "testdata", "schema", "parcel.sqlite.sql"))
	if err != nil {
		t.Fatal(err)
	}
	sql["sqlite"] = string(text)
	return sql
}

// deliverer opens the suite's machine, and its table, for a process.
func deliverer(ctx context.Context, sql map[string]string, place string, effect fsmimpl.EffectFunc[storetest.Parcel]) (*fsm.Machine[storetest.Parcel], driver.Table, error) {
	store, err := shared(ctx, place)
	if err != nil {
		return nil, nil, err
	}
	schema := storetest.Schema()
	schema.SQL = sql
	table, err := store.Table(schema)
	if err == nil {
		err = table.Migrate(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	m, err := fsm.NewMachine(ctx, store, storetest.Descriptor(schema),
		map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": nothing, "carry": nothing, "notify": effect}, fsm.WithDelivery(2*time.Second, 4))
	return m, table, err
}

// sendParcel makes a parcel and sends it.
func sendParcel(t *testing.T, m *fsm.Machine[storetest.Parcel], id string) {
	t.Helper()
	out, err := m.Create(t.Context(), storetest.Register(storetest.Meta{}, storetest.RegisterInput{ID: id, Lane: id}))
	for _, call := range []fsmimpl.Call[storetest.Parcel]{
		storetest.Hold(storetest.Meta{Actor: "ann"}, id, time.Now().Add(time.Hour)),
		storetest.Shelve(storetest.Meta{}, id, "t"),
		storetest.Send(storetest.Meta{}),
	} {
		if err == nil {
			out, err = m.Apply(t.Context(), out, call)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestDelivererProcess(t *testing.T) {
	dsn := os.Getenv(delivererEnv)
	if dsn == "" {
		t.Skip("a process of TestDelivererProcesses")
	}
	m, _, err := deliverer(t.Context(), generatedSQL(t), dsn, func(_ context.Context, _ fsm.Tx, p storetest.Parcel, _ string, _ fsm.Event) error {
		fmt.Printf("performs %s\n", p.ID)
		return nil
	})
	if err == nil {
		_, err = m.Startup(t.Context())
	}
	for fmt.Println("ready"); err == nil; {
		if _, err = m.Deliver(t.Context()); errors.Is(err, fsm.ErrBusy) {
			err = nil
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal(err)
}

// Three processes deliver one outbox, of a server or of a SQLite file: each effect is
// performed once. Where one of them is killed at work, each is performed at least once.
func TestDelivererProcesses(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]func(t *testing.T) string{
		"postgres": func(t *testing.T) string { return pgtest.DSN(t) },
		"sqlite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "x.db") },
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); deliverAll(t, place) })
	}
}

// process is one that delivers; what it printed was read where read is closed.
type process struct {
	*exec.Cmd
	read chan struct{}
}

// kill ends the process once all that it printed is read: Wait closes what is not.
func (p process) kill() {
	_ = p.Process.Kill()
	<-p.read
	_ = p.Wait()
}

func deliverAll(t *testing.T, place func(t *testing.T) string) {
	const all = 60
	for _, kill := range []bool{false, true} {
		dsn := place(t)
		m, table, err := deliverer(t.Context(), generatedSQL(t), dsn, nothing)
		if err == nil {
			_, err = m.Startup(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		performed := map[string]int{}
		var processes []process
		start := func() {
			c := exec.Command(os.Args[0], "-test.run=^TestDelivererProcess$")
			c.Env = append(os.Environ(), delivererEnv+"="+dsn)
			out, err := c.StdoutPipe()
			if err == nil {
				err = c.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			p := process{c, make(chan struct{})}
			processes = append(processes, p)
			ready := make(chan struct{})
			defer func() { <-ready }() // its recovery takes back what is held meanwhile
			go func() {
				defer close(p.read)
				for lines := bufio.NewScanner(out); lines.Scan(); {
					if lines.Text() == "ready" {
						close(ready)
					}
					if id, ok := strings.CutPrefix(lines.Text(), "performs "); ok {
						mu.Lock()
						performed[id]++
						mu.Unlock()
					}
				}
			}()
		}
		for range 3 {
			start()
		}
		for i := range all {
			sendParcel(t, m, fmt.Sprintf("p%02d", i))
			if kill && i%20 == 10 {
				processes[0].kill()
				processes = processes[1:]
				start()
			}
		}
		empty := func() bool {
			var left int
			if err := table.View(t.Context(), func(r driver.Reader) error {
				list, err := r.Outbox(time.Now().AddDate(1, 0, 0), 0)
				left = len(list)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return left == 0
		}
		for deadline := time.Now().Add(2 * time.Minute); !empty(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the outbox is never empty")
			}
		}
		for _, p := range processes {
			p.kill()
		}
		twice := 0
		for _, n := range performed {
			twice += n - 1
		}
		if len(performed) != all || twice > 0 && !kill {
			t.Errorf("killed %v: %d of %d effects were performed, %d once more", kill, len(performed), all, twice)
		}
	}
}
