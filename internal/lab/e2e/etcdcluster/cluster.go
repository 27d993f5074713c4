//go:build unix

// Package etcdcluster runs etcd clusters for tests: each member is a process of
// its own, so that it can be killed and stopped like any other. It is the test's
// binary started once more, which a test's TestMain makes possible by calling
// Main first; or a server of another version, see Options.
package etcdcluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// variable says that this process is to be a member; its arguments are those of etcd.
const variable = "FSMGEN_ETCD_MEMBER"

// Main does not return in a process that is a member. Call it first in TestMain.
func Main() {
	if os.Getenv(variable) == "" {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the test
		os.Exit(0)
	}()
	etcdmain.Main(os.Args)
	os.Exit(0)
}

// Options say what a cluster is like. The zero value is one member of the version
// that this module requires, without TLS.
type Options struct {
	Members int
	Version string   // one of the folders in ../etcds; its server is built first
	TLS     *TLS     // for clients; members speak to each other without
	Flags   []string // of every member, besides those that a cluster needs
}

// Cluster is a running cluster.
type Cluster struct {
	tb      testing.TB
	members []*Process
}

// Process is one member.
type Process struct {
	Name, Client string // Client is its address
	tb           testing.TB
	program      string // empty: the test's own
	args         []string
	http         *http.Client
	cmd          *exec.Cmd
	stdin        io.WriteCloser
	log          string
}

// Start starts a cluster of n members and waits until it serves. It ends with
// the test.
func Start(tb testing.TB, n int) *Cluster { return StartWith(tb, Options{Members: n}) }

// StartWith is Start with options.
func StartWith(tb testing.TB, o Options) *Cluster {
	tb.Helper()
	dir := tb.TempDir()
	program, scheme, client := "", "http://", http.DefaultClient
	if o.Version != "" {
		program = build(tb, o.Version)
	}
	if o.TLS != nil {
		scheme = "https://"
		client = &http.Client{Transport: &http.Transport{TLSClientConfig: o.TLS.Config()}}
		o.Flags = append(o.TLS.flags(), o.Flags...)
	}
	c := &Cluster{tb: tb}
	var cluster []string
	for i := range max(o.Members, 1) {
		p := &Process{tb: tb, program: program, http: client, Name: fmt.Sprint("m", i), Client: scheme + freeAddress(tb)}
		data, peer := filepath.Join(dir, p.Name), "http://"+freeAddress(tb)
		p.log = data + ".log"
		p.args = append([]string{
			"--name=" + p.Name, "--data-dir=" + data, "--log-level=error",
			"--listen-client-urls=" + p.Client, "--advertise-client-urls=" + p.Client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster-token=fsmgen",
		}, o.Flags...)
		cluster = append(cluster, p.Name+"="+peer)
		c.members = append(c.members, p)
	}
	tb.Cleanup(func() {
		for _, p := range c.members {
			p.Kill()
		}
	})
	for _, p := range c.members {
		p.args = append(p.args, "--initial-cluster="+strings.Join(cluster, ","))
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

// Config is that of a client of the cluster, which says nothing to the terminal.
func (c *Cluster) Config(with ...grpc.UnaryClientInterceptor) clientv3.Config {
	config := clientv3.Config{Endpoints: c.Endpoints(), Logger: zap.NewNop()}
	for _, f := range with {
		config.DialOptions = append(config.DialOptions, grpc.WithChainUnaryInterceptor(f))
	}
	return config
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
	program := p.program
	if program == "" {
		self, err := os.Executable()
		if err != nil {
			p.tb.Fatal(err)
		}
		program = self
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.tb.Fatal(err)
	}
	defer log.Close()
	p.cmd = exec.Command(program, p.args...)
	p.cmd.Env = append(os.Environ(), variable+"=1")
	p.cmd.Stderr = log
	endWithUs(p.cmd)
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
	return p.CallAs(limit, "", path, request, answer)
}

// CallAs makes one call with the token of a user.
func (p *Process) CallAs(limit time.Duration, token, path string, request, answer any) error {
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
	if token != "" {
		req.Header.Set("Authorization", token)
	}
	got, err := p.http.Do(req)
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
