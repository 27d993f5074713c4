package console

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// How often a page that is open asks whether something has changed, and how long one connection lasts.
const (
	liveEvery = 2 * time.Second
	liveLong  = 10 * time.Minute
	liveMost  = 200 // pages that are open at once
)

// changes tells an open page when the log has grown, by server-sent events: one query of one event each two seconds.
func (q *request) changes() error {
	flush := http.NewResponseController(q.w)
	_ = flush.SetWriteDeadline(time.Time{}) // where the server has one for pages; not all can
	q.w.Header().Set("Content-Type", "text/event-stream")
	q.w.Header().Set("X-Accel-Buffering", "no")
	q.w.WriteHeader(http.StatusOK)
	ctx, cancel := context.WithTimeout(q.r.Context(), liveLong)
	defer cancel()
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	last, first := "", true
	for {
		now, word := last, ""
		err := q.m.look(ctx, func(r driver.Reader) error {
			list, err := r.Newest("", 1)
			if err == nil && len(list) > 0 {
				now = string(list[0].Cursor)
			}
			return err
		})
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			word = "event: away\ndata: 1\n\n"
		case first:
			word = "event: here\ndata: 1\n\n"
		case now != last:
			word = "event: changed\ndata: 1\n\n"
		default:
			word = ": still\n\n"
		}
		first, last = first && err != nil, now
		if _, err := fmt.Fprint(q.w, word); err != nil {
			return nil //nolint:nilerr // the reader has gone
		}
		if err := flush.Flush(); err != nil {
			return nil //nolint:nilerr // the reader has gone, or the server cannot stream
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
