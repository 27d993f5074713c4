package faults

import (
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Cut is how a proxy breaks a connection.
type Cut int

// The cuts.
const (
	Pass   Cut = iota
	Before     // what the client sends next never arrives
	After      // it arrives, and the server's answer does not
	Late       // the client is cut off, and what it sent arrives a while later
	Slow       // the answer takes a while
)

// Proxy stands between clients and a server, both on Unix sockets.
type Proxy struct {
	listener net.Listener
	server   string
	armed    atomic.Int64 // the Cut for whoever sends next
	made     [Slow + 1]atomic.Int64
	wg       sync.WaitGroup
}

// Listen starts a proxy at a Unix socket.
func Listen(socket, server string) (*Proxy, error) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, server: server}
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(c) })
		}
	})
	return p, nil
}

// Close ends the proxy; connections end with their clients.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.wg.Wait()
	return err
}

// Arm makes the proxy cut whichever connection sends next.
func (p *Proxy) Arm(c Cut) { p.armed.Store(int64(c)) }

// Made returns how many cuts of a kind were made.
func (p *Proxy) Made(c Cut) int { return int(p.made[c].Load()) }

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", p.server)
	if err != nil {
		return
	}
	var deaf atomic.Bool // nothing goes back to the client any more
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer client.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if n > 0 {
				if deaf.Load() {
					return
				}
				if _, err := client.Write(buf[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	p.forward(client, server, &deaf)
	if !deaf.Load() {
		server.Close()
	}
	<-done
	server.Close()
}

// forward carries what the client sends, until it or a cut ends that.
func (p *Proxy) forward(client, server net.Conn, deaf *atomic.Bool) {
	buf := make([]byte, 64<<10)
	for first := true; ; first = false {
		n, err := client.Read(buf)
		if n > 0 {
			cut := Pass
			if !first { // not while it says hello
				cut = Cut(p.armed.Swap(int64(Pass)))
			}
			p.made[cut].Add(1)
			switch cut {
			case Before:
				return
			case After:
				deaf.Store(true)
				if _, err := server.Write(buf[:n]); err != nil {
					server.Close()
				}
				_ = server.SetReadDeadline(time.Now().Add(2 * time.Second)) // for its answer, which nobody hears
				return
			case Late:
				deaf.Store(true)
				client.Close()
				time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
				if _, err := server.Write(buf[:n]); err != nil {
					server.Close()
				}
				_ = server.SetReadDeadline(time.Now().Add(2 * time.Second)) // for its answer, which nobody hears
				return
			case Slow:
				time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
			}
			if _, err := server.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
