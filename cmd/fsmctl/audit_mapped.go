package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/live/sqldb"
	"github.com/fsmgen/fsmgen/internal/mapped"
)

// auditMapped audits a table that no machine has written.
func (c *ctl) auditMapped(path string, f auditFlags) error {
	if f.first < 1 {
		return cli.Usagef("--first is %d; write a number from 1 on", f.first)
	}
	s, err := c.Sound(path)
	if err != nil {
		return err
	}
	text, err := readMapping(f.mapping)
	if err != nil {
		return cli.Usagef("cannot read the mapping: %w", err)
	}
	m, wrong := mapped.Read(cli.Shown(f.mapping), text, s.Machine)
	if len(wrong) > 0 {
		for _, line := range wrong {
			c.Errorf("%s\n", cli.Plain(line))
		}
		return cli.Usagef("%s has errors; fix them first", cli.Shown(f.mapping))
	}
	switch {
	case f.db == "":
		return errNoDatabase
	case isEtcd(f.db):
		return cli.Usagef("--db: etcd has no tables; --mapping needs SQLite or PostgreSQL")
	}
	ctx, stop := cli.Interrupted()
	defer stop()
	r, address, err := c.mappedResult(ctx, s, m, f)
	if err != nil {
		return cli.Usagef("%s: %w", cli.Plain(address.Shown), cli.Broken(address.Clean(err)))
	}
	if f.asJSON {
		c.mappedJSON(s, m, r)
	} else {
		c.mappedText(s, m, r, address)
	}
	if r.Errors > 0 {
		return cli.ErrFindings
	}
	return nil
}

func readMapping(path string) (text []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, cli.MaxInput))
}

// mappedResult reads the table, and compares it where that is asked for.
func (c *ctl) mappedResult(
	ctx context.Context, s *cli.Source, m *mapped.Mapping, f auditFlags,
) (r *mapped.Result, a sqldb.Address, err error) {
	db, a, err := sqldb.Reading(f.db)
	if err != nil {
		return nil, a, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	bar := c.NewBar("records")
	defer bar.Hide()
	o := mapped.Options{Dialect: a.Dialect, First: f.first, Progress: bar.Set}
	r, err = mapped.Audit(ctx, db, m, o)
	if err != nil || !f.compare {
		return r, a, err
	}
	own, err := sqldb.Open(ctx, f.db, s.Machine, sqldb.Options{SpecFile: s.Name})
	if err != nil {
		return r, a, err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	return r, a, mapped.Compare(ctx, db, own, m, o, r)
}

func (c *ctl) mappedText(s *cli.Source, m *mapped.Mapping, r *mapped.Result, a sqldb.Address) {
	colours := cli.Colourful(c.Out)
	for _, f := range r.Findings {
		word, colour := "error", cli.Red
		if !f.Must {
			word, colour = "warning", cli.Yellow
		}
		if colours {
			word = colour + word + ":" + cli.Off
		} else {
			word += ":"
		}
		var first []string
		for _, p := range f.First {
			first = append(first, strings.TrimSpace(p.ID+" "+bracketed(p.Value)))
		}
		what, where := cli.Plain(f.Sentence()), cli.Plain(strings.Join(first, ", "))
		c.Printf("%s %s: %s: %s [%s]\n", word, cli.Count(int(f.Count), "record"), what, where, f.Check)
	}
	if c.Quiet {
		return
	}
	c.Printf("%s: table %s: %s", cli.Plain(a.Shown), cli.Plain(m.Table), cli.Count(int(r.Records), s.Machine.Entity))
	if m.History != nil {
		c.Printf(", %s in %s", cli.Count(int(r.Moves), "move"), cli.Plain(m.History.Table))
	}
	if r.Compared > 0 {
		c.Printf(", %d compared with the machine", r.Compared)
	}
	if r.Errors+r.Warnings == 0 {
		c.Printf(": ok\n")
		return
	}
	c.Printf(": %s, %s\n", cli.Count(int(r.Errors), "error"), cli.Count(int(r.Warnings), "warning"))
}

func bracketed(value string) string {
	if value == "" {
		return ""
	}
	return "(" + value + ")"
}

type mappedReport struct {
	Machine  string          `json:"machine"`
	Version  int             `json:"version"`
	Hash     string          `json:"hash"`
	Table    string          `json:"table"`
	Records  int64           `json:"records"`
	Moves    int64           `json:"moves"`
	Compared int64           `json:"compared"`
	Findings []mappedFinding `json:"findings"`
	Errors   int64           `json:"errors"`
	Warnings int64           `json:"warnings"`
}

type mappedFinding struct {
	Check    string        `json:"check"`
	Severity string        `json:"severity"`
	Rule     string        `json:"rule"`
	Count    int64         `json:"count"`
	First    []mappedPlace `json:"first"`
}

type mappedPlace struct {
	ID    string `json:"id"`
	Value string `json:"value,omitempty"`
}

func (c *ctl) mappedJSON(s *cli.Source, m *mapped.Mapping, r *mapped.Result) {
	out := mappedReport{
		Machine: s.Machine.Name, Version: s.Machine.Version, Hash: s.Machine.Hash, Table: m.Table,
		Records: r.Records, Moves: r.Moves, Compared: r.Compared,
		Findings: []mappedFinding{}, Errors: r.Errors, Warnings: r.Warnings,
	}
	for _, f := range r.Findings {
		next := mappedFinding{Check: f.Check, Severity: "error", Rule: f.Rule, Count: f.Count}
		if !f.Must {
			next.Severity = "warning"
		}
		for _, p := range f.First {
			next.First = append(next.First, mappedPlace(p))
		}
		out.Findings = append(out.Findings, next)
	}
	c.Printf("%s\n", cli.OneLine(out))
}
