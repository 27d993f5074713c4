package console

import (
	"net/http"
	"net/url"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Viewer is who makes a request.
type Viewer struct {
	Name string // as pages name them
	// May says whether the viewer has a right; nil: none at all.
	May func(Right) bool
}

// Right is to do one thing with one machine.
type Right struct {
	Place, Machine string
	Do             string // See, Audit, Act, Many, Retry, GiveUp, Drop or Repair
	Operation      string // with Act: the operation
}

// What a viewer may do.
const (
	See    = "see"     // look at counts, records, logs and the outbox
	Audit  = "audit"   // read all of a machine to look for what breaks a rule
	Act    = "act"     // run an operation
	Many   = "many"    // run an operation on all records that fit a filter, beside the right to run it
	Retry  = "retry"   // make an effect that waits due now
	GiveUp = "give up" // end the tries of an effect that has a step for that (`failed`)
	Drop   = "drop"    // end the tries of an effect that has none: nothing tells the machine
	Repair = "repair"  // put a record right after its log
)

// Reader is a viewer who may look at everything, and change nothing.
func Reader(name string) Viewer {
	return Viewer{Name: name, May: func(r Right) bool { return r.Do == See || r.Do == Audit }}
}

// Operator is a viewer who may do everything. The name stands in events, as their actor.
func Operator(name string) Viewer {
	return Viewer{Name: name, May: func(Right) bool { return true }}
}

func (v Viewer) may(m *Machine, do string) bool {
	return v.May != nil && v.May(Right{Place: m.place.Name, Machine: m.schema.Machine, Do: do})
}

// mayRun reports whether the viewer may run an operation.
func (v Viewer) mayRun(m *Machine, operation string) bool {
	return v.May != nil && v.May(Right{Place: m.place.Name, Machine: m.schema.Machine, Do: Act, Operation: operation})
}

// route is one address of the console. A test walks them all with each kind of viewer.
type route struct {
	method string
	path   string
	do     string // the right that it takes, of Act for the operation "op" of the form; empty: it shows what the viewer may see
	page   func(*request) error
	live   bool // an open page is told when the log has changed
}

const get, post = http.MethodGet, http.MethodPost

var routes = []route{
	{get, "/{$}", "", (*request).home, false},
	{get, "/{place}/{machine}", See, (*request).machine, false},
	{get, "/{place}/{machine}/{$}", See, (*request).overview, true},
	{get, "/{place}/{machine}/records", See, (*request).records, true},
	{get, "/{place}/{machine}/record", See, (*request).record, true},
	{get, "/{place}/{machine}/late", See, (*request).late, true},
	{get, "/{place}/{machine}/owners", See, (*request).owners, true},
	{get, "/{place}/{machine}/outbox", See, (*request).outbox, true},
	{get, "/{place}/{machine}/times", See, (*request).times, true},
	{get, "/{place}/{machine}/log", See, (*request).log, true},
	{get, "/{place}/{machine}/audit", Audit, (*request).audit, false},
	{get, "/{place}/{machine}/changes", See, (*request).changes, false},
	{get, "/{place}/{machine}/do", Act, (*request).askDo, false},
	{post, "/{place}/{machine}/do", Act, (*request).do, false},
	{get, "/{place}/{machine}/create", Act, (*request).askNew, false},
	{post, "/{place}/{machine}/create", Act, (*request).create, false},
	{post, "/{place}/{machine}/retry", Retry, (*request).retry, false},
	{get, "/{place}/{machine}/giveup", See, (*request).askGiveUp, false},
	{post, "/{place}/{machine}/giveup", See, (*request).giveUp, false},
	{get, "/{place}/{machine}/repair", Repair, (*request).askRepair, false},
	{post, "/{place}/{machine}/repair", Repair, (*request).repair, false},
	{post, "/{place}/{machine}/many", Many, (*request).many, false},
	{get, "/{place}/{machine}/run", See, (*request).showRun, false},
	{post, "/{place}/{machine}/run", Many, (*request).steer, false},
	{get, "/{place}/{machine}/runs", See, (*request).runs, false},
}

// request is one request of somebody who may make it.
type request struct {
	*Handler
	w http.ResponseWriter
	r *http.Request
	v Viewer
	m *Machine // nil: the request is about no machine

	mark  string // of the end of the log before the page was made
	end   logEnd // what stands there
	quiet bool   // the page does not load itself again
}

// formMost is how long a form may be.
const formMost = 1 << 20

// guarded lets only those ask who may. A machine that a viewer may not see is not there for them.
func (h *Handler) guarded(of route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := h.o.Who(r)
		q := &request{Handler: h, w: w, r: r, v: v}
		if err != nil {
			q.fail(http.StatusUnauthorized, err.Error())
			return
		}
		if err := q.read(); err != nil {
			q.fail(statusOf(err), h.problem(err))
			return
		}
		if of.do != "" {
			if err := q.allowed(of.do); err != nil {
				q.fail(statusOf(err), h.problem(err))
				return
			}
		}
		if r.Method == post && v.Name == "" {
			q.fail(http.StatusForbidden, "The console does not know your name, and what is done says who did it.")
			return
		}
		if q.m != nil && of.live {
			if q.mark, q.end, err = q.m.mark(r.Context()); err != nil {
				q.mark = "" // the page says what is wrong
			}
		}
		if err := of.page(q); err != nil {
			q.fail(statusOf(err), h.problem(err))
		}
	}
}

// read reads the address and the form. What writes is refused where a page of another site sends it.
func (q *request) read() error {
	if q.r.Method == post {
		if err := q.cross.Check(q.r); err != nil {
			return &requestError{http.StatusForbidden, "Another site sent this; the console takes what its own pages send."}
		}
		q.r.Body = http.MaxBytesReader(q.w, q.r.Body, formMost)
	}
	if err := q.r.ParseForm(); err != nil {
		return badRequest("The form cannot be read: " + err.Error() + ".")
	}
	for _, values := range q.r.Form {
		for _, text := range values {
			if err := driver.CheckText(text); err != nil {
				return badRequest("The address or the form cannot be read: " + err.Error() + ".")
			}
		}
	}
	return nil
}

// allowed looks for the machine that is asked for, and whether the viewer may do that with it.
func (q *request) allowed(do string) error {
	q.m = q.url[q.r.PathValue("place")+"/"+q.r.PathValue("machine")]
	if q.m == nil || !q.v.may(q.m, See) {
		q.m = nil
		return &requestError{http.StatusNotFound, "There is no such machine here, or it is not for you."}
	}
	right, may := do, q.v.may(q.m, do)
	if do == Act {
		right += " " + q.r.FormValue("op")
		may = q.v.mayRun(q.m, q.r.FormValue("op"))
	}
	if !may {
		return q.mayNot(right)
	}
	return q.m.closed
}

// mayNot is the answer to a viewer who lacks a right.
func (q *request) mayNot(right string) error {
	return &requestError{http.StatusForbidden, "You have not the right “" + right + "” on " + q.m.schema.Machine + "."}
}

// machine leads to the overview, wherever the console is mounted.
func (q *request) machine() error {
	q.w.Header().Set("Location", url.PathEscape(q.m.schema.Machine)+"/")
	q.w.WriteHeader(http.StatusTemporaryRedirect)
	return nil
}
