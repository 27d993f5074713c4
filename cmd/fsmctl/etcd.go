package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/internal/live"
	"github.com/fsmgen/fsmgen/runtime/etcdstore"
	"github.com/fsmgen/fsmgen/spec"
)

// etcdForm is the address of a cluster of etcd, for help and messages.
const etcdForm = "etcds://user:password@host:2379,host:2379/prefix/?cacert=FILE&cert=FILE&key=FILE"

// cluster is the address of a cluster of etcd.
type cluster struct {
	config clientv3.Config
	prefix string
}

// isEtcd reports whether an address is one of etcd.
func isEtcd(text string) bool {
	scheme, _, found := strings.Cut(text, "://")
	return found && (strings.EqualFold(scheme, "etcd") || strings.EqualFold(scheme, "etcds"))
}

// parseEtcd reads an address. Its errors hold no part of it that may be a password.
func parseEtcd(text string) (cluster, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	secure := strings.EqualFold(scheme, "etcds")
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	c := cluster{config: clientv3.Config{Logger: zap.NewNop()}}
	hosts := authority
	if i := strings.LastIndex(authority, "@"); i >= 0 {
		hosts = authority[i+1:]
		name, password, _ := strings.Cut(authority[:i], ":")
		var nameErr, passwordErr error
		c.config.Username, nameErr = url.PathUnescape(name)
		c.config.Password, passwordErr = url.PathUnescape(password)
		if nameErr != nil || passwordErr != nil {
			return cluster{}, unreadable()
		}
	}
	if strings.ContainsAny(tail, "@#") {
		return cluster{}, unreadable()
	}
	for host := range strings.SplitSeq(hosts, ",") {
		if _, _, err := net.SplitHostPort(host); err != nil || strings.HasPrefix(host, ":") {
			return cluster{}, unreadable()
		}
		if secure {
			host = "https://" + host
		} else {
			host = "http://" + host
		}
		c.config.Endpoints = append(c.config.Endpoints, host)
	}
	path, query, _ := strings.Cut(tail, "?")
	c.prefix = cmp.Or(strings.TrimPrefix(path, "/"), "fsm/")
	values, err := url.ParseQuery(query)
	if err != nil || len(values) > 0 && !secure {
		return cluster{}, unreadable()
	}
	if secure {
		c.config.TLS, err = certificates(values)
	}
	return c, err
}

func unreadable() error {
	return errors.New("the address of etcd cannot be read; expected one like " + etcdForm +
		", or etcd:// without TLS (the characters / ? # @ : of a password are written %2F %3F %23 %40 %3A)")
}

// certificates reads the files that an address names.
func certificates(files url.Values) (*tls.Config, error) {
	for name := range files {
		if !slices.Contains([]string{"cacert", "cert", "key"}, name) {
			return nil, unreadable()
		}
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if path := files.Get("cacert"); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("cannot read cacert of the address: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s holds no PEM certificate, and cacert of the address names it", path)
		}
	}
	if files.Has("cert") || files.Has("key") {
		pair, err := tls.LoadX509KeyPair(files.Get("cert"), files.Get("key"))
		if err != nil {
			return nil, fmt.Errorf("cannot read cert and key of the address: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// address is the cluster as messages tell it.
func (c cluster) address() live.Address {
	return live.Address{
		Shown: fmt.Sprintf("etcd at %s, below %q", strings.Join(c.config.Endpoints, ","), c.prefix),
		Clean: live.Secret(c.config.Password),
	}
}

// etcd is a store as package live wants it.
type etcd struct{ *etcdstore.Store }

func (s etcd) Installed(ctx context.Context) ([]live.Installed, error) {
	list, err := s.Store.Installed(ctx)
	var all []live.Installed
	for _, x := range list {
		all = append(all, live.Installed{Machine: x.Machine, Version: x.Version, Hash: x.Hash})
	}
	return all, err
}

// openEtcd opens a cluster for a machine.
func openEtcd(ctx context.Context, text string, m *spec.Machine, file string, write bool) (*live.DB, error) {
	c, err := parseEtcd(text)
	if err != nil {
		return nil, err
	}
	options := []etcdstore.Option{etcdstore.WithPrefix(c.prefix)}
	if !write {
		options = append(options, etcdstore.WithReadOnly())
	}
	a := c.address()
	s, err := etcdstore.Open(ctx, c.config, options...)
	if err != nil {
		return nil, a.Clean(err)
	}
	return live.Open(ctx, etcd{s}, a, m, file)
}

// etcdMoves counts the events of a machine in the log of all records.
func etcdMoves(ctx context.Context, text string, m *spec.Machine, file string) ([]chart.Traffic, error) {
	db, err := openEtcd(ctx, text, m, file, false)
	if err != nil {
		return nil, err
	}
	counts := map[chart.Traffic]int64{}
	for e, err := range db.Machine.Log(ctx, "") {
		if err != nil {
			return nil, db.Address.Clean(errors.Join(err, db.Close()))
		}
		counts[chart.Traffic{Operation: e.Operation, From: e.From, To: e.To, Recorded: e.RecordOnly()}]++
	}
	var list []chart.Traffic
	for t, n := range counts {
		t.Count = n
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b chart.Traffic) int {
		return cmp.Or(strings.Compare(a.Operation, b.Operation), strings.Compare(a.From, b.From), strings.Compare(a.To, b.To),
			strings.Compare(fmt.Sprint(a.Recorded), fmt.Sprint(b.Recorded)))
	})
	return list, db.Close()
}
