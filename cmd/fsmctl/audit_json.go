package main

import (
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/live"
	"github.com/fsmgen/fsmgen/runtime/audit"
)

// auditJSON prints one JSON document, its findings while they are found.
type auditJSON struct {
	c       *ctl
	db      *live.DB
	any     bool
	repairs []repairReport
}

type auditFindingReport struct {
	ID       string `json:"id"`
	Rev      int64  `json:"rev,omitempty"` // of the event, where one is guilty
	N        int64  `json:"n,omitempty"`
	Check    string `json:"check"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
}

type repairReport struct {
	ID       string         `json:"id"`
	Changes  []changeReport `json:"changes"`
	Missing  bool           `json:"missing,omitempty"`
	Why      string         `json:"why_not,omitempty"`
	Repaired bool           `json:"repaired"`
}

type changeReport struct {
	Field string `json:"field"`
	Old   any    `json:"old"`
	New   any    `json:"new"`
}

func (j *auditJSON) begin() {
	head := cli.OneLine(struct {
		Machine string `json:"machine"`
		Version int    `json:"version"`
		Hash    string `json:"hash"`
	}{j.db.Spec.Name, j.db.Spec.Version, j.db.Spec.Hash})
	j.c.Printf("%s,\"findings\":[", strings.TrimSuffix(head, "}"))
}

func (j *auditJSON) finding(f audit.Finding) {
	severity := "error"
	if !f.Must {
		severity = "warning"
	}
	separator := "\n"
	if j.any {
		separator = ",\n"
	}
	j.any = true
	j.c.Printf("%s%s", separator, cli.OneLine(auditFindingReport{f.ID, f.Rev, f.N, f.Check, severity, f.Message}))
}

func (j *auditJSON) proposal(p live.Proposal, done bool) {
	r := repairReport{ID: p.ID, Changes: []changeReport{}, Missing: p.Missing, Why: p.Why, Repaired: done}
	for _, ch := range p.Changes {
		r.Changes = append(r.Changes, changeReport{ch.Field, reported(ch.Old), reported(ch.New)})
	}
	j.repairs = append(j.repairs, r)
}

// reported is a value of a row in the report. JSON and sets are texts there, as they
// are in the row.
func reported(v any) any {
	if t, ok := v.(time.Time); ok {
		return t.UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	return v
}

func (j *auditJSON) end(r auditResult, err error) {
	if j.any {
		j.c.Printf("\n")
	}
	var probes []string
	for _, p := range j.db.Spec.Probes {
		probes = append(probes, p.Name)
	}
	tail := struct {
		auditResult
		Probes  []string       `json:"probes_not_asked,omitempty"`
		Repairs []repairReport `json:"repairs,omitempty"`
		Error   string         `json:"error,omitempty"` // the audit did not come to its end
	}{auditResult: r, Probes: probes, Repairs: j.repairs}
	if err != nil {
		tail.Error = cli.Broken(err).Error()
	}
	j.c.Printf("],%s\n", strings.TrimPrefix(cli.OneLine(tail), "{"))
}
