package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/postgres"
)

// BenchmarkTransition measures one durable transition, the heartbeat of a job:
// row, event and request id, committed to the disk. It compares us with the
// same work written by hand over the same tables, at the level of enforcement
// "full" for all of them. One iteration is a round in which every variant has
// its turn; the medians over the rounds are reported, and the ratios.
//
//	go test ./runtime/postgres -run '^$' -bench Transition -benchtime 9x
func BenchmarkTransition(b *testing.B) {
	server := pgtest.Start(b, "fsync=on")
	store, err := postgres.Open(b.Context(), server.DSN(), postgres.WithMaxSessions(8), quiet)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	if err := lifecycle.Migrate(b.Context(), store); err != nil {
		b.Fatal(err)
	}
	m, err := lifecycle.Open(b.Context(), store)
	if err != nil {
		b.Fatal(err)
	}
	db, err := sql.Open("pgx", server.DSN())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(8)
	byHand := newUnnester(b, db)
	defer byHand.stop()
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			variants := []struct {
				name string
				beat func(w int, j *beat) error
			}{
				{"ours", func(_ int, j *beat) error { return j.ours(m) }},
				{"cte", func(_ int, j *beat) error { return j.cte(db) }},
				{"unnest", func(_ int, j *beat) error { return byHand.do(j) }},
				{"naive", func(_ int, j *beat) error { return j.naive(db) }},
			}
			jobs := make([][]*beat, len(variants)) // of its own, so that each holds what it moves
			for v := range variants {
				jobs[v] = runningJobs(b, m, callers)
			}
			rates, ours, servers := make([][]float64, len(variants)), make([]float64, len(variants)), make([]float64, len(variants))
			for b.Loop() {
				for v := range variants {
					u, c := usage(b, server)
					per := rate(b, jobs[v], variants[v].beat)
					u2, c2 := usage(b, server)
					rates[v] = append(rates[v], per)
					ours[v] += (u2 - u).Seconds() * 1e6 / (per * turn.Seconds())
					servers[v] += (c2 - c).Seconds() * 1e6 / (per * turn.Seconds())
				}
			}
			median := func(v int) float64 {
				slices.Sort(rates[v])
				return rates[v][len(rates[v])/2]
			}
			for v := range variants {
				b.ReportMetric(median(v), variants[v].name+"/s")
				b.ReportMetric((ours[v]+servers[v])/float64(len(rates[v])), "cpu-µs/"+variants[v].name)
				b.Logf("%s: processor time per transition: client %.0f µs, server %.0f µs", variants[v].name,
					ours[v]/float64(len(rates[v])), servers[v]/float64(len(rates[v])))
				if v > 0 {
					b.ReportMetric(median(0)/median(v), "ours/"+variants[v].name)
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// usage is the processor time of this process and of the server.
func usage(b *testing.B, server *pgtest.Server) (ours, theirs time.Duration) {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	theirs, err := server.CPU()
	if err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), theirs
}

const turn = 400 * time.Millisecond

// rate lets every job beat for a while and returns the transitions per second.
func rate(b *testing.B, jobs []*beat, f func(w int, j *beat) error) float64 {
	b.Helper()
	var n atomic.Int64
	var group sync.WaitGroup
	begun := time.Now()
	for w, j := range jobs {
		group.Go(func() {
			for time.Since(begun) < turn {
				if err := f(w, j); err != nil {
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

// beat is a running job as its worker holds it.
type beat struct {
	job   lifecycle.Job
	held  lifecycle.Outcome
	lease time.Time
	n     int
}

func runningJobs(b *testing.B, m *lifecycle.Machine, n int) []*beat {
	b.Helper()
	jobs := make([]*beat, n)
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
		jobs[i] = &beat{job: out.Record, held: out, lease: lease}
	}
	return jobs
}

// next counts the request up.
func (j *beat) next() string {
	j.n++
	j.lease = j.lease.Add(time.Second)
	return fmt.Sprint("beat ", j.n)
}

func (j *beat) ours(m *lifecycle.Machine) error {
	request := j.next()
	out, err := m.Heartbeat(context.Background(), j.held, lifecycle.HeartbeatInput{Lease: j.lease}, fsm.Call{RequestID: request, Actor: "w"})
	if err == nil {
		j.held = out
	}
	return err
}

const handEvent = `"id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n",
	"fingerprint", "inputs", "changes", "version", "checksum"`

const handCTE = `WITH w AS (UPDATE "lifecycle" SET "rev" = "rev" + 1, "updated_at" = $1::timestamptz, "lease" = $2::timestamptz
	WHERE "id" = $3 AND "rev" = $4 AND "state" = 'running' AND "owner" = 'w' RETURNING "id", "rev")
	INSERT INTO "lifecycle_events" (` + handEvent + `)
	SELECT "id", "rev", 0, 'heartbeat', 'heartbeat', 'running', 'running', $1::timestamptz, 'w', '', $5, -1, $6, $7::json, $8::json, 1, 0 FROM w`

var errMoved = errors.New("the row has moved")

func (j *beat) documents() (fingerprint, inputs, changes string) {
	lease := j.lease.Format(time.RFC3339Nano)
	return "v1:WdkCiFtrRbsw-yq7", `{"lease":"` + lease + `"}`, `{"lease":"` + lease + `"}`
}

// cte is the same transition by hand in one statement.
func (j *beat) cte(db *sql.DB) error {
	request := j.next()
	fingerprint, inputs, changes := j.documents()
	res, err := db.Exec(handCTE, time.Now(), j.lease, j.job.ID, j.job.Rev, request, fingerprint, inputs, changes)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, errMoved)
	}
	j.job.Rev++
	return nil
}

// naive is the same transition by hand as it is mostly written: six round trips.
func (j *beat) naive(db *sql.DB) error {
	request := j.next()
	fingerprint, inputs, changes := j.documents()
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var known int
	if err := tx.QueryRow(`SELECT count(*) FROM "lifecycle_events" WHERE "id" = $1 AND "request_id" = $2`, j.job.ID, request).Scan(&known); err != nil || known > 0 {
		return errors.Join(err, errMoved)
	}
	var rev int64
	var state, owner string
	err = tx.QueryRow(`SELECT "rev", "state", "owner" FROM "lifecycle" WHERE "id" = $1 FOR UPDATE`, j.job.ID).Scan(&rev, &state, &owner)
	if err != nil || rev != j.job.Rev || state != "running" || owner != "w" {
		return errors.Join(err, errMoved)
	}
	now := time.Now()
	if _, err := tx.Exec(`UPDATE "lifecycle" SET "rev" = $2, "updated_at" = $3, "lease" = $4 WHERE "id" = $1`, j.job.ID, rev+1, now, j.lease); err != nil {
		return err
	}
	if _, err := tx.Exec(`INSERT INTO "lifecycle_events" (`+handEvent+`) VALUES ($1, $2, 0, 'heartbeat', 'heartbeat', 'running', 'running', $3, 'w', '', $4, -1, $5, $6, $7, 1, 0)`,
		j.job.ID, rev+1, now, request, fingerprint, inputs, changes); err != nil {
		return err
	}
	j.job.Rev++
	return tx.Commit()
}

// unnester is a group commit by hand: one goroutine takes all that wait into one
// statement over arrays.
type unnester struct {
	db   *sql.DB
	asks chan ask
	done chan struct{}
}

type ask struct {
	j       *beat
	request string
	answer  chan error
}

func newUnnester(b *testing.B, db *sql.DB) *unnester {
	b.Helper()
	u := &unnester{db: db, asks: make(chan ask, 256), done: make(chan struct{})}
	go u.run()
	return u
}

func (u *unnester) stop() {
	close(u.asks)
	<-u.done
}

func (u *unnester) do(j *beat) error {
	a := ask{j, j.next(), make(chan error, 1)}
	u.asks <- a
	err := <-a.answer
	if err == nil {
		j.job.Rev++
	}
	return err
}

func (u *unnester) run() {
	defer close(u.done)
	for first := range u.asks {
		batch := []ask{first}
		for more := true; more && len(batch) < 128; {
			select {
			case a, ok := <-u.asks:
				if more = ok; ok {
					batch = append(batch, a)
				}
			default:
				more = false
			}
		}
		slices.SortFunc(batch, func(a, b ask) int { return int(a.j.job.CreatedAt.Sub(b.j.job.CreatedAt)) })
		ids, requests, prints := make([]string, len(batch)), make([]string, len(batch)), make([]string, len(batch))
		inputs, changes := make([]string, len(batch)), make([]string, len(batch))
		revs, leases := make([]int64, len(batch)), make([]time.Time, len(batch))
		for i, a := range batch {
			ids[i], revs[i], leases[i], requests[i] = a.j.job.ID, a.j.job.Rev, a.j.lease, a.request
			prints[i], inputs[i], changes[i] = a.j.documents()
		}
		res, err := u.db.Exec(`WITH w AS (UPDATE "lifecycle" AS r SET "rev" = r."rev" + 1, "updated_at" = $1::timestamptz, "lease" = i.lease
			FROM unnest($2::text[], $3::bigint[], $4::timestamptz[], $5::text[], $6::text[], $7::text[], $8::text[]) AS i(id, was, lease, request, print, inputs, changes)
			WHERE r."id" = i.id AND r."rev" = i.was AND r."state" = 'running' AND r."owner" = 'w' RETURNING r."rev", i.*)
			INSERT INTO "lifecycle_events" (`+handEvent+`)
			SELECT id, "rev", 0, 'heartbeat', 'heartbeat', 'running', 'running', $1::timestamptz, 'w', '', request, -1, print, inputs::json, changes::json, 1, 0 FROM w`,
			time.Now(), ids, revs, leases, requests, prints, inputs, changes)
		if err == nil {
			if n, _ := res.RowsAffected(); n != int64(len(batch)) {
				err = errMoved
			}
		}
		for _, a := range batch {
			a.answer <- err
		}
	}
}
