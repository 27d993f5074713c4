package console

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
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

// newestMarked is how many of the newest events say that a log is as it was: an older transaction may still put one
// between them.
const newestMarked = 20

// mark says what the end of the log is, and what stands there.
func (m *Machine) mark(ctx context.Context) (mark string, end logEnd, err error) {
	sum := sha256.New()
	err = m.look(ctx, func(r driver.Reader) error {
		list, err := r.Newest("", newestMarked)
		for i := range list {
			fmt.Fprintln(sum, list[i].Cursor)
			end.see(&list[i].Event)
		}
		return err
	})
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:9]), end, err
}

// changes tells an open page when the log is another than the page was made of, by server-sent events. That is
// one query of a few events each two seconds.
func (q *request) changes() error {
	if q.r.Method != http.MethodGet {
		return nil
	}
	if q.open.Add(1) > liveMost {
		q.open.Add(-1)
		return &requestError{http.StatusServiceUnavailable, "Too many pages are open."}
	}
	defer q.open.Add(-1)
	flush := http.NewResponseController(q.w)
	_ = flush.SetWriteDeadline(time.Time{}) // where the server has one for pages; not all can
	q.w.Header().Set("Content-Type", "text/event-stream")
	q.w.Header().Set("X-Accel-Buffering", "no")
	q.w.WriteHeader(http.StatusOK)
	ctx, cancel := context.WithTimeout(q.r.Context(), liveLong)
	defer cancel()
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	said := ""
	for {
		word := "here"
		switch now, _, err := q.m.mark(ctx); {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			word = "away"
		case now != q.r.URL.Query().Get("after"):
			word = "changed"
		}
		text := ": still\n\n"
		if word != said {
			text = "event: " + word + "\ndata: 1\n\n"
		}
		said = word
		if _, err := fmt.Fprint(q.w, text); err != nil {
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
