package etcdstore

import pb "go.etcd.io/etcd/api/v3/etcdserverpb"

// The conditions of a transaction.

// unchanged holds while the key is as it was at a revision of its own; 0: absent.
func unchanged(key string, mod int64) *pb.Compare {
	return &pb.Compare{Key: []byte(key), Target: pb.Compare_MOD, Result: pb.Compare_EQUAL, TargetUnion: &pb.Compare_ModRevision{ModRevision: mod}}
}

// absent holds while no key of [from, to) exists; an empty to is the one key.
func absent(from, to string) *pb.Compare {
	return &pb.Compare{Key: []byte(from), RangeEnd: []byte(to), Target: pb.Compare_CREATE, Result: pb.Compare_EQUAL, TargetUnion: &pb.Compare_CreateRevision{}}
}

// holding holds while the key exists with this value.
func holding(key string, value []byte) *pb.Compare {
	return &pb.Compare{Key: []byte(key), Target: pb.Compare_VALUE, Result: pb.Compare_EQUAL, TargetUnion: &pb.Compare_Value{Value: value}}
}

// before holds while the last change of a key, if it exists, is before a revision.
func before(key string, mod int64) *pb.Compare {
	return &pb.Compare{Key: []byte(key), Target: pb.Compare_MOD, Result: pb.Compare_LESS, TargetUnion: &pb.Compare_ModRevision{ModRevision: mod}}
}

// What a transaction does.

func read(r *pb.RangeRequest) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: r}}
}

func put(key string, value []byte) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(key), Value: value}}}
}

// drop deletes the keys of [from, to); an empty to is the one key.
func drop(from, to string) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte(from), RangeEnd: []byte(to)}}}
}

func nested(ops []*pb.RequestOp) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestTxn{RequestTxn: &pb.TxnRequest{Success: ops}}}
}

// one asks for the key, all for the keys of a span.
func one(key string) *pb.RangeRequest { return &pb.RangeRequest{Key: []byte(key)} }

func all(sp span) *pb.RangeRequest {
	return &pb.RangeRequest{Key: []byte(sp.from), RangeEnd: []byte(sp.to)}
}

// reads makes operations of range requests.
func reads(list []*pb.RangeRequest) []*pb.RequestOp {
	ops := make([]*pb.RequestOp, len(list))
	for i, r := range list {
		ops[i] = read(r)
	}
	return ops
}

// ranges returns the answers of the first n requests of a transaction, which are ranges.
func ranges(answer *pb.TxnResponse, n int) []*pb.RangeResponse {
	list := make([]*pb.RangeResponse, n)
	for i := range list {
		list[i] = &pb.RangeResponse{}
		if i < len(answer.Responses) && answer.Responses[i].GetResponseRange() != nil {
			list[i] = answer.Responses[i].GetResponseRange()
		}
	}
	return list
}
