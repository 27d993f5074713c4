package faults

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/fm001/execution"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// SweeperKills kills sweepers with SIGKILL in the midst of their batches, while
// another goes on: where a store has one writing process, that one waits at the
// door and takes over. Every lease that ends is swept exactly once, and nothing
// stays overdue. place makes a new database's place.
func SweeperKills(t *testing.T, d Driver, kills int, place func() string) {
	t.Helper()
	w := waves{number: 2 * kills, each: 100, apart: 50 * time.Millisecond, patience: 20 * time.Second}
	// How many kills meet a batch depends on the machine; each round has a database of its own.
	rounds := func(child string, w waves, kills int, enough func(sweptAll) bool) (sum sweptAll, n int) {
		for n < 20 && (n == 0 || !enough(sum)) {
			n++
			sum.add(d.killSweepers(t, child, place(), w, kills))
		}
		return sum, n
	}
	got, n := rounds("sweep", w, kills, func(s sweptAll) bool { return s.amid >= kills/5 || s.Wrong() != "" })
	if wrong := got.Wrong(); wrong != "" || got.again > 0 || got.overdue > 0 {
		t.Errorf("%s; %d leases swept twice, %d left overdue", wrong, got.again, got.overdue)
	}
	kills *= n
	if got.amid < kills/n/5 {
		t.Errorf("%d of %d kills were in the midst of a batch: the test shows nothing", got.amid, kills)
	}
	few := waves{number: 2, each: 300, apart: 100 * time.Millisecond, patience: time.Second}
	taking, n := rounds("sweep-taking", few, Size(5, 20), func(s sweptAll) bool { return s.overdue > 0 })
	if taking.overdue == 0 {
		t.Error("the control, which takes a batch before it sweeps it, left nothing overdue: the test cannot see it")
	}
	taken := n * few.number * few.each
	booking, n := rounds("sweep-booking", few, Size(5, 20), func(s sweptAll) bool { return s.Doubled > 0 })
	if booking.Doubled == 0 {
		t.Error("the control, which acts before it sweeps, did nothing twice: the test cannot see it")
	}
	booked := n * few.number * few.each
	Report(t, Row{
		Test: "kill -9 of a sweeper in mid-batch", Store: d.Name, How: "SIGKILL after 1 to 40 ms of sweeping; another process goes on",
		Figures: fmt.Sprintf("%d kills, %d of them with leases overdue; %d leases swept, twice %d, left overdue %d",
			kills, got.amid, got.swept, got.again, got.overdue),
		Control: fmt.Sprintf("taking a batch before sweeping it left %d of %d overdue; acting before sweeping acted %d times too often for %d",
			taking.overdue, taken, booking.Doubled, booked),
	})
}

// waves are leases that end together, wave after wave.
type waves struct {
	number, each int
	apart        time.Duration
	first        time.Time
	patience     time.Duration // what is not swept for so long is left
}

// due returns how many of them have ended.
func (w waves) due(now time.Time) int {
	if now.Before(w.first) {
		return 0
	}
	return min(w.number, int(now.Sub(w.first)/w.apart)+1) * w.each
}

// sweptAll is what became of them.
type sweptAll struct {
	Verdict
	amid, swept, again, overdue int
}

func (s *sweptAll) add(o sweptAll) {
	s.amid += o.amid
	s.swept += o.swept
	s.again += o.again
	s.overdue += o.overdue
	s.Acked += o.Acked
	s.Lost += o.Lost
	s.Records += o.Records
	s.Committed += o.Committed
	s.Ledger += o.Ledger
	s.Doubled += o.Doubled
	if s.Findings += o.Findings; s.First == "" {
		s.First = o.First
	}
}

func (d Driver) killSweepers(t *testing.T, child, place string, w waves, kills int) sweptAll {
	t.Helper()
	w.first = time.Now().Add(time.Second)
	acked := d.lease(t, place, w)
	db, err := d.Ledger(place)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	leased := func() (n int) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM "execution" WHERE "state" = 'leased'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	var got sweptAll
	time.Sleep(time.Until(w.first))
	sweepers := []*sweeping{d.sweeper(t, child, place), d.sweeper(t, child, place)}
	for range kills {
		victim, other := atWork(t, sweepers)
		time.Sleep(time.Millisecond + time.Duration(rand.IntN(39_000))*time.Microsecond)
		now := time.Now()
		victim.kill(t)
		if left := leased(); left > w.number*w.each-w.due(now) && left < w.number*w.each {
			got.amid++
		}
		sweepers = []*sweeping{other, d.sweeper(t, child, place)}
	}
	for last, since := -1, time.Now(); ; time.Sleep(20 * time.Millisecond) {
		n := leased()
		if n != last {
			last, since = n, time.Now()
		}
		if n == 0 || w.due(time.Now()) == w.number*w.each && time.Since(since) > w.patience {
			break
		}
	}
	for _, s := range sweepers {
		s.kill(t)
	}
	d.verifySwept(t, place, &got, acked)
	return got
}

// lease makes the leases, and returns the revision that each must come to.
func (d Driver) lease(t *testing.T, place string, w waves) map[string]int {
	t.Helper()
	ctx := t.Context()
	s, end, err := d.Open(ctx, place, true)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if _, err := s.db.ExecContext(ctx, `CREATE TABLE taken (id TEXT PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	// Leases that are over when they are taken are refused: these are taken before the first ends,
	// however long that takes.
	before := fsm.WithClock(func() time.Time { return w.first.Add(-time.Second) })
	leasing, err := execution.Open(ctx, s.M.Core().Engine().Store.(driver.Transactional[*sql.Tx]), bookEffect{}, before)
	if err != nil {
		t.Fatal(err)
	}
	acked := map[string]int{}
	for n := range w.number {
		_, err := leasing.Batch(ctx, func(m *execution.Machine) error {
			for i := range w.each {
				id := fmt.Sprintf("x%d-%06d", i%7, n*w.each+i)
				acked[id] = 2
				in := execution.LeaseInput{JobID: "job-" + id, LeaseExpiresAt: w.first.Add(time.Duration(n) * w.apart)}
				if _, err := m.Lease(ctx, id, in, fsm.Call{RequestID: "lease-" + id, Actor: "w"}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return acked
}

func (d Driver) verifySwept(t *testing.T, place string, got *sweptAll, acked map[string]int) {
	t.Helper()
	ctx := t.Context()
	s, end, err := d.Open(ctx, place, false)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	for e, err := range s.M.List(ctx) {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.State == execution.StateAborted && e.Rev == 2:
			got.swept++
		case e.State == execution.StateLeased:
			got.overdue++
		default:
			got.again++
		}
	}
	if got.Verdict, err = s.Verify(ctx, acked); err != nil {
		t.Fatal(err)
	}
}

// sweeping is a process that sweeps.
type sweeping struct {
	cmd       *exec.Cmd
	begun     chan struct{} // closed when it says that it sweeps, or ends
	complaint strings.Builder
}

func (d Driver) sweeper(t *testing.T, child, place string) *sweeping {
	t.Helper()
	s := &sweeping{cmd: d.childCommand(child, place, "GOGC=100"), begun: make(chan struct{})}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stderr = &s.complaint
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() }) // when the test fails
	go func() {
		defer close(s.begun)
		_, _ = bufio.NewReader(out).ReadString('\n') // no line: the next kill tells why
	}()
	return s
}

// atWork waits until one of two sweeps, and returns it first.
func atWork(t *testing.T, two []*sweeping) (at, other *sweeping) {
	t.Helper()
	select {
	case <-two[0].begun:
		return two[0], two[1]
	case <-two[1].begun:
		return two[1], two[0]
	case <-time.After(time.Minute):
		t.Fatal("no sweeper begins")
	}
	return nil, nil
}

func (s *sweeping) kill(t *testing.T) {
	t.Helper()
	_ = s.cmd.Process.Kill()
	<-s.begun
	_ = s.cmd.Wait()
	if s.complaint.Len() > 0 {
		t.Fatalf("the sweeper failed: %s", s.complaint.String())
	}
}

// The children are sweepers: the runtime's sweeper, and two by hand that are wrong.
func init() {
	children["sweep"] = func(ctx context.Context, d Driver, place string) error {
		return sweepAll(ctx, d, place, func(s *Subject) error {
			_, err := s.M.Sweep(ctx)
			return err
		})
	}
	// It marks what it is about to do, so that no other does it: what it has
	// marked when it dies is nobody's.
	children["sweep-taking"] = func(ctx context.Context, d Driver, place string) error {
		seen := map[string]bool{}
		return sweepAll(ctx, d, place, func(s *Subject) error {
			batch, err := s.take(ctx, 100, seen)
			if err != nil {
				return err
			}
			return s.expire(ctx, batch)
		})
	}
	// It tells the world what it is about to do, batch by batch: who comes after
	// it, or works beside it, tells it again.
	children["sweep-booking"] = func(ctx context.Context, d Driver, place string) error {
		return sweepAll(ctx, d, place, func(s *Subject) error {
			batch, err := s.ended(ctx, 50, nil)
			if err != nil || len(batch) == 0 {
				return err
			}
			var places []string
			var values []any
			for i, e := range batch {
				places, values = append(places, fmt.Sprintf("($%d, $%d)", 2*i+1, 2*i+2)), append(values, e.JobID, e.ID)
			}
			if _, err := s.db.ExecContext(ctx, `INSERT INTO ledger (job, execution) VALUES `+strings.Join(places, ", "), values...); err != nil {
				return err
			}
			return s.expire(ctx, batch)
		})
	}
}

// ended lists at most n executions whose lease has ended and which are not in seen.
func (s *Subject) ended(ctx context.Context, n int, seen map[string]bool) (batch []execution.Execution, err error) {
	for e, err := range s.M.List(ctx, execution.StateLeased) {
		if err != nil {
			return nil, err
		}
		if !seen[e.ID] && !e.LeaseExpiresAt.After(time.Now()) {
			batch = append(batch, e)
		}
		if len(batch) == n {
			break
		}
	}
	return batch, nil
}

func (s *Subject) expire(ctx context.Context, batch []execution.Execution) error {
	for _, e := range batch {
		if _, err := s.M.Expire(ctx, e, fsm.Call{}); err != nil && !errors.Is(err, fsm.ErrStale) {
			return err
		}
	}
	return nil
}

// take marks, of the first n executions whose lease has ended and which it has
// not seen, those that nobody else has marked.
func (s *Subject) take(ctx context.Context, n int, seen map[string]bool) (batch []execution.Execution, err error) {
	ended, err := s.ended(ctx, n, seen)
	if err != nil || len(ended) == 0 {
		return nil, err
	}
	due := map[string]execution.Execution{}
	var places []string
	var ids []any
	for i, e := range ended {
		due[e.ID], seen[e.ID] = e, true
		places, ids = append(places, fmt.Sprintf("($%d)", i+1)), append(ids, e.ID)
	}
	rows, err := s.db.QueryContext(ctx, `INSERT INTO taken (id) VALUES `+strings.Join(places, ", ")+` ON CONFLICT DO NOTHING RETURNING id`, ids...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		batch = append(batch, due[id])
	}
	return batch, rows.Err()
}

// sweepAll opens the store and sweeps until it is killed.
func sweepAll(ctx context.Context, d Driver, place string, sweep func(*Subject) error) error {
	s, _, err := d.Open(ctx, place, false)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "sweeping")
	for {
		if err := sweep(s); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}
