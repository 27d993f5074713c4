package console

import (
	"net/http"
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
	Do             string // See or Audit
}

// What a viewer may do.
const (
	See   = "see"   // look at counts, records, logs and the outbox
	Audit = "audit" // read all of a machine to look for what breaks a rule
)

// Reader is a viewer who may look at everything, and change nothing.
func Reader(name string) Viewer {
	return Viewer{Name: name, May: func(r Right) bool { return r.Do == See || r.Do == Audit }}
}

func (v Viewer) may(m *Machine, do string) bool {
	return v.May != nil && v.May(Right{Place: m.place.Name, Machine: m.schema.Machine, Do: do})
}

// route is one address of the console. A test walks them all with each kind of viewer.
type route struct {
	path string
	do   string // the right that it takes; empty: it shows what the viewer may see
	page func(*request) error
}

var routes = []route{
	{"/{$}", "", (*request).home},
	{"/{place}/{machine}/{$}", See, (*request).overview},
	{"/{place}/{machine}/records", See, (*request).records},
	{"/{place}/{machine}/record", See, (*request).record},
	{"/{place}/{machine}/late", See, (*request).late},
	{"/{place}/{machine}/outbox", See, (*request).outbox},
	{"/{place}/{machine}/times", See, (*request).times},
	{"/{place}/{machine}/log", See, (*request).log},
	{"/{place}/{machine}/audit", Audit, (*request).audit},
	{"/{place}/{machine}/changes", See, (*request).changes},
}

// request is one request of somebody who may make it.
type request struct {
	*Handler
	w http.ResponseWriter
	r *http.Request
	v Viewer
	m *Machine // nil: the request is about no machine
}

// guarded lets only those ask who may. A machine that a viewer may not see is not there for them.
func (h *Handler) guarded(of route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := h.o.Who(r)
		q := &request{Handler: h, w: w, r: r, v: v}
		if err != nil {
			q.fail(http.StatusUnauthorized, err.Error())
			return
		}
		if of.do != "" {
			q.m = h.url[r.PathValue("place")+"/"+r.PathValue("machine")]
			if q.m == nil || !v.may(q.m, See) {
				q.m = nil
				q.fail(http.StatusNotFound, "There is no such machine here, or it is not for you.")
				return
			}
			if !v.may(q.m, of.do) {
				q.fail(http.StatusForbidden, "You have not the right “"+of.do+"” on "+q.m.schema.Machine+".")
				return
			}
			if q.m.closed != nil {
				q.fail(statusOf(q.m.closed), h.problem(q.m.closed))
				return
			}
		}
		if err := of.page(q); err != nil {
			q.fail(statusOf(err), h.problem(err))
		}
	}
}
