package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/validate"
)

func (c *tool) explainCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain [CODE...]",
		Short: "Explain a finding and how to fix it",
		Long: `Explain prints the pages of findings, or the list of all findings. A page gives
the reason, a bad and a good example, and what is reported for the bad one. With
--json it is an object with code, severity, title, doc (Markdown), old (the
version before, for findings of diff), bad, reported and good. For several codes
it is a list of them; for all findings the list has code, severity, title and
doc.`,
		Example: `  fsmgen explain FSM101
  fsmgen explain FSM101 FSM203
  fsmgen explain`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var codes []string
			for _, r := range validate.Rules {
				codes = append(codes, r.Code+"\t"+r.Name)
			}
			return codes, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.explainAll(asJSON)
			}
			return c.explain(args, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.QuietFlag(cmd)
	return cmd
}

// page is the JSON form of one rule; in the list of all it is without examples.
type page struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Title    string `json:"title"`
	Doc      string `json:"doc"`
	Old      string `json:"old,omitempty"`
	Bad      string `json:"bad,omitempty"`
	Reported string `json:"reported,omitempty"`
	Good     string `json:"good,omitempty"`
}

func newPage(r validate.Rule) page {
	return page{Code: r.Code, Severity: r.Severity.String(), Title: r.Name, Doc: r.Doc}
}

func (c *tool) explain(codes []string, asJSON bool) error {
	var rules []validate.Rule
	for _, code := range codes {
		want := strings.ToUpper(strings.TrimSpace(code))
		if want != "" && strings.Trim(want, "0123456789") == "" {
			want = "FSM" + strings.Repeat("0", max(0, 3-len(want))) + want
		}
		r, ok := validate.Explain(want)
		if !ok {
			return cli.Usagef("there is no finding %q%s", code, didYouMean(want))
		}
		rules = append(rules, r)
	}
	if asJSON {
		pages := []page{}
		for _, r := range rules {
			p := newPage(r)
			p.Old, p.Bad, p.Reported, p.Good = r.Old(), r.Bad(), r.Finding(), r.Good()
			pages = append(pages, p)
		}
		if len(pages) == 1 {
			return c.PrintJSON(pages[0])
		}
		return c.PrintJSON(pages)
	}
	for i, r := range rules {
		if i > 0 {
			c.Printf("\n\n")
		}
		c.Printf("%s", r.Page(cli.Width(c.Out)))
	}
	return nil
}

func (c *tool) explainAll(asJSON bool) error {
	if asJSON {
		pages := []page{}
		for _, r := range validate.Rules {
			pages = append(pages, newPage(r))
		}
		return c.PrintJSON(pages)
	}
	for _, r := range validate.Rules {
		c.Printf("%s  %-7s  %s\n", r.Code, r.Severity, r.Name)
	}
	return nil
}

// didYouMean names the known codes that differ from code in the fewest
// characters, if that is one, or two that are swapped.
func didYouMean(code string) string {
	var near []string
	for _, r := range validate.Rules {
		if nearCode(code, r.Code) {
			near = append(near, r.Code)
		}
	}
	if len(near) == 0 || len(near) > 4 {
		return "; run 'fsmgen explain' for the list"
	}
	return fmt.Sprintf("; did you mean %s?", strings.Join(near, ", "))
}

func nearCode(a, b string) bool {
	if len(a) == len(b)+1 || len(a)+1 == len(b) { // one character too many or too few
		long, short := a, b
		if len(a) < len(b) {
			long, short = b, a
		}
		for i := range long {
			if long[:i]+long[i+1:] == short {
				return true
			}
		}
		return false
	}
	if len(a) != len(b) {
		return false
	}
	var diff []int
	for i := range len(a) {
		if a[i] != b[i] {
			diff = append(diff, i)
		}
	}
	swapped := len(diff) == 2 && a[diff[0]] == b[diff[1]] && a[diff[1]] == b[diff[0]]
	return len(diff) == 1 || swapped
}
