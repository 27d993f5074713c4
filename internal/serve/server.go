package serve

import (
	"context"
	"errors"
	"fmt"
	"go/format"
	"net"
	"net/http"
	"time"

	"github.com/fsmgen/fsmgen/internal/model"
	"github.com/fsmgen/fsmgen/internal/serve/answers"
	"github.com/fsmgen/fsmgen/spec"
)

// Check parses a specification and looks at it with every rule: the machine is
// nil when the text cannot be understood.
type Check func(file string, src []byte) (*spec.Machine, spec.Diagnostics)

// Options say what a page shows.
type Options struct {
	Files    []string      // paths of specifications
	Check    Check         // what finds mistakes in them
	Database *Database     // nil: none
	Poll     time.Duration // how often files are looked at; 0: half a second
}

// Server is the page of some specifications.
type Server struct {
	options Options
	files   []*file
	search  answers.Search // model.Search, but for tests
	latest  latest
}

// New reads the specifications. A file with findings is no error; one that
// cannot be read is.
func New(o Options) (*Server, error) {
	if o.Poll == 0 {
		o.Poll = 500 * time.Millisecond
	}
	s := &Server{options: o, search: model.Search}
	for _, path := range o.Files {
		f := &file{path: path, check: o.Check}
		if err := f.refresh(); err != nil {
			return nil, fmt.Errorf("cannot read the specification: %w", err)
		}
		s.files = append(s.files, f)
	}
	return s, nil
}

// Handler returns the page for requests that name one of the hosts, or, with
// any, an address instead of a name.
func (s *Server) Handler(hosts Hosts) http.Handler {
	mux := http.NewServeMux()
	for _, a := range assets {
		mux.HandleFunc("GET "+a.path, a.serve)
	}
	mux.HandleFunc("GET /api/overview", s.overview)
	mux.HandleFunc("GET /api/events", s.events)
	mux.HandleFunc("GET /api/machine/{n}", s.one("machine"))
	mux.HandleFunc("GET /api/machine/{n}/picture.svg", s.one("picture.svg"))
	for _, question := range []string{"play", "gotest", "check"} {
		mux.HandleFunc("POST /api/machine/{n}/"+question, s.one(question))
	}
	if s.options.Database != nil {
		mux.HandleFunc("GET "+consolePath+"/", s.console)
	}
	return guarded(hosts, mux)
}

// Serve answers at l until the context ends.
func (s *Server) Serve(ctx context.Context, l net.Listener, hosts Hosts) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := &http.Server{
		Handler:           s.Handler(hosts),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    1 << 16,
	}
	done := make(chan error, 1)
	go func() {
		<-ctx.Done()
		last, end := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer end()
		err := server.Shutdown(last)
		if errors.Is(err, context.DeadlineExceeded) {
			err = server.Close()
		}
		done <- err
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-done
}

// one answers a question about the file that a request names.
func (s *Server) one(question string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i, f := range s.files {
			if r.PathValue("n") != fmt.Sprint(i) {
				continue
			}
			if err := f.refresh(); err != nil {
				fail(w, http.StatusServiceUnavailable, f.problem(err))
				return
			}
			s.answer(w, r, f.now(), question)
			return
		}
		fail(w, http.StatusNotFound, fmt.Sprintf("no machine is named %q; the page has %d", r.PathValue("n"), len(s.files)))
	}
}

// answer answers a question about a text. Of searches only the last one goes on.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, t *answers.Text, question string) {
	request, ok := body(w, r)
	if !ok {
		return
	}
	text, err := answers.Answer(r.Context(), t, question, request, answers.Options{Search: s.lastSearch, Format: format.Source})
	var refused *answers.Refused
	switch {
	case err == nil:
		w.Header().Set("Content-Type", "application/json")
		if question == "picture.svg" {
			w.Header().Set("Content-Type", "image/svg+xml")
		}
		_, _ = w.Write(text) // a browser that went away is no error of ours
	case errors.As(err, &refused):
		fail(w, refused.Status, refused.Text)
	case r.Context().Err() != nil: // the page is gone
	default:
		fail(w, http.StatusConflict, "another search replaced this one")
	}
}

// lastSearch searches, in place of the search that runs.
func (s *Server) lastSearch(ctx context.Context, m *spec.Machine, o model.Options, progress func(looked, known int)) (model.Result, error) {
	ctx, end, err := s.latest.begin(ctx)
	if err != nil {
		return model.Result{}, err
	}
	defer end()
	return s.search(ctx, m, o, progress)
}
