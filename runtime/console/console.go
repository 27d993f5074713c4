package console

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsmgen/fsmgen/runtime/console/run"
)

// Options say what a console shows, and to whom.
type Options struct {
	// Who says who makes a request. It has no default: a console without it is not made. Its error is
	// the answer 401, with its text.
	Who func(*http.Request) (Viewer, error)
	// Machines are shown in this order. A place and a machine's name stand in addresses, so
	// no two may have both in common.
	Machines []Machine
	// Show says how much of a value is shown, everywhere: a field or an input by its name, or one of
	// ActorOf, ReasonOf, LabelsOf, RequestOf and ProblemOf. What is not shown whole cannot be searched for either. Nil shows all.
	Show func(machine, name string) Showing
	// Clean changes an error of a store before it is shown, such as to leave out an address; nil: it is shown as it is.
	Clean func(error) error
	// Runs keeps what is done to many records at once: run.Open over a store that run.Migrate has prepared. It may be
	// another store than that of the machines. Nil: nothing is done to many.
	Runs *run.Machine
	// KeepRuns is how long a run is kept after its last change, when it has ended; 0: 90 days; less than 0: for good. What nobody
	// has started or gone on with for that long is stopped. A process looks for such runs when somebody makes or lists
	// runs, once an hour at most.
	KeepRuns time.Duration
	// Links lead from a record to other tools.
	Links []Link
	// Now is the clock; nil: that of the process.
	Now func() time.Time
}

// Link leads from a record to another tool, such as traces or logs.
type Link struct {
	Text string
	// URL is the address, in which {machine}, {id} and {request} (the request id of the last event) are
	// replaced, escaped as parts of a query.
	URL string
}

// Showing is how much of a value is shown.
type Showing uint8

// The ways to show a value.
const (
	Whole  Showing = iota // as it is
	Short                 // its first four characters
	Hidden                // that there is one
)

// The names by which Options.Show is asked for what is no field and no input.
const (
	ActorOf   = "$actor"
	ReasonOf  = "$reason"
	LabelsOf  = "$labels"
	RequestOf = "$request" // the request id
	ProblemOf = "$problem" // of the last try of an effect
)

// Place is where machines run, as people tell environments apart.
type Place struct {
	Name   string // "production"; it stands in addresses
	Colour string // "#a51d2d": of a bar at the top; empty: none
}

// Handler is the console. It is mounted with http.StripPrefix where it is not at the root.
type Handler struct {
	o    Options
	mux  *http.ServeMux
	url  map[string]*Machine // by place and machine
	open atomic.Int64        // pages that are told of changes

	cross   *http.CrossOriginProtection
	running sync.Map     // runs that this process works on
	tidied  atomic.Int64 // when runs were last removed, in microseconds
}

// New makes a console.
func New(o Options) (*Handler, error) {
	if o.Who == nil {
		return nil, errors.New("console: Options.Who is missing: it says who makes a request, and what they may do; " +
			"a console on one's own computer can say console.Reader(\"me\")")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &Handler{o: o, mux: http.NewServeMux(), url: map[string]*Machine{}, cross: http.NewCrossOriginProtection()}
	for i := range o.Machines {
		m := &h.o.Machines[i]
		key := m.place.Name + "/" + m.schema.Machine
		switch {
		case !placeName.MatchString(m.place.Name) || m.place.Name == "assets":
			return nil, fmt.Errorf("console: the place %q cannot stand in an address: "+
				"give it a name of letters, digits, - and _, such as \"production\"", m.place.Name)
		case !colour.MatchString(m.place.Colour):
			return nil, fmt.Errorf("console: the colour %q of the place %s is none: write it as \"#a51d2d\"", m.place.Colour, m.place.Name)
		case h.url[key] != nil:
			return nil, fmt.Errorf("console: the machine %s stands twice at the place %s: give the second one another place",
				m.schema.Machine, m.place.Name)
		}
		h.url[key] = m
	}
	for _, r := range routes {
		h.mux.HandleFunc(r.method+" "+r.path, h.guarded(r))
	}
	for _, a := range assets {
		h.mux.HandleFunc("GET /assets/"+a.name, a.serve)
	}
	return h, nil
}

// policy lets a page use the console's own files, send forms to it, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Security-Policy", policy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "same-origin")
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Cache-Control", "no-store")
	if r.URL.Path != "/" && path.Clean(r.URL.Path) != strings.TrimSuffix(r.URL.Path, "/") {
		http.NotFound(w, r) // the mux would lead to an address outside of where the console is mounted
		return
	}
	h.mux.ServeHTTP(w, r)
}
