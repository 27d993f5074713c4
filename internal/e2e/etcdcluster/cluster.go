//go:build unix

// Package etcdcluster runs etcd clusters for tests: each member is a process of
// its own, the test's binary started once more, so that it can be killed and
// stopped like any other. A test's TestMain calls Main first.
package etcdcluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// variable holds the member that this process is to be.
const variable = "FSMGEN_ETCD_MEMBER"

// member is what a member's process is told.
type member struct {
	Name, Dir, Client, Peer, Cluster string
}

// Main does not return in a process that is a member. Call it first in TestMain.
func Main() {
	text := os.Getenv(variable)
	if text == "" {
		return
	}
	var m member
	err := json.Unmarshal([]byte(text), &m)
	if err == nil {
		err = m.serve()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "etcd member:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve runs the member until the test that started it is gone.
func (m *member) serve() error {
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir = m.Name, m.Dir
	cfg.LogLevel = "error"
	cfg.LogOutputs = []string{"stderr"}
	client, err := url.Parse(m.Client)
	if err != nil {
		return err
	}
	peer, err := url.Parse(m.Peer)
	if err != nil {
		return err
	}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	cfg.InitialCluster = m.Cluster
	cfg.InitialClusterToken = "fsmgen"
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	gone := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the test
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case err := <-server.Err():
		return err
	}
}

// Cluster is a running cluster.
type Cluster struct {
	tb      testing.TB
	members []*Process
}

// Process is one member.
type Process struct {
	member
	tb    testing.TB
	cmd   *exec.Cmd
	stdin io.WriteCloser
	log   string
}

// Start starts a cluster of n members and waits until it serves. It ends with
// the test.
func Start(tb testing.TB, n int) *Cluster {
	tb.Helper()
	dir := tb.TempDir()
	c := &Cluster{tb: tb}
	var names []string
	for i := range n {
		p := &Process{tb: tb, member: member{
			Name: fmt.Sprint("m", i), Dir: filepath.Join(dir, fmt.Sprint("m", i)),
			Client: "http://" + freeAddress(tb), Peer: "http://" + freeAddress(tb),
		}}
		p.log = p.Dir + ".log"
		names = append(names, p.Name+"="+p.Peer)
		c.members = append(c.members, p)
	}
	tb.Cleanup(func() {
		for _, p := range c.members {
			p.Kill()
		}
	})
	for _, p := range c.members {
		p.Cluster = strings.Join(names, ",")
		p.Start()
	}
	for _, p := range c.members {
		p.WaitReady(time.Minute)
	}
	return c
}

// freeAddress returns an address of this machine that nobody uses.
func freeAddress(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Endpoints returns the addresses of all members.
func (c *Cluster) Endpoints() []string {
	var list []string
	for _, p := range c.members {
		list = append(list, p.Client)
	}
	return list
}

// Members returns all members.
func (c *Cluster) Members() []*Process { return c.members }

// Leader returns the member that leads, and the others. It waits until one does.
func (c *Cluster) Leader() (leader *Process, followers []*Process) {
	c.tb.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for i, p := range c.members {
			var s struct {
				Header struct {
					MemberID string `json:"member_id"`
				} `json:"header"`
				Leader string `json:"leader"`
			}
			if p.Call(time.Second, "/v3/maintenance/status", struct{}{}, &s) == nil && s.Leader != "" && s.Leader == s.Header.MemberID {
				followers = append(followers, c.members[:i]...)
				return p, append(followers, c.members[i+1:]...)
			}
		}
	}
	c.tb.Fatal("the cluster has no leader after a minute")
	return nil, nil
}

// Compact makes the cluster forget all revisions before the newest one.
func (c *Cluster) Compact() error {
	var err error
	for _, p := range c.members {
		var now struct {
			Header struct {
				Revision string `json:"revision"`
			} `json:"header"`
		}
		if err = p.Call(time.Second, "/v3/kv/range", map[string]any{"key": []byte("x")}, &now); err != nil {
			continue
		}
		if err = p.Call(5*time.Second, "/v3/kv/compaction", map[string]any{"revision": now.Header.Revision}, nil); err == nil {
			return nil
		}
	}
	return err
}

// Start starts the member's process, for the first time or again.
func (p *Process) Start() {
	p.tb.Helper()
	self, err := os.Executable()
	if err != nil {
		p.tb.Fatal(err)
	}
	text, err := json.Marshal(p.member)
	if err != nil {
		p.tb.Fatal(err)
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.tb.Fatal(err)
	}
	defer log.Close()
	p.cmd = exec.Command(self)
	p.cmd.Env = append(os.Environ(), variable+"="+string(text))
	p.cmd.Stderr = log
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		p.tb.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		p.tb.Fatal(err)
	}
}

// WaitReady waits until the member serves reads that a quorum agrees on.
func (p *Process) WaitReady(limit time.Duration) {
	p.tb.Helper()
	var err error
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = p.Call(time.Second, "/v3/kv/range", map[string]any{"key": []byte("x")}, nil); err == nil {
			return
		}
	}
	text, _ := os.ReadFile(p.log)
	p.tb.Fatalf("member %s does not serve after %v: %v\n%s", p.Name, limit, err, text)
}

// Call makes one call of the JSON gateway.
func (p *Process) Call(limit time.Duration, path string, request, answer any) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.Client+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	got, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		return err
	}
	if got.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", path, got.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

// Kill ends the process with SIGKILL.
func (p *Process) Kill() {
	if p.cmd == nil || p.cmd.Process == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.cmd = nil
}

// Stop makes the process stand still, with its connections open.
func (p *Process) Stop() { p.signal(syscall.SIGSTOP) }

// Continue ends Stop.
func (p *Process) Continue() { p.signal(syscall.SIGCONT) }

func (p *Process) signal(s syscall.Signal) {
	p.tb.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.tb.Fatalf("%v to member %s: %v", s, p.Name, err)
	}
}
