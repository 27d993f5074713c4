package cookbook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"example.com/cookbook/job"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// finisher is what the handler needs of the jobs. *job.Machine is one.
type finisher interface {
	Finish(ctx context.Context, at fsm.Target, c fsm.Call) (job.Outcome, error)
}

// finishJob answers POST /jobs/{id}/finish.
func finishJob(jobs finisher) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		rev, _ := strconv.ParseInt(r.Header.Get("If-Match"), 10, 64) // the machine refuses 0
		call := fsm.Call{RequestID: r.Header.Get("Idempotency-Key"), Actor: r.Header.Get("Worker")}
		out, err := jobs.Finish(r.Context(), fsm.Ref{ID: r.PathValue("id"), Rev: rev}, call)
		if err != nil {
			status := http.StatusInternalServerError
			var known interface{ Status() (http, grpc int) }
			if errors.As(err, &known) { // a refusal, or an answer that was lost
				status, _ = known.Status()
			}
			http.Error(w, err.Error(), status)
			return
		}
		fmt.Fprintf(w, "%s at revision %d", out.Record.State, out.Ref().Rev)
	}
}
