package etcdstore_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
)

// fake is one member that serves the part of etcd's API that the store uses, out of
// memory: revisions, compares, nested transactions, limits, compaction, tokens. Real
// servers are asked in internal/lab/e2e.
type fake struct {
	pb.UnimplementedKVServer
	pb.UnimplementedAuthServer
	pb.UnimplementedMaintenanceServer
	*data
	URL    string
	server *grpc.Server
	mu     sync.Mutex
	before fault // around each transaction
	after  fault
	ends   []net.Conn
	calls  int
}

// A fault makes a call fail, or hold.
type fault func() error

// data is what all members of a cluster share.
type data struct {
	mu        sync.Mutex
	revision  int64
	compacted int64
	keys      map[string][]version
	order     []string // of all keys, those that are gone included
	password  string   // empty: no authentication
	token     int
	logins    int
	release   string // of the members
	deadline  bool   // a transaction came with a deadline
	rows      int    // records that were read
}

type version struct {
	create, mod int64
	value       []byte
	gone        bool
}

func newData() *data { return &data{revision: 1, keys: map[string][]version{}, release: "3.5.0"} }

func serve(tb testing.TB, d *data) *fake { return serveOver(tb, d, nil) }

// serveOver serves with TLS where a configuration is given.
func serveOver(tb testing.TB, d *data, config *tls.Config) *fake {
	tb.Helper()
	f := &fake{data: d}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	opts := []grpc.ServerOption{grpc.UnaryInterceptor(f.around)}
	f.URL = "http://" + listener.Addr().String()
	if config != nil {
		f.URL = "https://" + listener.Addr().String()
		opts = append(opts, grpc.Creds(credentials.NewTLS(config)))
	}
	f.server = grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(2<<20))...)
	pb.RegisterKVServer(f.server, f)
	pb.RegisterAuthServer(f.server, f)
	pb.RegisterMaintenanceServer(f.server, f)
	go func() { _ = f.server.Serve(kept{listener, f}) }()
	tb.Cleanup(f.server.Stop)
	return f
}

// kept notes the connections of a member, so that they can be cut.
type kept struct {
	net.Listener
	f *fake
}

func (k kept) Accept() (net.Conn, error) {
	c, err := k.Listener.Accept()
	if err == nil {
		k.f.mu.Lock()
		defer k.f.mu.Unlock()
		k.f.ends = append(k.f.ends, c)
	}
	return c, err
}

// fault sets what happens around the transactions from now on.
func (f *fake) fault(before, after fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after = before, after
}

// cut closes the connections without an answer.
func (f *fake) cut() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.ends {
		c.Close()
	}
	f.ends = nil
	return rpctypes.ErrGRPCStopped
}

// around asks for the token, and lets faults happen.
func (f *fake) around(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	f.mu.Lock()
	f.calls++
	before, after := f.before, f.after
	f.mu.Unlock()
	if strings.HasSuffix(info.FullMethod, "/Authenticate") {
		return handle(ctx, request)
	}
	if err := f.allowed(ctx); err != nil {
		return nil, err
	}
	if _, ok := request.(*pb.TxnRequest); !ok {
		return handle(ctx, request)
	}
	if before != nil {
		if err := before(); err != nil {
			return nil, err
		}
	}
	if _, has := ctx.Deadline(); has {
		f.data.mu.Lock()
		f.deadline = true
		f.data.mu.Unlock()
	}
	answer, err := handle(ctx, request)
	if after != nil {
		if err := after(); err != nil {
			return nil, err
		}
	}
	return answer, err
}

func (f *fake) allowed(ctx context.Context) error {
	d := f.data
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.password == "" {
		return nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	switch strings.Join(md[rpctypes.TokenFieldNameGRPC], "") {
	case fmt.Sprint("token ", d.token):
		return nil
	case "":
		return rpctypes.ErrGRPCUserEmpty
	}
	return rpctypes.ErrGRPCInvalidAuthToken
}

// Authenticate gives out tokens.
func (f *fake) Authenticate(_ context.Context, r *pb.AuthenticateRequest) (*pb.AuthenticateResponse, error) {
	d := f.data
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.password == "":
		return nil, rpctypes.ErrGRPCAuthNotEnabled
	case r.Password != d.password:
		return nil, rpctypes.ErrGRPCAuthFailed
	}
	d.logins++
	return &pb.AuthenticateResponse{Header: &pb.ResponseHeader{}, Token: fmt.Sprint("token ", d.token)}, nil
}

// Status tells the version.
func (f *fake) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{Header: &pb.ResponseHeader{}, Version: f.release}, nil
}

// Txn makes a transaction.
func (f *fake) Txn(_ context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	d := f.data
	d.mu.Lock()
	defer d.mu.Unlock()
	size := 0
	for _, op := range r.Success {
		size += len(op.GetRequestPut().GetValue())
	}
	if size > 3<<19 {
		return nil, rpctypes.ErrGRPCRequestTooLarge
	}
	return d.commit(r)
}

// Range reads keys.
func (f *fake) Range(_ context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	d := f.data
	d.mu.Lock()
	defer d.mu.Unlock()
	got, err := d.scan(r)
	if err == nil {
		got.Header = &pb.ResponseHeader{Revision: d.revision}
	}
	return got, err
}

// at returns what a key holds at a revision.
func (d *data) at(key string, revision int64) (version, bool) {
	for _, v := range slices.Backward(d.keys[key]) {
		if v.mod <= revision {
			return v, !v.gone
		}
	}
	return version{}, false
}

// within returns the keys that exist at a revision: one, or those before to.
func (d *data) within(from, to []byte, revision int64) (names []string) {
	i, _ := slices.BinarySearch(d.order, string(from))
	for _, key := range d.order[i:] {
		if key != string(from) && key >= string(to) {
			break
		}
		if _, found := d.at(key, revision); found {
			names = append(names, key)
		}
	}
	return names
}

// note adds a version of a key.
func (d *data) note(key string, v version) {
	if d.keys[key] == nil {
		i, _ := slices.BinarySearch(d.order, key)
		d.order = slices.Insert(d.order, i, key)
	}
	d.keys[key] = append(d.keys[key], v)
}

func (d *data) scan(r *pb.RangeRequest) (*pb.RangeResponse, error) {
	revision := r.Revision
	switch {
	case revision > d.revision:
		return nil, rpctypes.ErrGRPCFutureRev
	case revision == 0:
		revision = d.revision
	case revision < d.compacted:
		return nil, rpctypes.ErrGRPCCompacted
	}
	names := d.within(r.Key, r.RangeEnd, revision)
	answer := &pb.RangeResponse{Count: int64(len(names))}
	if r.CountOnly {
		return answer, nil
	}
	if r.SortOrder == pb.RangeRequest_DESCEND && r.SortTarget == pb.RangeRequest_KEY {
		slices.Reverse(names)
	}
	if r.Limit > 0 && int64(len(names)) > r.Limit {
		names, answer.More = names[:r.Limit], true
	}
	for _, key := range names {
		v, _ := d.at(key, revision)
		kv := &mvccpb.KeyValue{Key: []byte(key), CreateRevision: v.create, ModRevision: v.mod}
		if !r.KeysOnly {
			kv.Value = v.value
			if strings.Contains(key, "/r/") {
				d.rows++
			}
		}
		answer.Kvs = append(answer.Kvs, kv)
	}
	return answer, nil
}

// check counts operations as a server does, and finds keys that are put twice, or
// put and deleted.
func check(r *pb.TxnRequest, left int, puts map[string]bool, gone *[]*pb.DeleteRangeRequest) error {
	n := max(len(r.Compare), len(r.Success), len(r.Failure))
	if n > left {
		return rpctypes.ErrGRPCTooManyOps
	}
	for _, list := range [][]*pb.RequestOp{r.Success, r.Failure} {
		for _, op := range list {
			if inner := op.GetRequestTxn(); inner != nil {
				if err := check(inner, left-n, puts, gone); err != nil {
					return err
				}
			}
			if put := op.GetRequestPut(); put != nil {
				if puts[string(put.Key)] {
					return rpctypes.ErrGRPCDuplicateKey
				}
				puts[string(put.Key)] = true
			}
			if drop := op.GetRequestDeleteRange(); drop != nil {
				*gone = append(*gone, drop)
			}
		}
	}
	return nil
}

func (d *data) commit(r *pb.TxnRequest) (*pb.TxnResponse, error) {
	puts := map[string]bool{}
	var gone []*pb.DeleteRangeRequest
	if err := check(r, 128, puts, &gone); err != nil {
		return nil, err
	}
	for _, d := range gone {
		for key := range puts {
			if key == string(d.Key) || key >= string(d.Key) && key < string(d.RangeEnd) {
				return nil, rpctypes.ErrGRPCDuplicateKey
			}
		}
	}
	next := d.revision + 1
	wrote := false
	answer, err := d.run(r, next, &wrote)
	if err != nil {
		return nil, err
	}
	if wrote {
		d.revision = next
	}
	answer.Header = &pb.ResponseHeader{Revision: d.revision}
	return answer, nil
}

// holds tells whether a condition is met.
func (d *data) holds(c *pb.Compare, next int64) bool {
	var all []version
	for _, key := range d.within(c.Key, c.RangeEnd, next) {
		v, _ := d.at(key, next)
		all = append(all, v)
	}
	if len(all) == 0 {
		if c.Target == pb.Compare_VALUE {
			return false
		}
		all = append(all, version{})
	}
	for _, v := range all {
		ok := false
		switch {
		case c.Target == pb.Compare_MOD && c.Result == pb.Compare_EQUAL:
			ok = v.mod == c.GetModRevision()
		case c.Target == pb.Compare_MOD && c.Result == pb.Compare_LESS:
			ok = v.mod < c.GetModRevision()
		case c.Target == pb.Compare_CREATE && c.Result == pb.Compare_EQUAL:
			ok = v.create == c.GetCreateRevision()
		case c.Target == pb.Compare_VALUE && c.Result == pb.Compare_EQUAL:
			ok = bytes.Equal(v.value, c.GetValue())
		default:
			panic(fmt.Sprint("an unknown compare: ", c))
		}
		if !ok {
			return false
		}
	}
	return true
}

func (d *data) run(r *pb.TxnRequest, next int64, wrote *bool) (*pb.TxnResponse, error) {
	answer := &pb.TxnResponse{Succeeded: !slices.ContainsFunc(r.Compare, func(c *pb.Compare) bool { return !d.holds(c, next) })}
	ops := r.Failure
	if answer.Succeeded {
		ops = r.Success
	}
	for _, op := range ops {
		response := &pb.ResponseOp{}
		switch op := op.Request.(type) {
		case *pb.RequestOp_RequestRange:
			got, err := d.scan(op.RequestRange)
			if err != nil {
				return nil, err
			}
			response.Response = &pb.ResponseOp_ResponseRange{ResponseRange: got}
		case *pb.RequestOp_RequestPut:
			key := string(op.RequestPut.Key)
			v := version{create: next, mod: next, value: op.RequestPut.Value}
			if old, found := d.at(key, next); found {
				v.create = old.create
			}
			d.note(key, v)
			*wrote = true
			response.Response = &pb.ResponseOp_ResponsePut{ResponsePut: &pb.PutResponse{}}
		case *pb.RequestOp_RequestDeleteRange:
			for _, key := range d.within(op.RequestDeleteRange.Key, op.RequestDeleteRange.RangeEnd, next) {
				d.note(key, version{mod: next, gone: true})
				*wrote = true
			}
			response.Response = &pb.ResponseOp_ResponseDeleteRange{ResponseDeleteRange: &pb.DeleteRangeResponse{}}
		case *pb.RequestOp_RequestTxn:
			got, err := d.run(op.RequestTxn, next, wrote)
			if err != nil {
				return nil, err
			}
			response.Response = &pb.ResponseOp_ResponseTxn{ResponseTxn: got}
		}
		answer.Responses = append(answer.Responses, response)
	}
	return answer, nil
}

// compact forgets all revisions before the newest one.
func (d *data) compact() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.compacted = d.revision
}

// holding counts the keys that hold a text.
func (d *data) holding(text string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key := range d.keys {
		if _, found := d.at(key, d.revision); found && strings.Contains(key, text) {
			n++
		}
	}
	return n
}
