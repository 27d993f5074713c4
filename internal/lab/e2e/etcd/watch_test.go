package etcd_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/e2e/etcdcluster"
)

// watcher notes what each member says of the leader, and what callers are told,
// so that a long time without an acknowledgement can be explained.
type watcher struct {
	stop  chan struct{}
	group sync.WaitGroup

	mu    sync.Mutex
	began time.Time
	notes []note
}

type note struct {
	at   time.Time
	text string
	n    int // so often, one after another
}

// watch asks the members five times a second.
func watch(c *etcdcluster.Cluster) *watcher {
	w := &watcher{stop: make(chan struct{}), began: time.Now()}
	for _, p := range c.Members() {
		w.group.Go(func() {
			last := ""
			for {
				var s struct {
					Leader    string `json:"leader"`
					RaftTerm  string `json:"raftTerm"`
					RaftIndex string `json:"raftIndex"`
				}
				text := fmt.Sprintf("%s: ", p.Name)
				if err := p.Call(time.Second, "/v3/maintenance/status", struct{}{}, &s); err != nil {
					text += plain(err)
				} else {
					text += fmt.Sprintf("leader %q, term %s", s.Leader, s.RaftTerm)
				}
				if text != last {
					w.note(text)
				}
				last = text
				select {
				case <-w.stop:
					return
				case <-time.After(200 * time.Millisecond):
				}
			}
		})
	}
	return w
}

var varying = regexp.MustCompile(`"p\d[^"]*"|p\d-\d+|\d+ms|127\.0\.0\.1:\d+->|hot p\d\S*`)

// plain takes out of an error what differs each time.
func plain(err error) string { return varying.ReplaceAllString(err.Error(), "_") }

// note notes something; nil notes nothing.
func (w *watcher) note(text string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range slices.Backward(w.notes[max(0, len(w.notes)-12):]) {
		if last := &w.notes[max(0, len(w.notes)-12)+i]; last.text == text {
			last.n++
			return
		}
	}
	w.notes = append(w.notes, note{time.Now(), text, 1})
}

// between returns what was noted in a span of time.
func (w *watcher) between(from, to time.Time) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b strings.Builder
	for _, n := range w.notes {
		if n.at.After(from) && n.at.Before(to) {
			fmt.Fprintf(&b, "\n  %6.2f s: %s", n.at.Sub(from).Seconds(), n.text)
			if n.n > 1 {
				fmt.Fprintf(&b, " (%d times)", n.n)
			}
		}
	}
	return b.String()
}

func (w *watcher) end() {
	close(w.stop)
	w.group.Wait()
}

// watch makes the load tell why when it waits long.
func (l *load) watch(c *etcdcluster.Cluster) {
	w := watch(c)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watcher = w
}
