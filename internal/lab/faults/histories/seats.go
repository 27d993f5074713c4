package histories

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/faults"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// seat is where callers sit: this process, or another one.
type seat interface {
	ask(question) answer
	wait() // until all that was said to come later has come
}

// question is one heartbeat call.
type question struct {
	At      fsm.Ref
	Held    bool // the caller holds the record, if its process has seen it
	Request string
}

// seats are those of the subject's processes, or this one.
func (s *Subject) seats(t *testing.T, store fsm.Store) []seat {
	t.Helper()
	if len(s.Processes) == 0 {
		return []seat{local(t, &faults.Faulty{Store: store, Rate: 0.1})}
	}
	if err := lifecycle.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	var list []seat
	for _, place := range s.Processes {
		list = append(list, begin(t, s.Name, place))
	}
	return list
}

// player makes calls in this process, over a store that loses commits.
type player struct {
	ctx   context.Context
	m     *lifecycle.Machine
	store *faults.Faulty

	mu   sync.Mutex
	seen map[fsm.Ref]lifecycle.Job // of the record that is being called
}

func newPlayer(ctx context.Context, store *faults.Faulty) (*player, error) {
	m, err := lifecycle.Open(ctx, store)
	return &player{ctx: ctx, m: m, store: store, seen: map[fsm.Ref]lifecycle.Job{}}, err
}

func local(t *testing.T, store *faults.Faulty) seat {
	t.Helper()
	if err := lifecycle.Migrate(t.Context(), store.Store); err != nil {
		t.Fatal(err)
	}
	p, err := newPlayer(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *player) wait() { p.store.Wait() }

func (p *player) ask(q question) answer {
	out, err := p.m.Heartbeat(faults.Call(p.ctx), p.target(q), lifecycle.HeartbeatInput{Lease: lease}, fsm.Call{RequestID: q.Request, Actor: "w"})
	var refused *fsm.Refusal
	switch {
	case err == nil:
		p.keep(out.Record)
		return answer{Kind: "ok", Rev: out.Record.Rev, Replayed: out.Replayed}
	case faults.Unknown(err):
		return answer{Kind: "unknown"}
	case errors.As(err, &refused) && refused.Code == fsm.ErrStale:
		return answer{Kind: "stale", Rev: refused.Rev}
	case errors.Is(err, fsm.ErrBusy):
		return answer{Kind: "nothing"}
	}
	return answer{Kind: "nothing", Wrong: err.Error()}
}

// target is the record itself, where it is asked for and was seen at that revision.
func (p *player) target(q question) fsm.Target {
	if !q.Held {
		return q.At
	}
	if job, ok := p.find(q.At); ok {
		return job
	}
	if job, err := p.m.Record(p.ctx, q.At.ID); err == nil {
		p.keep(job)
	}
	if job, ok := p.find(q.At); ok {
		return job
	}
	return q.At
}

func (p *player) find(at fsm.Ref) (lifecycle.Job, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	job, ok := p.seen[at]
	return job, ok
}

func (p *player) keep(job lifecycle.Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.seen[fsm.Ref{ID: job.ID, Rev: 2}]; !ok && job.Rev == 2 {
		clear(p.seen) // another record
	}
	p.seen[job.Ref()] = job
}

const (
	placeEnv = "FSMGEN_HISTORIES_PLACE"
	nameEnv  = "FSMGEN_HISTORIES_NAME"
)

// Main makes this process the one of a seat, if it is one: open opens the store of a
// subject at a place.
func Main(open func(ctx context.Context, name, place string) (fsm.Store, error)) {
	place := os.Getenv(placeEnv)
	if place == "" {
		return
	}
	ctx := context.Background()
	store, err := open(ctx, os.Getenv(nameEnv), place)
	if err == nil {
		err = errors.Join(serve(ctx, store), store.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	os.Exit(0)
}

// asked is a question on its way to another process, and told its answer. One without a
// request asks it to wait.
type asked struct {
	N int
	Q question
}

type told struct {
	N int
	A answer
}

// serve answers questions until standard input ends.
func serve(ctx context.Context, store fsm.Store) error {
	p, err := newPlayer(ctx, &faults.Faulty{Store: store, Rate: 0.1})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	defer wg.Wait()
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var a asked
		if err := in.Decode(&a); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		wg.Go(func() {
			reply := told{N: a.N}
			if a.Q.Request == "" {
				p.wait()
			} else {
				reply.A = p.ask(a.Q)
			}
			mu.Lock()
			defer mu.Unlock()
			_ = out.Encode(reply) // who asked is gone: input ends
		})
	}
}

// process is a seat in another process.
type process struct {
	t       *testing.T
	mu      sync.Mutex
	out     *json.Encoder
	n       int
	waiting map[int]chan answer
}

// begin starts this test binary as the process of a seat. It ends with the test.
func begin(t *testing.T, name, place string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0]) //nolint:gosec // this binary
	cmd.Env = append(os.Environ(), nameEnv+"="+name, placeEnv+"="+place)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, out: json.NewEncoder(in), waiting: map[int]chan answer{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.listen(json.NewDecoder(out))
	}()
	t.Cleanup(func() {
		in.Close()
		<-ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("a process: %v\n%s", err, complaint.String())
		}
	})
	return p
}

// listen hands answers to those who wait, and an empty one to all when the process ends.
func (p *process) listen(in *json.Decoder) {
	for {
		var reply told
		err := in.Decode(&reply)
		p.mu.Lock()
		if err != nil {
			for _, c := range p.waiting {
				close(c)
			}
			p.waiting = nil
			p.mu.Unlock()
			return
		}
		p.waiting[reply.N] <- reply.A
		delete(p.waiting, reply.N)
		p.mu.Unlock()
	}
}

func (p *process) wait() { p.ask(question{}) }

func (p *process) ask(q question) answer {
	c := make(chan answer, 1)
	p.mu.Lock()
	if p.waiting == nil {
		p.mu.Unlock()
		return answer{Kind: "unknown", Wrong: "the process has ended"}
	}
	p.n++
	p.waiting[p.n] = c
	err := p.out.Encode(asked{p.n, q})
	p.mu.Unlock()
	if err != nil {
		return answer{Kind: "unknown", Wrong: err.Error()}
	}
	a, ok := <-c
	if !ok {
		return answer{Kind: "unknown", Wrong: "the process has ended"}
	}
	return a
}
