package main

import (
	"fmt"
	"os"
	"slices"
	"time"
)

// diskSyncs returns the median and the 90th percentile of the time that the disk of a folder takes for
// a write of 8 kB in place and its sync. Every commit of a database waits for one.
func diskSyncs(folder string) (p50, p90 time.Duration, err error) {
	const page, pages, times = 8 << 10, 64, 200
	f, err := os.CreateTemp(folder, "fsmgen-disk")
	if err != nil {
		return 0, 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	data := make([]byte, page*pages)
	if _, err := f.Write(data); err != nil {
		return 0, 0, err
	}
	if err := f.Sync(); err != nil {
		return 0, 0, err
	}
	took := make([]time.Duration, times)
	for i := range took {
		begun := time.Now()
		if _, err := f.WriteAt(data[:page], int64(i%pages*page)); err != nil {
			return 0, 0, err
		}
		if err := syncData(f); err != nil {
			return 0, 0, err
		}
		took[i] = time.Since(begun)
	}
	slices.Sort(took)
	return took[times/2], took[times*9/10], nil
}

// disk tells it.
func disk(folder string) string {
	p50, p90, err := diskSyncs(folder)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%.2f ms, %.2f ms", p50.Seconds()*1e3, p90.Seconds()*1e3)
}
