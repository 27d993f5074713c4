package etcdstore

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Store keeps machines in an etcd cluster. It is safe for use by any number of
// goroutines, and any number of stores may use one cluster.
type Store struct {
	client *client
	prefix string

	mu     sync.Mutex
	ended  *sync.Cond
	calls  int
	closed bool
	shared map[string]*shared // by table
}

var _ driver.Store = (*Store)(nil)

// Option changes how Open opens a store.
type Option func(*options)

type options struct {
	prefix         string
	user, password string
	try            time.Duration
	tls            *tls.Config
	http           *http.Client
}

// WithPrefix sets what all keys begin with. The default is "fsm/". Machines
// below other prefixes know nothing of each other.
func WithPrefix(prefix string) Option { return func(o *options) { o.prefix = prefix } }

// WithUser logs in by name and password. The token is renewed when it expires. The
// password is in no error. Over http it is sent as it is: use https. The user needs
// a role that reads and writes the keys which begin with the prefix, no other.
func WithUser(name, password string) Option {
	return func(o *options) { o.user, o.password = name, password }
}

// WithTryTimeout limits one try at one endpoint. The default is one second, so
// that a member that hangs costs no more than that; the context of the call is
// the limit over all tries.
func WithTryTimeout(d time.Duration) Option { return func(o *options) { o.try = d } }

// WithTLS sets how endpoints with https are spoken to: roots, client
// certificates. It has no effect beside WithHTTPClient.
func WithTLS(c *tls.Config) Option { return func(o *options) { o.tls = c } }

// WithHTTPClient hands in the client that makes the requests. Its timeout, if
// any, should be above that of one try. It must not repeat requests.
func WithHTTPClient(c *http.Client) Option { return func(o *options) { o.http = c } }

// Open opens a store on the cluster whose members have these addresses, such as
// "https://etcd-1:2379"; each must serve the JSON gateway (etcd does unless
// --enable-grpc-gateway=false). It fails when no member answers, when the
// cluster is older than 3.5, when it does not take user and password (ErrLogin), or
// when the user's roles do not reach the keys below the prefix (ErrForbidden).
func Open(ctx context.Context, endpoints []string, opts ...Option) (*Store, error) {
	o := options{prefix: "fsm/", try: time.Second}
	for _, opt := range opts {
		opt(&o)
	}
	if len(endpoints) == 0 {
		return nil, errors.New("etcdstore: no endpoint was given, expected at least one, such as https://etcd-1:2379")
	}
	if o.try <= 0 {
		return nil, fmt.Errorf("etcdstore: the time limit of a try is %v, expected more than 0", o.try)
	}
	c := &client{http: o.http, try: o.try, user: o.user, password: o.password, login: make(chan struct{}, 1)}
	for i, e := range endpoints {
		u, err := url.Parse(e)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.ContainsAny(e, "@?#") {
			// It is not repeated: it may hold a password, wherever that was put.
			return nil, fmt.Errorf("etcdstore: endpoint %d of %d is not of the form https://host:port; hand name and password in by WithUser", i+1, len(endpoints))
		}
		c.endpoints = append(c.endpoints, strings.TrimRight(u.String(), "/"))
	}
	if c.http == nil {
		c.http = &http.Client{Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: o.tls,
			MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
		}}
	}
	direct := *c.http
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &direct
	c.current.Store(rand.Int64N(int64(len(c.endpoints))))
	s := &Store{client: c, prefix: o.prefix, shared: map[string]*shared{}}
	s.ended = sync.NewCond(&s.mu)
	if err := s.known(ctx); err != nil {
		return nil, fmt.Errorf("etcdstore: %w", err)
	}
	return s, nil
}

// known asks the cluster for one key, with the user's rights, and a member for
// its version.
func (s *Store) known(ctx context.Context) error {
	var answer rangeResponse
	request := rangeRequest{Key: []byte(s.prefix + "meta"), CountOnly: true}
	if err := s.client.read(ctx, "/v3/kv/range", &request, &answer); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.client.try)
	defer cancel()
	endpoint := s.client.endpoints[s.client.current.Load()]
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint+"/version", nil)
	if err != nil {
		return plain(err)
	}
	got, err := s.client.http.Do(req)
	if err != nil {
		return nil //nolint:nilerr // it served a request: a version that nobody tells is none to refuse
	}
	defer func() { _ = got.Body.Close() }() // it was read to the end
	var version struct {
		Cluster string `json:"etcdcluster"`
	}
	var major, minor int
	text, _ := io.ReadAll(io.LimitReader(got.Body, 1<<16))
	if json.Unmarshal(text, &version) != nil {
		return nil
	}
	if _, err := fmt.Sscanf(version.Cluster, "%d.%d", &major, &minor); err != nil {
		return nil //nolint:nilerr // as above
	}
	if major < 3 || major == 3 && minor < 5 {
		return fmt.Errorf("%s: the cluster is at version %s, expected 3.5 or later", endpoint, version.Cluster)
	}
	return nil
}

// Table returns the store's part for one machine.
func (s *Store) Table(schema *driver.Schema) (driver.Table, error) {
	if schema.Table == "" || strings.ContainsAny(schema.Table, "/\x00") {
		return nil, fmt.Errorf("etcdstore: the schema of %s names the table %q, which cannot be part of a key", schema.Machine, schema.Table)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	common := s.shared[schema.Table]
	if common == nil {
		common = &shared{locked: map[string]*txn{}, queue: make(chan struct{}, 1)}
		s.shared[schema.Table] = common
	}
	return &table{
		store: s, schema: schema, keys: keys{s.prefix + schema.Table + "/"},
		fingerprint: fingerprint(schema), shared: common,
	}, nil
}

// enter counts a call that is in flight.
func (s *Store) enter() (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("etcdstore: %w", driver.ErrClosed)
	}
	s.calls++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.calls--; s.calls == 0 {
			s.ended.Broadcast()
		}
	}, nil
}

// patience is how long a call waits.
const patience = 10 * time.Second

// Patience is how long a call waits.
func (s *Store) Patience() time.Duration { return patience }

// Failed returns nil: what fails is one request, and another one may succeed.
func (s *Store) Failed() error { return nil }

// Close waits for the calls in flight and refuses further ones. The cluster
// keeps what it has.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for s.calls > 0 {
		s.ended.Wait()
	}
	s.client.http.CloseIdleConnections()
	return nil
}
