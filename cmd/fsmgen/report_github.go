package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/diff"
	"github.com/fsmgen/fsmgen/spec"
)

// printGitHub prints the findings as workflow commands of GitHub Actions, which
// shows them beside the lines of a change.
func printGitHub(w io.Writer, sources []*cli.Source) {
	for _, s := range sources {
		for _, d := range s.Found {
			// A reader that went away is no error of ours.
			_, _ = fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,endColumn=%d,title=%s::%s\n", githubLevel(d.Severity),
				githubProperty.Replace(d.File), d.Pos.Line, d.Pos.Col, d.Pos.Col+max(d.Len, 1),
				githubProperty.Replace(d.Code), githubText.Replace(longMessage(d)))
		}
	}
}

// printGitHubDiff prints the changes of a specification as workflow commands.
// What breaks somebody is an error, what readers must know first a warning. A
// change whose place is gone is told at the first line of the new version.
func printGitHubDiff(w io.Writer, file string, report *diff.Report) {
	for _, c := range report.Changes {
		level, title := "notice", string(c.Class)
		switch {
		case c.Breaking():
			level = "error"
		case c.Code != "":
			level = "warning"
		}
		if c.Code != "" {
			title = c.Code + " " + title
		}
		text := c.Message
		if c.Hint != "" {
			text += "\nhint: " + c.Hint
		}
		_, _ = fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,title=%s::%s\n", level, githubProperty.Replace(file),
			max(c.New.Line, 1), max(c.New.Col, 1), githubProperty.Replace(title), githubText.Replace(text))
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
