package main

import (
	"fmt"
	"os"
	"strings"
)

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
