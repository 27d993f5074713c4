package main

import (
	"cmp"
	"slices"

	"github.com/fsmgen/fsmgen/internal/cli"
)

// putOptions say how the plans meet the disk.
type putOptions struct {
	check  bool // compare only
	asJSON bool
	tell   bool // say so when there is nothing to do
}

// put brings the disk in line with the plans, or with check says where it is
// not. It writes everything or nothing.
func (c *tool) put(plans []*plan, opt putOptions) error {
	var targets []*target
	var stale []string
	for _, p := range plans {
		c.Current = p.source.Name
		targets = append(targets, p.targets...)
		stale = append(stale, p.stale...)
	}
	blocked, drift := false, len(stale) > 0
	for _, t := range targets {
		if err := t.compare(); err != nil {
			return cli.Usagef("cannot compare with the file on disk: %w", err)
		}
		blocked = blocked || t.status == statusForeign
		drift = drift || t.status != statusUnchanged
	}
	if !opt.check && !blocked {
		removeLeftovers(targets)
		if err := writeAll(targets); err != nil {
			return cli.Usagef("cannot write: %w", err)
		}
	}
	if opt.asJSON {
		if err := c.PrintJSON(cli.NewReport(plannedSources(plans), newFileReports(targets, stale, opt.check || blocked))); err != nil {
			return err
		}
	} else {
		c.printTargets(targets, stale, opt.check, blocked)
		if opt.tell && !drift {
			c.Remarkf("everything is up to date\n")
		}
	}
	if blocked || (opt.check && drift) {
		return cli.ErrFindings
	}
	return nil
}

// printTargets says in words what was done, or what is to do. Files that were
// written go to the standard output, everything else is a remark.
func (c *tool) printTargets(targets []*target, stale []string, check, blocked bool) {
	for _, t := range targets {
		path := cli.Shown(t.path)
		switch {
		case t.status == statusForeign:
			c.Errorf("%s: fsmgen did not write this file and leaves it alone; move it away or generate elsewhere (-o)\n", path)
		case t.status == statusUnchanged || blocked && !check:
		case check && t.status == statusMissing:
			c.Printf("%s: missing\n", path)
		case check:
			c.Printf("%s: not up to date\n", path)
		default:
			c.Remarkf("wrote %s\n", path)
		}
	}
	for _, path := range stale {
		if check {
			c.Printf("%s: no longer generated\n", cli.Shown(path))
		} else {
			c.Errorf("%s: no longer generated; remove it\n", cli.Shown(path))
		}
	}
	if blocked && !check {
		c.Errorf("nothing was written\n")
	}
}

func newFileReports(targets []*target, stale []string, untouched bool) []cli.FileReport {
	reports := []cli.FileReport{}
	for _, t := range targets {
		changed := t.status == statusMissing || t.status == statusDiffers
		reports = append(reports, cli.FileReport{Path: cli.Shown(t.path), Status: t.status, Written: changed && !untouched})
	}
	for _, path := range stale {
		reports = append(reports, cli.FileReport{Path: cli.Shown(path), Status: statusStale})
	}
	slices.SortFunc(reports, func(a, b cli.FileReport) int { return cmp.Compare(a.Path, b.Path) })
	return reports
}

func plannedSources(plans []*plan) []*cli.Source {
	sources := make([]*cli.Source, len(plans))
	for i, p := range plans {
		sources[i] = p.source
	}
	return sources
}
