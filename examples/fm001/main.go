// Command fm001 tells the failure FM_001 twice: two workers, a lease that
// ends, one effect. With the safeguards switched off (naive.yaml) the effect is
// applied twice; with specs/execution.yaml it is applied once, also when the
// worker's process is really killed in mid-job.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	worker := flag.String("worker", "", "internal: be the worker that is killed at `step` (start or commit)")
	path := flag.String("db", "", "internal: the database of -worker")
	flag.Parse()
	ctx := context.Background()
	var err error
	if *worker != "" {
		err = beKilled(ctx, *path, *worker)
	} else {
		err = tell(ctx, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fm001:", err)
		os.Exit(1)
	}
}

// leaseTime is how long a lease lasts in the stories.
const leaseTime = 2 * time.Second
