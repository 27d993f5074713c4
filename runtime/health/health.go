// Package health answers probes of a program: whether its process lives, and whether its machines
// can serve. An answer is a short JSON document that holds no text of a database, no address and no value.
package health

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Options say when a program is ready. The zero value is a good choice.
type Options struct {
	// Within is how long the stores of all machines may take to answer; zero is 2 s.
	Within time.Duration
	// Swept is how long ago the last sweep of this process may have come to its end, where a machine has deadlines. Set
	// it in a program that runs the sweeper; zero does not ask.
	Swept time.Duration
	// Sound makes a program unready whose last check found something (see [audit.Health.Sound]), such as a record in
	// quarantine. Without it that is only told: one damaged record would take all processes from service at once.
	Sound bool
	// Log gets the errors behind an answer that is not "ready", when the answer changes; nil is [slog.Default].
	Log *slog.Logger
}

// again is for how long an answer is given again: probes need no login, and a store is not asked for each.
const again = time.Second

// Health answers the probes of a program.
type Health struct {
	o     Options
	list  []Machine
	began time.Time

	mu    sync.Mutex
	last  report
	until time.Time
}

// Machine is one machine that a program serves with.
type Machine struct {
	name   string
	sweeps bool
	now    func() time.Time
	look   func(context.Context) error
	health func() audit.Health
}

// Of returns a machine for New: m is the Machine of a generated package, or what [fsm.NewMachine] returned.
func Of[R any](m interface{ Core() *fsm.Machine[R] }) Machine {
	core := m.Core()
	e := core.Engine()
	x := Machine{name: e.Schema.Machine, now: e.Now, health: func() audit.Health { return audit.HealthOf(core) }}
	for _, op := range e.Descriptor.Operations {
		for _, t := range op.Triggers {
			x.sweeps = x.sweeps || !t.Startup
		}
	}
	x.look = func(ctx context.Context) error {
		return e.Table.Look(ctx, func(r driver.Reader) error {
			for _, err := range r.Rows(driver.Query{Limit: 1}) {
				return err
			}
			return nil
		})
	}
	return x
}

// New returns what answers the probes of a program with these machines.
func New(o Options, machines ...Machine) *Health {
	o.Within = cmp.Or(o.Within, 2*time.Second)
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Health{o: o, list: machines, began: time.Now()}
}

// Live answers 200 as long as the process answers at all. Nothing is asked: a process that is ended because its
// database is away comes back to the same database.
func (h *Health) Live() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		write(w, r, http.StatusOK, struct {
			Status string `json:"status"`
		}{"live"})
	})
}

// Ready answers 200 when all machines can serve, and 503 with the reasons else: the store answers within the time and
// takes writes, and what Options ask for besides holds. A store is asked once in a second at most, and by one probe.
func (h *Health) Ready() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, found := http.StatusOK, h.look(r.Context())
		if found.Status != ready {
			status = http.StatusServiceUnavailable
		}
		write(w, r, status, found)
	})
}

// The words of an answer.
const (
	ready    = "ready"
	notReady = "not ready"
)

// report is the answer of Ready.
type report struct {
	Status   string          `json:"status"`
	Machines []machineReport `json:"machines"`
}

type machineReport struct {
	Machine string   `json:"machine"`
	Ready   bool     `json:"ready"`
	Reasons []string `json:"reasons,omitempty"` // why it is not ready
	Notes   []string `json:"notes,omitempty"`   // what somebody should look at
}

// look returns the answer of the last second, or asks for it.
func (h *Health) look(ctx context.Context) report {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Now().Before(h.until) {
		return h.last
	}
	// A probe that goes away must not leave its end as everybody's answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.o.Within)
	defer cancel()
	found := report{Status: ready, Machines: make([]machineReport, len(h.list))}
	errs := make([]error, len(h.list))
	var parts sync.WaitGroup
	for i := range h.list {
		parts.Go(func() { found.Machines[i], errs[i] = h.one(ctx, &h.list[i]) })
	}
	parts.Wait()
	for i := range found.Machines {
		m := &found.Machines[i]
		if !m.Ready {
			found.Status = notReady
		}
		if i < len(h.last.Machines) && slices.Equal(h.last.Machines[i].Reasons, m.Reasons) || m.Ready && len(h.last.Machines) == 0 {
			continue
		}
		if m.Ready {
			h.o.Log.InfoContext(ctx, "ready again", "machine", m.Machine)
		} else {
			h.o.Log.WarnContext(ctx, "not ready", "machine", m.Machine, "reasons", m.Reasons, "error", errs[i])
		}
	}
	h.last, h.until = found, time.Now().Add(again)
	return found
}

// one looks at one machine. The error is for the log: its text may hold what is no business of a probe.
func (h *Health) one(ctx context.Context, m *Machine) (machineReport, error) {
	r := machineReport{Machine: m.name}
	reason := func(text string, of ...any) { r.Reasons = append(r.Reasons, fmt.Sprintf(text, of...)) }
	note := reason
	if !h.o.Sound {
		note = func(text string, of ...any) { r.Notes = append(r.Notes, fmt.Sprintf(text, of...)) }
	}
	state := m.health()
	err := m.look(ctx)
	switch {
	case state.Store != nil:
		err = state.Store
		reason("the store takes no more writes")
	case err != nil && ctx.Err() != nil:
		reason("the store does not answer within %s", h.o.Within)
	case err != nil:
		reason("the store cannot be read")
	}
	if h.o.Swept > 0 && m.sweeps {
		since := time.Since(h.began)
		if !state.Swept.IsZero() {
			since = m.now().Sub(state.Swept)
		}
		if since > h.o.Swept {
			reason("no sweep has come to its end for %s", since.Round(time.Second))
		}
	}
	switch {
	case state.Quarantined > 0:
		note("records in quarantine: %d; run fsmctl audit", state.Quarantined)
	case len(state.Findings) > 0:
		note("the last check found what must not be; run fsmctl audit")
	case state.Err != nil:
		note("the last check did not come to its end")
		if err == nil {
			err = state.Err
		}
	}
	if len(state.Refused) > 0 {
		note("deliveries gave up, and the step that follows is refused")
	}
	r.Ready = len(r.Reasons) == 0
	return r, err
}

// write answers a probe.
func write(w http.ResponseWriter, r *http.Request, status int, body any) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "use GET", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	if r.Method == http.MethodGet {
		_ = json.NewEncoder(w).Encode(body) // the reader may have gone
	}
}
