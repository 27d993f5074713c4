package etcdstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// Installed is a machine whose keys a cluster holds.
type Installed struct {
	Machine string
	Version int    // of the specification that the keys were made for
	Hash    string // of its meaning
}

// Installed lists the machines below the prefix, by the names of their tables.
func (s *Store) Installed(ctx context.Context) ([]Installed, error) {
	leave, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []Installed
	for sp := below(s.prefix); ; {
		request := all(sp)
		request.Limit, request.KeysOnly = 1, true
		answer, err := s.client.read(ctx, &pb.TxnRequest{Success: []*pb.RequestOp{read(request)}})
		if err != nil {
			return nil, fmt.Errorf("etcdstore: %w", err)
		}
		found := ranges(answer, 1)[0].Kvs
		if len(found) == 0 {
			return list, nil
		}
		table, _, isTable := strings.Cut(strings.TrimPrefix(string(found[0].Key), s.prefix), "/")
		if !isTable {
			sp.from = next(string(found[0].Key))
			continue
		}
		k := keys{s.prefix + table + "/"}
		sp.from = after(k.base)
		if answer, err = s.client.read(ctx, &pb.TxnRequest{Success: []*pb.RequestOp{read(one(k.meta()))}}); err != nil {
			return nil, fmt.Errorf("etcdstore: %w", err)
		}
		var m meta
		if kvs := ranges(answer, 1)[0].Kvs; len(kvs) > 0 && json.Unmarshal(kvs[0].Value, &m) == nil {
			list = append(list, Installed{Machine: m.Machine, Version: m.Version, Hash: m.Hash})
		}
	}
}
