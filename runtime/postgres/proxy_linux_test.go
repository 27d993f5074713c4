package postgres_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
)

// proxy stands between a store and a server and can lose what passes.
type proxy struct {
	net.Listener
	socket string

	mu     sync.Mutex
	silent bool   // answers are lost; what is asked still reaches the server
	until  string // the next statement with this word makes the proxy silent; empty: none does
	trips  int    // messages that the server has to answer before it hears of more
	conns  []net.Conn
}

func newProxy(t *testing.T, s *pgtest.Server) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, socket: s.Socket()}
	go p.serve()
	t.Cleanup(func() {
		l.Close()
		p.cut()
	})
	return p
}

// dsn is the address of the server's database through the proxy.
func (p *proxy) dsn() string {
	return "postgres://postgres@" + p.Addr().String() + "/postgres?sslmode=disable"
}

func (p *proxy) serve() {
	for {
		client, err := p.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.socket)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		go func() {
			io.Copy(server, io.TeeReader(client, &listener{p: p}))
			server.Close()
		}()
		go p.answers(client, server)
	}
}

// answers passes on what the server says, unless the proxy is silent.
func (p *proxy) answers(client, server net.Conn) {
	buf := make([]byte, 1<<16)
	for {
		n, err := server.Read(buf)
		if err != nil {
			client.Close()
			return
		}
		p.mu.Lock()
		silent := p.silent
		p.mu.Unlock()
		if silent {
			continue
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// listener hears what is asked, before the server does.
type listener struct {
	p     *proxy
	begun bool   // the first message, which has no type, was heard
	rest  []byte // the beginning of a message
}

// Write makes the proxy silent when the word is heard, and counts trips.
func (l *listener) Write(b []byte) (int, error) {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	for l.rest = append(l.rest, b...); ; {
		kind := l.rest
		if l.begun && len(kind) > 0 {
			kind = kind[1:]
		}
		if len(kind) < 4 {
			break
		}
		n := len(l.rest) - len(kind) + int(binary.BigEndian.Uint32(kind))
		if len(l.rest) < n {
			break
		}
		if l.begun && (l.rest[0] == 'S' || l.rest[0] == 'Q') { // Sync, and a simple query
			l.p.trips++
		}
		l.begun, l.rest = true, l.rest[n:]
	}
	if l.p.until != "" && bytes.Contains(b, []byte(l.p.until)) {
		l.p.silent, l.p.until = true, ""
	}
	return len(b), nil
}

// took returns how many trips something takes.
func (p *proxy) took(f func()) int {
	p.mu.Lock()
	before := p.trips
	p.mu.Unlock()
	f()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trips - before
}

// silenceAt loses all answers from that of the next statement with a word on.
func (p *proxy) silenceAt(word string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = word
}

// heard reports whether the word of silenceAt has come.
func (p *proxy) heard() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.silent
}

// silence loses all answers from now on, or no longer.
func (p *proxy) silence(silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = silent
}

// cut ends every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}
