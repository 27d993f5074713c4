package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// change tells a page which file is another one now.
type change struct {
	Machine int    `json:"machine"`
	Hash    string `json:"hash"`
	Problem string `json:"problem,omitempty"` // why it cannot be read, and what to do
}

// events tells a page of every change of a file until it goes away. The first
// events say what there is, so that a page that was away learns what it missed.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	told := make([]change, len(s.files))
	look := time.NewTicker(s.options.Poll)
	defer look.Stop()
	for {
		sent := false
		for i, f := range s.files {
			now := change{Machine: i}
			if err := f.refresh(); err != nil {
				now.Problem = f.problem(err)
			} else {
				now.Hash = f.now().Hash
			}
			if now == told[i] {
				continue
			}
			told[i], sent = now, true
			text, err := json.Marshal(now)
			if err != nil {
				return // strings and a number: it cannot
			}
			if _, err := fmt.Fprintf(w, "event: change\ndata: %s\n\n", text); err != nil {
				return
			}
		}
		if sent {
			if err := out.Flush(); err != nil {
				return
			}
		}
		select {
		case <-r.Context().Done():
			return
		case <-look.C:
		}
	}
}
