package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// BenchmarkTransition measures one durable transition, the heartbeat of a job:
// row, event and request id, with synchronous=FULL. It compares us with the same
// work by hand over prepared statements, alone and with a group commit, in files
// with the same schema at the level "full". One iteration is a round in which
// every variant has its turn; medians over the rounds are reported, and ratios.
//
//	go test ./runtime/sqlite -run '^$' -bench Transition -benchtime 9x
func BenchmarkTransition(b *testing.B) {
	var alone []float64
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			m, _ := openLifecycle(b)
			jobs := runningJobs(b, m, callers)
			byHand := newManual(b, callers)
			defer byHand.close()
			variants := []struct {
				name string
				beat func(w int) error
			}{
				{"ours", func(w int) error { return jobs[w].ours(m) }},
				{"hand", func(w int) error { return byHand.one(w) }},
				{"group", func(w int) error { return byHand.grouped(w) }},
			}
			rates := make([][]float64, len(variants))
			for b.Loop() {
				for v := range variants {
					rates[v] = append(rates[v], rate(b, callers, variants[v].beat))
				}
			}
			median := func(v int) float64 {
				slices.Sort(rates[v])
				return rates[v][len(rates[v])/2]
			}
			for v := range variants {
				b.ReportMetric(median(v), variants[v].name+"/s")
				if v > 0 {
					b.ReportMetric(median(0)/median(v), "ours/"+variants[v].name)
				}
			}
			if callers == 1 {
				alone = append(alone, median(0))
			} else if len(alone) > 0 {
				b.ReportMetric(median(0)/alone[0], "ours/alone")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// rate lets every caller work for a while and returns the transitions per second.
func rate(b *testing.B, callers int, f func(w int) error) float64 {
	b.Helper()
	const turn = 400 * time.Millisecond
	var n atomic.Int64
	var group sync.WaitGroup
	begun := time.Now()
	for w := range callers {
		group.Go(func() {
			for time.Since(begun) < turn {
				if err := f(w); err != nil {
					b.Error(err)
					return
				}
				n.Add(1)
			}
		})
	}
	group.Wait()
	return float64(n.Load()) / time.Since(begun).Seconds()
}

func openLifecycle(b *testing.B) (*lifecycle.Machine, string) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "x.db")
	store := open(b, path)
	if err := lifecycle.Migrate(b.Context(), store); err != nil {
		b.Fatal(err)
	}
	m, err := lifecycle.Open(b.Context(), store)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })
	return m, path
}

// beating is a running job as its worker holds it.
type beating struct {
	held  lifecycle.Outcome
	lease time.Time
	n     int
}

func runningJobs(b *testing.B, m *lifecycle.Machine, n int) []*beating {
	b.Helper()
	jobs := make([]*beating, n)
	for i := range jobs {
		id := driver.NewID()
		lease := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
		out, err := m.Enqueue(b.Context(), id, lifecycle.EnqueueInput{Payload: fsm.Some(fsm.MustJSON(`{"url":"https://example.com/"}`))}, fsm.Call{RequestID: "enqueue " + id})
		if err == nil {
			out, err = m.ClaimNextOf(b.Context(), out, lifecycle.ClaimNextInput{Lease: lease}, fsm.Call{RequestID: "claim", Actor: "w"})
		}
		if err == nil {
			out, err = m.Start(b.Context(), out, fsm.Call{RequestID: "start", Actor: "w"})
		}
		if err != nil {
			b.Fatal(err)
		}
		jobs[i] = &beating{held: out, lease: lease}
	}
	return jobs
}

func (j *beating) ours(m *lifecycle.Machine) error {
	j.n++
	j.lease = j.lease.Add(time.Second)
	out, err := m.Heartbeat(context.Background(), j.held, lifecycle.HeartbeatInput{Lease: j.lease}, fsm.Call{RequestID: fmt.Sprint("beat ", j.n), Actor: "w"})
	if err == nil {
		j.held = out
	}
	return err
}

// manual is the same work written by hand: one connection, prepared statements.
type manual struct {
	mu    sync.Mutex
	conn  *sql.Conn
	event *sql.Stmt
	row   *sql.Stmt
	jobs  []*beating
	revs  []int64
	asks  chan handAsk
	done  chan struct{}
}

type handAsk struct {
	w      int
	answer chan error
}

func newManual(b *testing.B, callers int) *manual {
	b.Helper()
	ctx := context.Background()
	m, path := openLifecycle(b)
	h := &manual{jobs: runningJobs(b, m, callers), revs: make([]int64, callers), asks: make(chan handAsk, 256), done: make(chan struct{})}
	for i, j := range h.jobs {
		h.revs[i] = j.held.Record.Rev
	}
	db, err := sql.Open("sqlite", "file:"+path+"?"+settings)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	if h.conn, err = db.Conn(ctx); err != nil {
		b.Fatal(err)
	}
	if h.event, err = h.conn.PrepareContext(ctx, `INSERT INTO "lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at",
		"actor", "reason", "request_id", "request_n", "fingerprint", "inputs", "changes", "version", "checksum")
		VALUES (?, ?, 0, 'heartbeat', 'heartbeat', 'running', 'running', ?, 'w', '', ?, -1, ?, ?, ?, 1, 0)`); err != nil {
		b.Fatal(err)
	}
	if h.row, err = h.conn.PrepareContext(ctx, `UPDATE "lifecycle" SET "rev" = "rev" + 1, "updated_at" = ?, "lease" = ?
		WHERE "id" = ? AND "rev" = ? AND "state" = 'running' AND "owner" = 'w'`); err != nil {
		b.Fatal(err)
	}
	go h.run()
	return h
}

func (h *manual) close() {
	close(h.asks)
	<-h.done
	h.conn.Close()
}

// commit does the work of some callers in one transaction.
func (h *manual) commit(callers ...int) error {
	ctx := context.Background()
	tx, err := h.conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, w := range callers {
		j := h.jobs[w]
		j.n++
		j.lease = j.lease.Add(time.Second)
		now := time.Now().UnixMicro()
		document := `{"lease":"` + j.lease.Format(time.RFC3339Nano) + `"}`
		id := j.held.Record.ID
		if _, err := h.event.ExecContext(ctx, id, h.revs[w]+1, now, fmt.Sprint("beat ", j.n),
			"v1:WdkCiFtrRbsw-yq7", document, document); err != nil {
			return err
		}
		res, err := h.row.ExecContext(ctx, now, j.lease.UnixMicro(), id, h.revs[w])
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n != 1 {
			return errors.Join(err, errors.New("the row has moved"))
		}
		h.revs[w]++
	}
	return tx.Commit()
}

// one is a transaction for each caller, one after the other.
func (h *manual) one(w int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.commit(w)
}

// grouped is a transaction for all that wait.
func (h *manual) grouped(w int) error {
	a := handAsk{w, make(chan error, 1)}
	h.asks <- a
	return <-a.answer
}

func (h *manual) run() {
	defer close(h.done)
	for first := range h.asks {
		batch := []handAsk{first}
		for more := true; more && len(batch) < 128; {
			select {
			case a, ok := <-h.asks:
				if more = ok; ok {
					batch = append(batch, a)
				}
			default:
				more = false
			}
		}
		callers := make([]int, len(batch))
		for i, a := range batch {
			callers[i] = a.w
		}
		h.mu.Lock()
		err := h.commit(callers...)
		h.mu.Unlock()
		for _, a := range batch {
			a.answer <- err
		}
	}
}
