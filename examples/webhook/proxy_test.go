package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// proxy stands between sender and receiver: the endpoint stays where it is when
// the receiver does not, and a request or an answer can be caught on its way.
type proxy struct {
	*httptest.Server
	target  atomic.Pointer[string] // the receiver's address
	request atomic.Pointer[trap]   // for the next request, before the receiver has it
	answer  atomic.Pointer[trap]   // for the next answer, before the sender has it
	client  *http.Client
}

// trap holds what falls into it until it is opened; then it is lost.
type trap struct{ full, open chan struct{} }

func newTrap() *trap { return &trap{make(chan struct{}), make(chan struct{})} }

// fall reports whether there was a trap.
func fall(at *atomic.Pointer[trap]) bool {
	tr := at.Swap(nil)
	if tr == nil {
		return false
	}
	close(tr.full)
	<-tr.open
	return true
}

// catch lets the next one fall into a trap, does something while it is held, and
// drops it.
func catch(t *testing.T, at *atomic.Pointer[trap], meanwhile func()) {
	t.Helper()
	tr := newTrap()
	at.Store(tr)
	defer close(tr.open)
	select {
	case <-tr.full:
	case <-time.After(time.Minute):
		t.Fatal("nothing comes by: nobody sends, or nobody answers")
	}
	meanwhile()
}

func newProxy(t *testing.T) *proxy {
	p := &proxy{client: &http.Client{Timeout: 10 * time.Second}}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() { p.client.CloseIdleConnections(); p.CloseClientConnections(); p.Close() })
	return p
}

// ServeHTTP passes a request on. http.ErrAbortHandler cuts the sender's connection.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || fall(&p.request) {
		panic(http.ErrAbortHandler)
	}
	// The sender's end is not the end of what the receiver does.
	req, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, "http://"+*p.target.Load()+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header = r.Header.Clone()
	req.GetBody = nil // else the client would try again by itself
	resp, err := p.client.Do(req)
	if err != nil {
		http.Error(w, "the receiver is down", http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || fall(&p.answer) {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(text)
}
