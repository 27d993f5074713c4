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
	live bool // an open page is told when the log has changed
}

var routes = []route{
	{"/{$}", "", (*request).home, false},
	{"/{place}/{machine}", See, (*request).machine, false},
	{"/{place}/{machine}/{$}", See, (*request).overview, true},
	{"/{place}/{machine}/records", See, (*request).records, true},
	{"/{place}/{machine}/record", See, (*request).record, true},
	{"/{place}/{machine}/late", See, (*request).late, true},
	{"/{place}/{machine}/outbox", See, (*request).outbox, true},
	{"/{place}/{machine}/times", See, (*request).times, true},
	{"/{place}/{machine}/log", See, (*request).log, true},
	{"/{place}/{machine}/audit", Audit, (*request).audit, false},
	{"/{place}/{machine}/changes", See, (*request).changes, false},
}

// request is one request of somebody who may make it.
type request struct {
	*Handler
	w http.ResponseWriter
	r *http.Request
	v Viewer
	m *Machine // nil: the request is about no machine

	mark  string // of the end of the log before the page was made
	quiet bool   // the page does not load itself again
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
		for _, values := range r.URL.Query() {
			for _, text := range values {
				if err := driver.CheckText(text); err != nil {
					q.fail(http.StatusBadRequest, "The address cannot be read: "+err.Error()+".")
					return
				}
			}
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
		if q.m != nil && of.live {
			if q.mark, err = q.m.mark(r.Context()); err != nil {
				q.mark = "" // the page says what is wrong
			}
		}
		if err := of.page(q); err != nil {
			q.fail(statusOf(err), h.problem(err))
		}
	}
}

// machine leads to the overview, wherever the console is mounted.
func (q *request) machine() error {
	q.w.Header().Set("Location", url.PathEscape(q.m.schema.Machine)+"/")
	q.w.WriteHeader(http.StatusTemporaryRedirect)
	return nil
}
