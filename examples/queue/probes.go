package main

import (
	"net/http"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/runtime/health"
)

// withProbes answers at /live and /ready, and leaves the other addresses to the console. The queue runs a sweeper, so
// it is not ready when none has come to its end for a minute.
func withProbes(console http.Handler, jobs *lifecycle.Machine) http.Handler {
	probes := health.New(health.Options{Swept: time.Minute}, health.Of(jobs))
	mux := http.NewServeMux()
	mux.Handle("/live", probes.Live())
	mux.Handle("/ready", probes.Ready())
	mux.Handle("/", console)
	return mux
}
