package serve

import (
	"context"
	"net/http"
	"time"

	"github.com/fsmgen/fsmgen/spec"
)

// Database is what the page reads of a live database. It never writes, and its
// texts, errors included, never hold the password of an address.
type Database interface {
	// Address is where it is, without a password.
	Address() string
	// Overview counts the records of a machine and lists those that are overdue.
	Overview(ctx context.Context, m *spec.Machine) (Overview, error)
	// History returns a record with its events, oldest first.
	History(ctx context.Context, m *spec.Machine, id string) (History, error)
	// Audit looks for what breaks a rule.
	Audit(ctx context.Context, m *spec.Machine) (Audit, error)
}

// Overview is what a database holds of a machine.
type Overview struct {
	Now     string       `json:"now"`
	Counts  []StateCount `json:"counts"`  // in the order of the machine
	Overdue []Overdue    `json:"overdue"` // oldest deadline first
	Recent  []Listed     `json:"recent"`  // records that changed last, newest first
	More    bool         `json:"more"`    // there are more overdue records than are listed
}

// StateCount is how many records are in a state.
type StateCount struct {
	State string `json:"state"`
	Count int64  `json:"count"`
}

// Overdue is a record whose deadline has passed.
type Overdue struct {
	ID        string `json:"id"`
	State     string `json:"state"`
	Operation string `json:"operation"`
	Field     string `json:"field"`
	Deadline  string `json:"deadline"`
	Late      string `json:"late"`             // for how long
	Broken    bool   `json:"broken,omitempty"` // it breaks a rule: see the audit

	due time.Time
}

// Listed is a record in a list.
type Listed struct {
	ID      string `json:"id"`
	State   string `json:"state"`
	Rev     int64  `json:"rev"`
	Updated string `json:"updated"`
	Broken  bool   `json:"broken,omitempty"` // it breaks a rule: see the audit
}

// History is a record with its log.
type History struct {
	Record *Listed     `json:"record"` // nil when there is none
	Fields []NamedText `json:"fields"`
	Events []LogEvent  `json:"events"`
	More   bool        `json:"more"` // there are earlier events than those listed
}

// NamedText is a value as text.
type NamedText struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// LogEvent is one line of a record's log.
type LogEvent struct {
	Rev        int64       `json:"rev"`
	N          int64       `json:"n"`
	Operation  string      `json:"operation"`
	Event      string      `json:"event"`
	From       string      `json:"from"`
	To         string      `json:"to"`
	At         string      `json:"at"`
	Actor      string      `json:"actor"`
	Reason     string      `json:"reason"`
	Request    string      `json:"request"`
	Cause      string      `json:"cause"`
	RecordOnly bool        `json:"recordOnly"`
	Changes    []NamedText `json:"changes"`
}

// Audit is what an audit found.
type Audit struct {
	Records  int64          `json:"records"`
	Findings []AuditFinding `json:"findings"`
	More     bool           `json:"more"`
}

// AuditFinding is one of them.
type AuditFinding struct {
	ID   string `json:"id"`
	Rule string `json:"rule"`
	Text string `json:"text"`
	Must bool   `json:"must"`
}

func (s *Server) database(w http.ResponseWriter, r *http.Request, f *file) {
	answer(w, f, func(m *spec.Machine) (any, error) { return s.options.Database.Overview(r.Context(), m) })
}

func (s *Server) history(w http.ResponseWriter, r *http.Request, f *file) {
	answer(w, f, func(m *spec.Machine) (any, error) {
		return s.options.Database.History(r.Context(), m, r.URL.Query().Get("id"))
	})
}

func (s *Server) audit(w http.ResponseWriter, r *http.Request, f *file) {
	answer(w, f, func(m *spec.Machine) (any, error) { return s.options.Database.Audit(r.Context(), m) })
}

func answer(w http.ResponseWriter, f *file, ask func(*spec.Machine) (any, error)) {
	v := f.now()
	if !v.usable() {
		fail(w, http.StatusConflict, "the specification has errors; fix them to see the database")
		return
	}
	view, err := ask(v.machine)
	if err != nil {
		fail(w, http.StatusBadGateway, err.Error())
		return
	}
	reply(w, view)
}
