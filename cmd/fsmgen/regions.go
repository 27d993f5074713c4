package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/spec"
)

// regionPicture is the index or the picture of one region.
type regionPicture struct {
	name  string // "" for the index
	chart *chart.Chart
	data  []byte
}

// regions draws the index of a machine and each of its regions: as files beside
// each other, or with a name in .md, and without one, on one page.
func (c *tool) regions(s *cli.Source, format diagramFormat, f diagramFlags) error {
	rs := chart.Regions(s.Machine)
	pictures := []regionPicture{{chart: chart.Index(s.Machine, rs)}}
	for _, r := range rs {
		pictures = append(pictures, regionPicture{name: r.Name, chart: r.Chart(s.Machine, details[f.detail])})
	}
	for i, p := range pictures {
		data, err := format.write(p.chart, f)
		if err != nil {
			return cli.Internal(fmt.Errorf("draw %s: %w", format.name, err))
		}
		pictures[i].data = data
	}
	asPage := f.out == "" || filepath.Ext(f.out) == ".md"
	var targets []*target
	if !asPage || format.fence == "" {
		for _, p := range pictures {
			targets = append(targets, &target{path: regionFile(f.out, format, p.name), data: p.data})
		}
	}
	if asPage {
		page := regionPage(s.Machine, rs, pictures, format, f.out)
		if f.out == "" {
			return c.Give(s, f.asJSON, "markdown", page)
		}
		targets = append(targets, &target{path: f.out, data: page})
	}
	return c.put([]*plan{{source: s, targets: targets}}, putOptions{check: f.check, asJSON: f.asJSON})
}

// regionFile names the file of a picture, beside out.
func regionFile(out string, format diagramFormat, region string) string {
	base := strings.TrimSuffix(out, filepath.Ext(out))
	if region != "" {
		base += "-" + region
	}
	return base + format.ext
}

// regionPage is the index and all regions as Markdown, with links from each to
// those that its moves lead to.
func regionPage(m *spec.Machine, rs []chart.Region, pictures []regionPicture, format diagramFormat, out string) []byte {
	var b bytes.Buffer
	picture := func(p regionPicture) {
		if format.fence == "" {
			fmt.Fprintf(&b, "![%s](%s)\n\n", p.chart.Title, filepath.Base(regionFile(out, format, p.name)))
			return
		}
		fmt.Fprintf(&b, "```%s\n%s```\n\n", format.fence, p.data)
	}
	links := func(names []string) string {
		list := make([]string, len(names))
		for i, n := range names {
			list[i] = fmt.Sprintf("[%s](#%s)", n, n)
		}
		return strings.Join(list, ", ")
	}
	fmt.Fprintf(&b, "<!-- %s -->\n\n# %s\n\n", chart.Header, pictures[0].chart.Title)
	fmt.Fprintf(&b, "Each box is a region: a run of states in the order of the specification. The cuts lie where few moves cross them.\n"+
		"A region is named after the state that most moves enter.\n\n")
	picture(pictures[0])
	for i, r := range rs {
		fmt.Fprintf(&b, "## %s\n\n", r.Name)
		from, to := neighbours(m, rs, i)
		if len(from) > 0 {
			fmt.Fprintf(&b, "From %s. ", links(from))
		}
		if len(to) > 0 {
			fmt.Fprintf(&b, "On to %s. ", links(to))
		}
		fmt.Fprintf(&b, "[All regions](#%s-regions)\n\n", strings.ToLower(m.Entity))
		picture(pictures[i+1])
	}
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n')
}

// neighbours returns the regions from which moves lead to region i, and those to
// which its moves lead.
func neighbours(m *spec.Machine, rs []chart.Region, i int) (from, to []string) {
	for k, r := range rs {
		if k == i {
			continue
		}
		if chart.Leads(m, r, rs[i]) {
			from = append(from, r.Name)
		}
		if chart.Leads(m, rs[i], r) {
			to = append(to, r.Name)
		}
	}
	return from, to
}
