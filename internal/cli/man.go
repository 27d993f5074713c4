package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ManCommand writes the man pages of all commands. It is for packagers, so it
// stands in no list.
func (c *CLI) ManCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write a man page for each command",
		Long:   "Man writes a page of section 1 for " + c.name + " and for each of its commands.",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // pages are for everybody
				return Usagef("cannot make the folder of the pages: %w", err)
			}
			for _, p := range manPages(cmd.Root()) {
				if err := os.WriteFile(filepath.Join(args[0], p.name), []byte(p.text), 0o644); err != nil { //nolint:gosec // as above
					return Usagef("cannot write a page: %w", err)
				}
			}
			return nil
		},
	}
}

type manPage struct{ name, text string }

// manPages returns the page of a command and those of the commands below it.
func manPages(cmd *cobra.Command) []manPage {
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"fsmgen\" \"fsmgen manual\"\n.nh\n.ad l\n", strings.ToUpper(name))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(lowerFirst(cmd.Short)))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(cmd.Long))
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	cmd.InitDefaultHelpFlag()
	b.WriteString(".SH OPTIONS\n")
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			b.WriteString(manFlag(f))
		}
	})
	var pages []manPage
	related := []string{}
	if cmd.HasParent() {
		related = append(related, strings.ReplaceAll(cmd.Parent().CommandPath(), " ", "-"))
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			related = append(related, name+"-"+sub.Name())
			pages = append(pages, manPages(sub)...)
		}
	}
	if len(related) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", strings.Join(related, " (1),\n.BR "))
	}
	return append([]manPage{{name + ".1", b.String()}}, pages...)
}

// manFlag describes one flag, with its value and what it is without it.
func manFlag(f *pflag.Flag) string {
	value, usage := pflag.UnquoteUsage(f)
	names := "--" + f.Name
	if f.Shorthand != "" {
		names = "-" + f.Shorthand + ", " + names
	}
	if value != "" {
		value = " \\fI" + roff(value) + "\\fR"
	}
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" {
		usage += fmt.Sprintf(" (default %s)", f.DefValue)
	}
	return fmt.Sprintf(".TP\n\\fB%s\\fR%s\n%s\n", roff(names), value, roff(usage))
}

// roff writes text so that no character of it is taken for a request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(strings.TrimRight(text, "\n"))
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
