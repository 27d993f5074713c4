package etcdstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer/leastrequest"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Store keeps machines in an etcd cluster. It is safe for use by any number of
// goroutines, and any number of stores may use one cluster.
type Store struct {
	client *client
	prefix string
	end    func() error // closes the client, where it is the store's own

	bell driver.Bell

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
	prefix   string
	try      time.Duration
	readOnly bool
}

// WithPrefix sets what all keys begin with. The default is "fsm/". Machines
// below other prefixes know nothing of each other.
func WithPrefix(prefix string) Option { return func(o *options) { o.prefix = prefix } }

// WithTryTimeout limits one try at one endpoint. The default is one second, so
// that a member that hangs costs no more than that; the context of the call is
// the limit over all tries.
func WithTryTimeout(d time.Duration) Option { return func(o *options) { o.try = d } }

// WithReadOnly makes a store that refuses to write, for looking at a cluster.
func WithReadOnly() Option { return func(o *options) { o.readOnly = true } }

// balancing makes each try go to the less busy of two members that are drawn. By turns,
// as the client does, a caller could meet a member that hangs at each of its writes.
const balancing = `{"loadBalancingConfig":[{"` + leastrequest.Name + `":{"choiceCount":2}}]}`

// Open opens a store over a client of its own, which it closes with the store. The
// configuration is that of etcd's client: endpoints, TLS, user and password. Where it
// says nothing, a login may take 5 s, and a member that has not answered for 13 s loses
// its connection. Open fails as New does, and when an endpoint holds a password.
func Open(ctx context.Context, config clientv3.Config, opts ...Option) (*Store, error) {
	if err := sound(&config); err != nil {
		return nil, fmt.Errorf("etcdstore: %w", err)
	}
	config.DialTimeout = cmp.Or(config.DialTimeout, 5*time.Second)
	config.DialKeepAliveTime = cmp.Or(config.DialKeepAliveTime, 10*time.Second)
	config.DialKeepAliveTimeout = cmp.Or(config.DialKeepAliveTimeout, 3*time.Second)
	config.DialOptions = append([]grpc.DialOption{grpc.WithDisableServiceConfig(), grpc.WithDefaultServiceConfig(balancing)}, config.DialOptions...)
	c, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("etcdstore: %w", &callError{kindOf(err), err})
	}
	s, err := New(ctx, c, opts...)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	s.end = c.Close
	return s, nil
}

// sound refuses what the client of etcd takes in silence.
func sound(config *clientv3.Config) error {
	if len(config.Endpoints) == 0 {
		return errors.New("no endpoint was given, expected at least one, such as https://etcd-1:2379")
	}
	for i, e := range config.Endpoints {
		if strings.ContainsAny(e, "@?#") { // it is not repeated: it may hold a password
			return fmt.Errorf("endpoint %d of %d is not of the form https://host:port; hand in name and password as Username and Password",
				i+1, len(config.Endpoints))
		}
	}
	if config.TLS != nil && config.TLS.ServerName != "" {
		return errors.New("TLS.ServerName has no effect in etcd's client, which expects the host of each endpoint in its certificate; " +
			"leave it out, and name the endpoints as the certificates do")
	}
	if (config.Username == "") != (config.Password == "") { // the client would not log in
		return fmt.Errorf("one of user and password is empty: %w", ErrLogin)
	}
	return nil
}

// New opens a store over a client of the caller, which outlives it. It fails when no
// member answers, when the cluster is older than 3.5, when it does not take user and
// password (ErrLogin), or when the user's roles do not reach the keys below the prefix
// (ErrForbidden).
func New(ctx context.Context, c *clientv3.Client, opts ...Option) (*Store, error) {
	o := options{prefix: "fsm/", try: time.Second}
	for _, opt := range opts {
		opt(&o)
	}
	if o.try <= 0 {
		return nil, fmt.Errorf("etcdstore: the time limit of a try is %v, expected more than 0", o.try)
	}
	s := &Store{client: newClient(c, o.try, o.readOnly), prefix: o.prefix, shared: map[string]*shared{}}
	s.ended = sync.NewCond(&s.mu)
	if err := s.known(ctx, c); err != nil {
		return nil, fmt.Errorf("etcdstore: %w", err)
	}
	return s, nil
}

// known asks the cluster for one key, with the user's rights, and a member for
// its version.
func (s *Store) known(ctx context.Context, c *clientv3.Client) error {
	request := &pb.RangeRequest{Key: []byte(s.prefix + "meta"), CountOnly: true}
	if _, err := s.client.read(ctx, &pb.TxnRequest{Success: []*pb.RequestOp{read(request)}}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.client.try)
	defer cancel()
	member, err := pb.NewMaintenanceClient(c.ActiveConnection()).Status(ctx, &pb.StatusRequest{})
	if err != nil {
		return nil //nolint:nilerr // it served a request: a version that nobody tells is none to refuse
	}
	var major, minor int
	if _, err := fmt.Sscanf(member.Version, "%d.%d", &major, &minor); err != nil {
		return nil //nolint:nilerr // as above
	}
	if major < 3 || major == 3 && minor < 5 {
		return fmt.Errorf("a member is of version %s, expected 3.5 or later", member.Version)
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

// Now returns the zero time: etcd does not tell the time of its clock.
func (s *Store) Now(context.Context) (at time.Time, took time.Duration, err error) { return at, 0, nil }

// Patience is how long a call waits.
func (s *Store) Patience() time.Duration { return patience }

// Bell wakes the workers of this process.
func (s *Store) Bell() *driver.Bell { return &s.bell }

// Failed returns nil: what fails is one request, and another one may succeed.
func (s *Store) Failed() error { return nil }

// Close waits for the calls in flight and refuses further ones. The cluster
// keeps what it has, and the caller of New its client.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for s.calls > 0 {
		s.ended.Wait()
	}
	if s.end == nil {
		return nil
	}
	end := s.end
	s.end = nil
	return end()
}
