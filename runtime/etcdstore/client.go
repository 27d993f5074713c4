package etcdstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

// rounds is how often a call goes through all endpoints before it gives up.
const rounds = 3

// client speaks to the JSON gateway of any member of the cluster.
type client struct {
	endpoints []string
	http      *http.Client
	try       time.Duration // the limit of one try
	current   atomic.Int64  // the endpoint that answered last
	revision  atomic.Int64  // the newest one that an answer told
	user      string
	password  string

	login chan struct{} // holds one token while somebody logs in
	token atomic.Pointer[string]
}

// What became of a call that got no answer.
var (
	// errCompacted: the revision that was read at is gone.
	errCompacted = errors.New("the revision was compacted")
	// errFuture: the member has not reached the revision yet.
	errFuture = errors.New("the member is behind")
)

// busyError says that surely nothing was applied and that no endpoint does better now.
type busyError struct{ err error }

func (e *busyError) Error() string { return e.err.Error() }
func (e *busyError) Unwrap() error { return e.err }

// lostError says that the request was sent and that its answer was lost.
type lostError struct{ err error }

func (e *lostError) Error() string { return "the answer was lost: " + e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// read makes a call that changes nothing, at any endpoint that answers.
func (c *client) read(ctx context.Context, path string, req, resp any) error {
	return c.call(ctx, path, req, resp, false)
}

// write makes a call that may be applied once: after it was sent it is not
// repeated, whatever comes back.
func (c *client) write(ctx context.Context, path string, req, resp any) error {
	return c.call(ctx, path, req, resp, true)
}

func (c *client) call(ctx context.Context, path string, req, resp any, writes bool) error {
	body, err := json.Marshal(req)
	if err != nil {
		return err
	}
	return c.send(ctx, path, body, resp, writes)
}

func (c *client) send(ctx context.Context, path string, body []byte, resp any, writes bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	renewed := 0
	var last error
	for round := range rounds {
		if round > 0 && !sleep(ctx, time.Duration(round)*50*time.Millisecond) {
			return ctx.Err()
		}
		for n := 0; n < len(c.endpoints); n++ {
			at := c.current.Load()
			token, err := c.auth(ctx)
			if err != nil {
				return err
			}
			sent, err := c.once(ctx, c.endpoints[at], path, token, body, resp)
			if err == nil {
				return nil
			}
			var s *status
			answered := errors.As(err, &s)
			switch {
			case answered && s.stale() && c.user != "" && renewed < 3:
				renewed++
				c.expire(token)
				n--
				continue
			case answered && s.compacted():
				return errCompacted
			case answered && s.future():
				return errFuture
			case answered && s.refused() && !s.elsewhere():
				return err
			case writes && sent && !(answered && s.refused()):
				c.leave(at)
				return &lostError{c.name(at, err)}
			case ctx.Err() != nil:
				return ctx.Err()
			}
			last = c.name(at, err)
			c.leave(at)
		}
	}
	return &busyError{fmt.Errorf("no endpoint of %d could be used: %w", len(c.endpoints), last)}
}

// name says which endpoint an error is of.
func (c *client) name(at int64, err error) error {
	return fmt.Errorf("%s: %w", c.endpoints[at], err)
}

// leave makes the next call go to another endpoint, unless one has done so.
func (c *client) leave(at int64) {
	c.current.CompareAndSwap(at, (at+1)%int64(len(c.endpoints)))
}

// once makes one try. Sent says that the server may have got the request.
func (c *client) once(ctx context.Context, endpoint, path, token string, body []byte, resp any) (sent bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.try)
	defer cancel()
	var traced, wrote atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:      func(string) { traced.Store(true) },
		WroteHeaders: func() { wrote.Store(true) },
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint+path, bytes.NewReader(body))
	if err != nil {
		return false, plain(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", token)
	}
	answer, err := c.http.Do(req)
	if err != nil {
		var op *net.OpError
		dialed := errors.As(err, &op) && op.Op == "dial"
		return !dialed && (wrote.Load() || !traced.Load()), plain(err)
	}
	defer func() { _ = answer.Body.Close() }() // it was read to the end
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return true, plain(err)
	}
	if answer.StatusCode != http.StatusOK {
		return true, readStatus(answer.StatusCode, answer.Status, text)
	}
	if resp == nil {
		return true, nil
	}
	if err := json.Unmarshal(text, resp); err != nil {
		return true, fmt.Errorf("the answer is not that of an etcd gateway: %w", err)
	}
	if r, ok := resp.(interface{ at() int64 }); ok {
		c.told(r.at())
	}
	return true, nil
}

// told notes a revision of the store.
func (c *client) told(revision int64) {
	for {
		known := c.revision.Load()
		if revision <= known || c.revision.CompareAndSwap(known, revision) {
			return
		}
	}
}

// plain takes the address out of an error of net/http: it is named once, and
// never with what may stand before its host.
func plain(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// auth returns the token of the session, empty without a user.
func (c *client) auth(ctx context.Context) (string, error) {
	if c.user == "" {
		return "", nil
	}
	if t := c.token.Load(); t != nil {
		return *t, nil
	}
	select {
	case c.login <- struct{}{}:
		defer func() { <-c.login }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if t := c.token.Load(); t != nil {
		return *t, nil
	}
	body, err := json.Marshal(map[string]string{"name": c.user, "password": c.password})
	if err != nil {
		return "", err
	}
	var answer struct {
		Token string `json:"token"`
	}
	anonymous := &client{endpoints: c.endpoints, http: c.http, try: c.try}
	anonymous.current.Store(c.current.Load())
	if err := anonymous.send(ctx, "/v3/auth/authenticate", body, &answer, false); err != nil {
		var s *status
		if errors.As(err, &s) && s.says("authentication is not enabled") {
			answer.Token = "" // the cluster wants none
			c.token.Store(&answer.Token)
			return "", nil
		}
		return "", fmt.Errorf("log in as %s: %w", c.user, err)
	}
	c.token.Store(&answer.Token)
	return answer.Token, nil
}

// expire forgets a token that a server refused, unless a new one is there.
func (c *client) expire(token string) {
	if t := c.token.Load(); t != nil && *t == token {
		c.token.CompareAndSwap(t, nil)
	}
}

// sleep waits, and reports whether it did so to the end.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
