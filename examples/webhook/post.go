package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/fsmgen/fsmgen/examples/webhook/notice"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// keyHeader carries the key under which a receiver takes a notice once.
const keyHeader = "Idempotency-Key"

// message is what is sent. It is the same at every try.
type message struct {
	Topic  string   `json:"topic"`
	Number int64    `json:"number"`
	Body   fsm.JSON `json:"body"`
}

// poster is the effect: it posts notices.
type poster struct {
	to     string
	client *http.Client
	now    func() time.Time
}

// longestAsked is how long a receiver may have a notice wait at most.
const longestAsked = 15 * time.Minute

// retryAfter returns until when a receiver that has too much to do asks to be left
// alone, by the header Retry-After: seconds, or a date.
func retryAfter(resp *http.Response, now time.Time) (until time.Time, told bool) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return time.Time{}, false
	}
	text := resp.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 64); err == nil {
		until = now.Add(time.Duration(min(seconds, uint64(longestAsked/time.Second))) * time.Second)
	} else if until, err = http.ParseTime(text); err != nil {
		return time.Time{}, false
	}
	if latest := now.Add(longestAsked); until.After(latest) {
		until = latest
	}
	return until, until.After(now)
}

func newPoster(c sendConfig) *poster {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = c.workers
	return &poster{to: c.to, now: time.Now, client: &http.Client{
		Transport: transport,
		Timeout:   c.timeout, // of a try as a whole, from the connection to the end of the answer
		// A redirect is an answer like any other that is not 2xx: it would turn the POST into a GET.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Post sends a notice. Its error says that the notice may not have been taken.
func (p *poster) Post(ctx context.Context, n notice.Notice, key string, _ fsm.Event) error {
	body, err := json.Marshal(message{Topic: n.Topic, Number: n.Number, Body: n.Body})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.to, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(keyHeader, url.PathEscape(key)) // a topic may hold what a header may not
	start := time.Now()
	resp, err := p.client.Do(req)
	if err != nil {
		return fmt.Errorf("no answer after %s: %w", time.Since(start).Round(time.Millisecond), err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 500))
	if resp.StatusCode/100 != 2 {
		err := fmt.Errorf("answered %s: %q", resp.Status, text)
		if until, told := retryAfter(resp, p.now()); told {
			return &fsm.LaterError{Until: until, Err: err}
		}
		return err
	}
	return err // the head says that it was taken, but the answer broke off: the next try tells
}
