package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
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
}

func newPoster(c sendConfig) *poster {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = c.workers
	return &poster{to: c.to, client: &http.Client{
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
		return fmt.Errorf("answered %s: %q", resp.Status, text)
	}
	return err // the head says that it was taken, but the answer broke off: the next try tells
}
