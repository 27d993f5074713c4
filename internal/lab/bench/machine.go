package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// opening writes what the report is, how it is made and on what.
func opening(o options, r *report) error {
	fmt.Fprintf(&r.head, `# Benchmarks

Written by `+"`make bench-report`"+`; do not edit (what people add stands in
[internal/lab/bench/NOTES.md](internal/lab/bench/NOTES.md) and is repeated at the end).

    make bench-report    # writes this file anew, on your machine
    make bench-peers     # the transitions in memory only, to the terminal
    make bench-soak      # stores under load, and a soak of 10 minutes
    make bench-smoke     # the guard: ratios far below their floor, allocations exactly

Every figure is the median of %d rounds of one run. Within a round the variants take turns of a fraction
of a millisecond (in memory) or of 400 ms (databases), so a busy machine slows all of them; a ratio is
the median of the ratios of the rounds. Compare ratios; times are those of this machine under this load.

| | |
|---|---|
| processor | %s, %d for Go |
| system | %s/%s%s |
| Go | %s |
| PostgreSQL, where one is measured | shared_buffers=%s, max_wal_size=4GB |
| load average at the start | %s |

`, o.rounds, processor(), runtime.GOMAXPROCS(0), runtime.GOOS, runtime.GOARCH, kernel(), runtime.Version(), buffers(), loadAverage())
	return nil
}

// processor names the processor, where the system tells.
func processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func kernel() string {
	v, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	return ", kernel " + strings.TrimSpace(string(v))
}

// buffers is a quarter of the machine's memory, as PostgreSQL's manual advises for
// a server of its own, and 256 MB where the system does not tell.
func buffers() string {
	info, err := os.ReadFile("/proc/meminfo")
	if err == nil {
		var kilobytes int
		if _, err := fmt.Sscanf(string(info), "MemTotal: %d kB", &kilobytes); err == nil {
			return fmt.Sprintf("%dMB", kilobytes/4/1024)
		}
	}
	return "256MB"
}

// loadAverage returns the load averages over 1, 5 and 15 minutes.
func loadAverage() string {
	v, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	f := strings.Fields(string(v))
	return strings.Join(f[:min(3, len(f))], ", ")
}
