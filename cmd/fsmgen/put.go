package main

import (
	"cmp"
	"slices"
)

// putOptions say how the plans meet the disk.
type putOptions struct {
	check  bool // compare only
	asJSON bool
}

// put brings the disk in line with the plans, or with check says where it is
// not. It writes everything or nothing.
func (c *cli) put(plans []*plan, opt putOptions) error {
	var targets []*target
	var stale []string
	for _, p := range plans {
		c.current = p.source.name
		targets = append(targets, p.targets...)
		stale = append(stale, p.stale...)
	}
	blocked, drift := false, len(stale) > 0
	for _, t := range targets {
		if err := t.compare(); err != nil {
			return usagef("cannot compare with the file on disk: %w", err)
		}
		blocked = blocked || t.status == statusForeign
		drift = drift || t.status != statusUnchanged
	}
	if !opt.check && !blocked {
		removeLeftovers(targets)
		if err := writeAll(targets); err != nil {
			return usagef("cannot write: %w", err)
		}
	}
	if opt.asJSON {
		if err := c.printJSON(newReport(plannedSources(plans), newFileReports(targets, stale, opt.check || blocked))); err != nil {
			return err
		}
	} else {
		c.printTargets(targets, stale, opt.check, blocked)
	}
	if blocked || (opt.check && drift) {
		return errFindings
	}
	return nil
}

// printTargets says in words what was done, or what is to do. Files that were
// written go to the standard output, everything else is a remark.
func (c *cli) printTargets(targets []*target, stale []string, check, blocked bool) {
	for _, t := range targets {
		path := shown(t.path)
		switch {
		case t.status == statusForeign:
			c.errorf("%s: fsmgen did not write this file and leaves it alone; move it away or generate elsewhere (-o)\n", path)
		case t.status == statusUnchanged || blocked && !check:
		case check && t.status == statusMissing:
			c.printf("%s: missing\n", path)
		case check:
			c.printf("%s: not up to date\n", path)
		default:
			c.remarkf("wrote %s\n", path)
		}
	}
	for _, path := range stale {
		if check {
			c.printf("%s: no longer generated\n", shown(path))
		} else {
			c.errorf("%s: no longer generated; remove it\n", shown(path))
		}
	}
	if blocked && !check {
		c.errorf("nothing was written\n")
	}
}

// fileReport is the JSON form of one file on disk.
type fileReport struct {
	Path    string `json:"path"`
	Status  status `json:"status"` // before the run
	Written bool   `json:"written"`
	Problem string `json:"problem,omitempty"` // why fmt leaves it as it is
	Diff    string `json:"diff,omitempty"`    // of fmt --diff: to what it would become
}

func newFileReports(targets []*target, stale []string, untouched bool) []fileReport {
	reports := []fileReport{}
	for _, t := range targets {
		changed := t.status == statusMissing || t.status == statusDiffers
		reports = append(reports, fileReport{Path: shown(t.path), Status: t.status, Written: changed && !untouched})
	}
	for _, path := range stale {
		reports = append(reports, fileReport{Path: shown(path), Status: statusStale})
	}
	slices.SortFunc(reports, func(a, b fileReport) int { return cmp.Compare(a.Path, b.Path) })
	return reports
}

func plannedSources(plans []*plan) []*source {
	sources := make([]*source, len(plans))
	for i, p := range plans {
		sources[i] = p.source
	}
	return sources
}
