package etcd_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/fsmgen/fsmgen/internal/lab/e2e/etcdcluster"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/etcdstore"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

const (
	password = "pass\"w0rd %s ü/?#"
	mistaken = "m1staken"
)

type object = map[string]any

// administer makes calls of the gateway that must succeed, with a token if there
// is one, and returns the answer of the last.
func administer(t *testing.T, p *etcdcluster.Process, token string, calls ...any) object {
	t.Helper()
	var answer object
	for i := 0; i < len(calls); i += 2 {
		answer = nil
		if err := p.CallAs(10*time.Second, token, calls[i].(string), calls[i+1], &answer); err != nil {
			t.Fatal(err)
		}
	}
	return answer
}

// enable switches authentication on: the user jobs may do what it likes below
// "shop/" and nothing else.
func enable(t *testing.T, p *etcdcluster.Process) {
	t.Helper()
	administer(t, p, "",
		"/v3/auth/user/add", object{"name": "root", "password": "of all"},
		"/v3/auth/user/grant", object{"user": "root", "role": "root"},
		"/v3/auth/role/add", object{"name": "shop"},
		"/v3/auth/role/grant", object{"name": "shop", "perm": object{"permType": "READWRITE", "key": []byte("shop/"), "range_end": []byte("shop0")}},
		"/v3/auth/user/add", object{"name": "jobs", "password": password},
		"/v3/auth/user/grant", object{"user": "jobs", "role": "shop"},
		"/v3/auth/enable", object{},
	)
}

// secretive keeps what a test was told, and that no secret stands in it.
type secretive struct {
	t *testing.T
}

func (s secretive) is(err, want error, what string) {
	s.t.Helper()
	if !errors.Is(err, want) {
		s.t.Errorf("%s: got %v, want %v", what, err, want)
	}
	s.says(err)
}

func (s secretive) says(of any) {
	s.t.Helper()
	for _, text := range []string{fmt.Sprint(of), fmt.Sprintf("%+v", of), fmt.Sprintf("%#v", of)} {
		for _, secret := range []string{password, "w0rd", mistaken} {
			if strings.Contains(text, secret) {
				s.t.Errorf("the password stands in %s", text)
			}
		}
	}
}

// logins counts the calls that log in.
type logins struct{ n atomic.Int64 }

func (l *logins) count(ctx context.Context, method string, request, answer any, conn *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if strings.HasSuffix(method, "/Authenticate") {
		l.n.Add(1)
	}
	return next(ctx, method, request, answer, conn, opts...)
}

// as is the configuration of a client that logs in with a password.
func as(c *etcdcluster.Cluster, tls *tls.Config, name, password string, with ...grpc.UnaryClientInterceptor) clientv3.Config {
	config := c.Config(with...)
	config.TLS, config.Username, config.Password = tls, name, password
	return config
}

// openParcels opens the suite's machine over a store.
func openParcels(t *testing.T, store fsm.Store) *machine {
	t.Helper()
	schema := storetest.Schema()
	if err := fsmimpl.Migrate(t.Context(), store, schema); err != nil {
		t.Fatal(err)
	}
	none := func(context.Context, fsm.Tx, parcel, string, fsm.Event) error { return nil }
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(schema), map[string]fsmimpl.EffectFunc[parcel]{"charge": none, "carry": none, "notify": none})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func register(id string) fsmimpl.Call[parcel] {
	return storetest.Register(storetest.Meta{RequestID: "make " + id}, storetest.RegisterInput{ID: id, Lane: "a"})
}

// A cluster that demands a certificate from clients and a password from users,
// whose role ends at the prefix.
func TestTLSAndUser(t *testing.T) {
	t.Parallel()
	for _, version := range versions(t, false) {
		t.Run(named(version), func(t *testing.T) {
			t.Parallel()
			ours := etcdcluster.NewTLS(t)
			c := etcdcluster.StartWith(t, etcdcluster.Options{Members: 3, Version: version, TLS: ours, Flags: []string{"--auth-token-ttl=2", "--bcrypt-cost=4"}})
			enable(t, c.Members()[0])
			certificates(t, c, ours)
			users(t, c, ours)
			expiry(t, c, ours)
			t.Run("conformance", func(t *testing.T) {
				var stores atomic.Int64
				storetest.Run(t, func(tb testing.TB) fsm.Store {
					store, err := etcdstore.Open(tb.Context(), as(c, ours.Config(), "jobs", password), etcdstore.WithPrefix(fmt.Sprintf("shop/test%d/", stores.Add(1))))
					if err != nil {
						tb.Fatal(err)
					}
					tb.Cleanup(func() { store.Close() })
					return store
				})
			})
			revoked(t, c, ours)
		})
	}
}

// certificates: who does not know the authority, or is not known by it, gets nowhere.
func certificates(t *testing.T, c *etcdcluster.Cluster, ours *etcdcluster.TLS) {
	other := etcdcluster.NewTLS(t)
	for name, config := range map[string]*tls.Config{
		"no roots":                nil,
		"roots of another":        {RootCAs: other.Roots, Certificates: []tls.Certificate{ours.Client}},
		"no certificate":          {RootCAs: ours.Roots},
		"certificate of another":  {RootCAs: ours.Roots, Certificates: []tls.Certificate{other.Client}},
		"another name than asked": {RootCAs: ours.Roots, Certificates: []tls.Certificate{ours.Client}, ServerName: "etcd.example"},
	} {
		store, err := etcdstore.Open(t.Context(), as(c, config, "jobs", password), etcdstore.WithPrefix("shop/"))
		if err == nil {
			store.Close()
			t.Errorf("%s: it was let in", name)
		}
		secretive{t}.says(err)
	}
	plain := as(c, nil, "jobs", password)
	plain.Endpoints = []string{strings.Replace(c.Endpoints()[0], "https://", "http://", 1)}
	if _, err := etcdstore.Open(t.Context(), plain); err == nil {
		t.Error("it was let in without TLS")
	} else {
		secretive{t}.says(err)
	}
}

// users: a wrong name or password is ErrLogin, a prefix out of reach ErrForbidden.
func users(t *testing.T, c *etcdcluster.Cluster, ours *etcdcluster.TLS) {
	for _, u := range []struct {
		what, name, password, prefix string
		want                         error
	}{
		{"a wrong password", "jobs", mistaken, "shop/", etcdstore.ErrLogin},
		{"an empty password", "jobs", "", "shop/", etcdstore.ErrLogin},
		{"nobody of that name", "eve", mistaken, "shop/", etcdstore.ErrLogin},
		{"no user", "", "", "shop/", etcdstore.ErrForbidden}, // the certificate is one, without a name
		{"another prefix", "jobs", password, "shop1/", etcdstore.ErrForbidden},
	} {
		store, err := etcdstore.Open(t.Context(), as(c, ours.Config(), u.name, u.password), etcdstore.WithPrefix(u.prefix))
		if err == nil {
			store.Close()
		}
		secretive{t}.is(err, u.want, u.what)
	}
}

// over opens a store as jobs, and counts how often it logs in.
func over(t *testing.T, c *etcdcluster.Cluster, config *tls.Config, prefix string) (*etcdstore.Store, *logins) {
	t.Helper()
	count := &logins{}
	store, err := etcdstore.Open(t.Context(), as(c, config, "jobs", password, count.count), etcdstore.WithPrefix(prefix))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	secretive{t}.says(store)
	return store, count
}

// expiry: a token that nobody uses for two seconds is void. The next call logs in
// again; of many at once, each may do so, and once more where a member was late.
func expiry(t *testing.T, c *etcdcluster.Cluster, ours *etcdcluster.TLS) {
	store, count := over(t, c, ours.Config(), "shop/expiry/")
	m := openParcels(t, store)
	before := count.n.Load()
	if before != 1 {
		t.Errorf("logged in %d times to open, want once", before)
	}
	time.Sleep(4 * time.Second)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			if _, err := m.Create(t.Context(), register(fmt.Sprint("p", i))); err != nil {
				t.Errorf("after the token expired: %v", err)
			}
		})
	}
	group.Wait()
	if n := count.n.Load() - before; n < 1 || n > 16 {
		t.Errorf("8 callers logged in %d times after the token expired, want 1 to 16", n)
	}
}

// revoked: what an administrator takes from a user ends its calls with an error
// that says so; nothing is applied.
func revoked(t *testing.T, c *etcdcluster.Cluster, ours *etcdcluster.TLS) {
	store, _ := over(t, c, ours.Config(), "shop/revoked/")
	m := openParcels(t, store)
	call := func(id string, want error, what string) {
		t.Helper()
		_, err := m.Create(t.Context(), register(id))
		var unsure *fsm.AmbiguousError
		if errors.As(err, &unsure) {
			t.Errorf("%s: %v leaves open what happened", what, err)
		}
		secretive{t}.is(err, want, what)
	}
	call("p1", nil, "before")
	admin := c.Members()[0]
	administer(t, admin, fresh(t, admin), "/v3/auth/user/revoke", object{"name": "jobs", "role": "shop"})
	call("p2", etcdstore.ErrForbidden, "without its role")
	administer(t, admin, fresh(t, admin), "/v3/auth/user/grant", object{"user": "jobs", "role": "shop"})
	call("p3", nil, "with its role again")
	administer(t, admin, fresh(t, admin), "/v3/auth/user/changepw", object{"name": "jobs", "password": "another"})
	call("p4", etcdstore.ErrLogin, "after its password was changed")
	administer(t, admin, fresh(t, admin), "/v3/auth/user/changepw", object{"name": "jobs", "password": password})
	call("p5", nil, "with its password again")
	if n, err := m.Count(t.Context()); err != nil || n["waiting"] != 3 {
		t.Errorf("there are %v, %v, want three", n, err)
	}
	for f, err := range audit.Run(t.Context(), m) {
		t.Errorf("audit: %v, %v", f, err)
	}
}

// fresh logs root in: what it changes voids its token, and so does time.
func fresh(t *testing.T, p *etcdcluster.Process) string {
	t.Helper()
	return administer(t, p, "", "/v3/auth/authenticate", object{"name": "root", "password": "of all"})["token"].(string)
}

// A signed token ends when its time is over, used or not: in the middle of calls
// that go on, and none of them fails.
func TestTokenEnds(t *testing.T) {
	t.Parallel()
	for _, version := range versions(t, false) {
		t.Run(named(version), func(t *testing.T) {
			t.Parallel()
			c := etcdcluster.StartWith(t, etcdcluster.Options{Version: version, Flags: []string{"--auth-token=" + signing(t), "--bcrypt-cost=4"}})
			enable(t, c.Members()[0])
			store, count := over(t, c, nil, "shop/")
			m := openParcels(t, store)
			var group sync.WaitGroup
			var calls atomic.Int64
			end := time.Now().Add(7 * time.Second)
			for w := range 4 {
				group.Go(func() {
					for i := 0; time.Now().Before(end); i++ {
						if _, err := m.Create(t.Context(), register(fmt.Sprintf("p%d-%d", w, i))); err != nil {
							t.Errorf("call %d of %d: %v", i, w, err)
							return
						}
						calls.Add(1)
					}
				})
			}
			group.Wait()
			if n := count.n.Load(); n < 3 || n > 1+4*4*2 { // each of four callers, at each of four ends
				t.Errorf("logged in %d times in 7 s with tokens of 2 s, want 3 to 33", n)
			}
			if n, err := m.Count(t.Context()); err != nil || n["waiting"] != calls.Load() {
				t.Errorf("there are %v, %v, want %d", n, err, calls.Load())
			}
			t.Logf("%d calls with %d tokens", calls.Load(), count.n.Load())
		})
	}
}

// signing makes a key and returns the flag that signs tokens of two seconds with it.
func signing(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{
		"key": {Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)},
		"pub": {Type: "PUBLIC KEY", Bytes: public},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("jwt,pub-key=%s,priv-key=%s,sign-method=RS256,ttl=2s", filepath.Join(dir, "pub"), filepath.Join(dir, "key"))
}
