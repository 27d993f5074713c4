package answers

import (
	"context"

	"github.com/fsmgen/fsmgen/internal/model"
)

// PageStates is how many states a search from a page looks at when it is not told.
const PageStates = 200_000

// mostStates is the most that it may be told.
const mostStates = 2_000_000

// modelView is what the model checker found.
type modelView struct {
	Hash    string      `json:"hash"`
	Summary string      `json:"summary"`
	Limits  []string    `json:"limits"`
	Seconds float64     `json:"seconds"`
	What    string      `json:"what,omitempty"` // the promise that is broken; "" when all hold
	Place   *Place      `json:"place,omitempty"`
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
	Place   *Place   `json:"place,omitempty"`
	// Records are the states of all records after the step, in the order of their
	// creation.
	Records []string `json:"records"`
}

// check searches a machine within the bounds of a request. Its error is the search's
// own when that was ended.
func check(ctx context.Context, t *Text, request []byte, o Options) (modelView, error) {
	var b boundsView
	if err := decode(request, &b); err != nil {
		return modelView{}, err
	}
	for _, bound := range []struct {
		name    string
		n, most int
	}{
		{"records", b.Records, 8}, {"groups", b.Groups, 8}, {"workers", b.Workers, 8}, {"counter", b.Counter, 100}, {"states", b.MaxStates, mostStates},
	} {
		if bound.n < 0 || bound.n > bound.most {
			return modelView{}, refuse(BadRequest, "the bound of %s is %d; write a number from 1 to %d", bound.name, bound.n, bound.most)
		}
	}
	if b.MaxStates == 0 {
		b.MaxStates = PageStates
	}
	result, err := o.Search(ctx, t.Machine, model.Options{Records: b.Records, Groups: b.Groups, Workers: b.Workers, Counter: b.Counter, MaxStates: b.MaxStates}, nil)
	if err != nil {
		return modelView{}, err
	}
	used := result.Options
	view := modelView{
		Hash: t.Hash, Summary: result.Summary(), Limits: append([]string{}, result.Limits...), Seconds: result.Elapsed.Seconds(), Trace: []traceView{},
		Bounds: boundsView{used.Records, used.Groups, used.Workers, used.Counter, used.MaxStates},
	}
	if found := result.Violation; found != nil {
		at := placeOf(found.Pos, found.Mark)
		view.What, view.Place, view.Trace = found.What, &at, traceOf(found.Trace)
		if o.Format != nil {
			if text, err := found.GoTest(t.Machine, o.Format); err == nil {
				view.GoTest = string(text)
			}
		}
	}
	return view, nil
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
