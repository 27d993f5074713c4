package main

import (
	"net/url"
	"path"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	home        = "https://github.com/fsmgen/fsmgen"
)

// The parts of SARIF 2.1.0 that a report of ours needs.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string    `json:"id"`
		Short   sarifText `json:"shortDescription"`
		Full    sarifText `json:"fullDescription"`
		Help    sarifText `json:"help"`
		HelpURI string    `json:"helpUri"`
		Default struct {
			Level string `json:"level"`
		} `json:"defaultConfiguration"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
		Related   []sarifLocation `json:"relatedLocations,omitempty"`
	}
	sarifLocation struct {
		ID       int        `json:"id,omitempty"`
		Physical sarifPlace `json:"physicalLocation"`
		Message  *sarifText `json:"message,omitempty"`
	}
	sarifPlace struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region sarifRegion `json:"region"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
)

// newSARIF returns the findings in the form that code scanners read. All rules
// stand in it, so that a reader can tell a rule that found nothing from one
// that did not run.
func newSARIF(sources []*cli.Source) sarifLog {
	driver := sarifDriver{Name: "fsmgen", Version: cli.ReadBuildInfo().Version, InformationURI: home}
	index := map[string]int{}
	for i, r := range validate.Rules {
		rule := sarifRule{
			ID: r.Code, Short: sarifText{r.Name}, Full: sarifText{r.Doc},
			Help: sarifText{r.Doc + "\n\nSee also: fsmgen explain " + r.Code}, HelpURI: validate.PageOf(r.Code),
		}
		rule.Default.Level = sarifLevel(r.Severity)
		driver.Rules = append(driver.Rules, rule)
		index[r.Code] = i
	}
	run := sarifRun{Tool: sarifTool{driver}, ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	for _, s := range sources {
		for _, d := range s.Found {
			result := sarifResult{RuleID: d.Code, RuleIndex: -1, Level: sarifLevel(d.Severity), Message: sarifText{longMessage(d)}}
			if i, ok := index[d.Code]; ok {
				result.RuleIndex = i
			}
			main := sarifAt(d.File, d.Pos)
			main.Physical.Region.EndColumn = d.Pos.Col + max(d.Len, 1)
			result.Locations = []sarifLocation{main}
			for i, r := range d.Related {
				l := sarifAt(d.File, r.Pos)
				l.ID, l.Message = i+1, &sarifText{r.Message}
				result.Related = append(result.Related, l)
			}
			run.Results = append(run.Results, result)
		}
	}
	return sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}}
}

func sarifAt(file string, pos spec.Pos) sarifLocation {
	var l sarifLocation
	l.Physical.Artifact.URI = fileURI(file)
	l.Physical.Region = sarifRegion{StartLine: pos.Line, StartColumn: pos.Col}
	return l
}

// fileURI writes a path as a URI: relative paths stay relative.
func fileURI(file string) string {
	if path.IsAbs(file) {
		return (&url.URL{Scheme: "file", Path: file}).String()
	}
	return (&url.URL{Path: file}).String()
}

func sarifLevel(s spec.Severity) string {
	switch s {
	case spec.Error:
		return "error"
	case spec.Warning:
		return "warning"
	}
	return "note"
}

// longMessage is all that is said about a finding, for readers that show one
// text.
func longMessage(d spec.Diagnostic) string {
	text := d.Message
	if d.Before != "" || d.After != "" {
		text += "\nbefore: " + d.Before + "\nafter:  " + d.After
	}
	if d.Hint != "" {
		text += "\nhint: " + d.Hint
	}
	return text
}
