package serve

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/fsmgen/fsmgen/internal/model"
)

// pageStates is how many states a search from the page looks at when it is not
// told; mostStates is the most that it may be told.
const (
	pageStates = 200_000
	mostStates = 2_000_000
)

// modelView is what the model checker found.
type modelView struct {
	Hash    string      `json:"hash"`
	Summary string      `json:"summary"`
	Limits  []string    `json:"limits"`
	Seconds float64     `json:"seconds"`
	What    string      `json:"what,omitempty"` // the promise that is broken; "" when all hold
	Place   *place      `json:"place,omitempty"`
	Trace   []traceView `json:"trace"`
	GoTest  string      `json:"goTest,omitempty"`
	Bounds  boundsView  `json:"bounds"`
}

// traceView is one step of a counterexample.
type traceView struct {
	Who     string   `json:"who"`
	What    string   `json:"what"`
	Op      string   `json:"operation,omitempty"`
	Record  int      `json:"record"`
	From    string   `json:"from"`
	To      string   `json:"to"`
	Changed []string `json:"changed"`
	Place   *place   `json:"place,omitempty"`
	// Records are the states of all records after the step, in the order of their
	// creation.
	Records []string `json:"records"`
}

func (s *Server) model(w http.ResponseWriter, r *http.Request, f *file) {
	var b boundsView
	if !body(w, r, &b) {
		return
	}
	v := f.now()
	if !v.usable() {
		fail(w, http.StatusConflict, "the specification has errors; fix them to search it")
		return
	}
	for _, bound := range []struct {
		name    string
		n, most int
	}{
		{"records", b.Records, 8}, {"groups", b.Groups, 8}, {"workers", b.Workers, 8}, {"counter", b.Counter, 100}, {"states", b.MaxStates, mostStates},
	} {
		if bound.n < 0 || bound.n > bound.most {
			fail(w, http.StatusBadRequest, fmt.Sprintf("the bound of %s is %d; write a number from 1 to %d", bound.name, bound.n, bound.most))
			return
		}
	}
	if b.MaxStates == 0 {
		b.MaxStates = pageStates
	}
	ctx, end, err := s.latest.begin(r.Context())
	if err != nil {
		return // nobody waits for the answer
	}
	defer end()
	result, err := s.search(ctx, v.machine, model.Options{Records: b.Records, Groups: b.Groups, Workers: b.Workers, Counter: b.Counter, MaxStates: b.MaxStates}, nil)
	switch {
	case r.Context().Err() != nil:
		return // the page is gone
	case err != nil:
		fail(w, http.StatusConflict, "another search replaced this one")
		return
	}
	o := result.Options
	view := modelView{
		Hash: v.hash, Summary: result.Summary(), Limits: append([]string{}, result.Limits...), Seconds: result.Elapsed.Seconds(), Trace: []traceView{},
		Bounds: boundsView{o.Records, o.Groups, o.Workers, o.Counter, o.MaxStates},
	}
	if found := result.Violation; found != nil {
		at := placeOf(found.Pos, found.Mark)
		view.What, view.Place, view.Trace = found.What, &at, traceOf(found.Trace)
		if text, err := found.GoTest(v.machine); err == nil {
			view.GoTest = string(text)
		}
	}
	reply(w, view)
}

// latest lets one search run at a time, the one that was asked for last: a new one
// ends the one before it.
type latest struct {
	mu    sync.Mutex
	end   context.CancelFunc // of the search that runs, or ran
	ended chan struct{}      // closed when it did
}

// begin ends the search that runs, waits until it has, and takes its place until
// the function it returns is called. The context ends with ctx and with the next
// begin; the error is ctx's, when that ended while it waited.
func (l *latest) begin(ctx context.Context) (context.Context, func(), error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	l.mu.Lock()
	before, stop := l.ended, l.end
	l.end, l.ended = cancel, ended
	l.mu.Unlock()
	end := func() { cancel(); close(ended) }
	if before == nil {
		return ctx, end, nil
	}
	stop()
	// Also of one that is not wanted any more: the one after it waits for both.
	<-before
	if err := ctx.Err(); err != nil {
		end()
		return nil, nil, err
	}
	return ctx, end, nil
}

func traceOf(steps []model.Step) []traceView {
	list := []traceView{}
	var states []string
	for _, s := range steps {
		v := traceView{Who: s.Who, What: s.What, Record: s.Record, From: s.From, To: s.To, Changed: append([]string{}, s.Changed...)}
		if s.Op != nil {
			v.Op = s.Op.Name
		}
		if !s.Pos.IsZero() {
			at := placeOf(s.Pos, v.Op)
			v.Place = &at
		}
		for len(states) < s.Record {
			states = append(states, "")
		}
		states[s.Record-1] = s.To
		v.Records = append([]string{}, states...)
		list = append(list, v)
	}
	return list
}
