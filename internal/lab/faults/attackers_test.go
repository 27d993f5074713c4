package faults_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/fm001/execution"
	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/faults"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
)

// attackersEnv names the database, and the rounds, of a process that attacks.
const attackersEnv = "FSMGEN_FAULTS_ATTACKER"

// Three processes attack the same five records at once while a program works on others. What is
// refused alone is refused then; nothing of the five changes, and the program's calls are not lost.
func TestAttacksAmongThree(t *testing.T) {
	campaign.Only(t)
	rounds := 2
	if faults.Long() {
		rounds = 40
	}
	for _, dialect := range []string{"sqlite", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			place := filepath.Join(t.TempDir(), "x.db")
			if dialect == "postgres" {
				place = pgtest.DSN(t)
			}
			db, m := fiveIn(t, dialect, "full", place)
			before := withoutWork(dump(t, db))
			var over atomic.Bool
			done, worked := make(chan struct{}), 0
			go func() {
				defer close(done)
				for ; !over.Load(); worked++ {
					if err := workOn(t, m, fmt.Sprint("work-", worked)); err != nil {
						t.Errorf("the program beside them: %v", err)
						return
					}
				}
			}()
			var all sync.WaitGroup
			var ended atomic.Int64
			for range 3 {
				all.Go(func() {
					cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAttacker$", "-test.count=1", "-test.v", "-test.timeout=10m")
					cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", attackersEnv, dialect, rounds, place))
					out, err := cmd.CombinedOutput()
					if err != nil {
						t.Errorf("%v:\n%s", err, out)
					}
					ended.Add(int64(strings.Count(string(out), "ended: ")))
				})
			}
			all.Wait()
			over.Store(true)
			<-done
			if after := withoutWork(dump(t, db)); after != before {
				t.Errorf("the five records were\n%s\nand are\n%s", before, after)
			}
			for f, err := range audit.Run(t.Context(), m) {
				t.Errorf("audit: %v, %v", f, err)
			}
			for i := range worked {
				if e, err := m.Record(t.Context(), fmt.Sprint("work-", i)); err != nil || e.State != execution.StateInProgress {
					t.Errorf("work-%d: %v, %v", i, e.State, err)
				}
			}
			if want := 3 * rounds * len(closedOn(dialect)); worked == 0 || ended.Load() != int64(want) {
				t.Errorf("%d of %d attacks ended beside %d acknowledged records", ended.Load(), want, worked)
			}
			faults.Report(t, faults.Row{
				Test: "attacks at the SQL prompt, by three processes", Store: dialect, How: "the same attacks by three processes at once, beside a program",
				Figures: fmt.Sprintf("%d ended without a change; %d records of the program, none lost; no finding", ended.Load(), worked),
				Control: "the attacks that are let through at level none (above)",
			})
		})
	}
}

// workOn makes a record and moves it, each call until it is acknowledged.
func workOn(t *testing.T, m *execution.Machine, id string) error {
	for {
		out, err := m.Lease(t.Context(), id, execution.LeaseInput{JobID: id, LeaseExpiresAt: time.Now().Add(time.Hour)}, fsm.Call{RequestID: "lease-" + id, Actor: "w"})
		if err == nil {
			_, err = m.Start(t.Context(), out.Record, fsm.Call{RequestID: "start-" + id, Actor: "w"})
		}
		if !errors.Is(err, fsm.ErrBusy) && !errors.Is(err, fsm.ErrAmbiguous) {
			return err
		}
	}
}

// withoutWork leaves out the lines of the program's records.
func withoutWork(dump string) string {
	var b strings.Builder
	for line := range strings.Lines(dump) {
		if !strings.Contains(line, "work-") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestAttacker is one of the processes of TestAttacksAmongThree.
func TestAttacker(t *testing.T) {
	args := strings.SplitN(os.Getenv(attackersEnv), " ", 3)
	if len(args) != 3 {
		t.Skip("TestAttacksAmongThree runs it in processes of its own")
	}
	db, err := promptAt(args[0], args[2])
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	p := &attackPrompt{dialect: args[0], db: db}
	var rounds int
	if _, err := fmt.Sscan(args[1], &rounds); err != nil {
		t.Fatal(err)
	}
	for range rounds {
		for _, a := range closedOn(p.dialect) {
			for {
				err := p.run(t, a, true)
				if err == nil || !contended(err) {
					t.Logf("ended: %s: %v", a.name, err) // refused, or it did nothing: the records tell
					break
				}
			}
		}
	}
}

// closedOn lists the attacks that a database refuses.
func closedOn(dialect string) (list []attack) {
	for _, a := range attacks {
		if (a.only == "" || a.only == dialect) && a.open == "" {
			list = append(list, a)
		}
	}
	return list
}

// contended reports whether a statement met another one before any rule looked at it.
func contended(err error) bool {
	text := err.Error()
	return strings.Contains(text, "40P01") || strings.Contains(text, "40001") || strings.Contains(text, "database is locked") ||
		strings.Contains(text, "tuple concurrently")
}
