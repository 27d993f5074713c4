package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// printGitHub prints the findings as workflow commands of GitHub Actions, which
// shows them beside the lines of a change.
func printGitHub(w io.Writer, sources []*source) {
	for _, s := range sources {
		for _, d := range s.found {
			// A reader that went away is no error of ours.
			_, _ = fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,endColumn=%d,title=%s::%s\n", githubLevel(d.Severity),
				githubProperty.Replace(d.File), d.Pos.Line, d.Pos.Col, d.Pos.Col+max(d.Len, 1),
				githubProperty.Replace(d.Code), githubText.Replace(longMessage(d)))
		}
	}
}

func githubLevel(s spec.Severity) string {
	switch s {
	case spec.Error:
		return "error"
	case spec.Warning:
		return "warning"
	}
	return "notice"
}

// A command ends with its line, and a property at a colon or a comma.
var (
	githubText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
