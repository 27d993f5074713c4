package etcdstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// meta is what the store says about a machine's keys.
type meta struct {
	Machine string `json:"machine"`
	Version int    `json:"version"`
	Hash    string `json:"hash"`

	Earlier map[string]bool `json:"earlier,omitempty"` // hashes of before: whether they are open beside this one
}

// migrating begins the layout while somebody builds it anew: every write
// compares the layout, so nobody writes meanwhile.
const migrating = "migrating "

// fingerprint is the layout of a specification's keys: columns, states, unique
// rules and indexes. Two specifications with one layout may be open at once.
func fingerprint(s *driver.Schema) string {
	type column struct {
		Stored string
		Kind   driver.Kind
	}
	var doc struct {
		Columns []column
		States  []string
		Uniques []driver.UniqueRule
		Indexes []driver.Index
	}
	for i := range s.Columns {
		doc.Columns = append(doc.Columns, column{s.Columns[i].Stored, s.Columns[i].Kind})
	}
	for i := range s.States {
		doc.States = append(doc.States, s.States[i].Stored)
	}
	for _, u := range s.Uniques {
		doc.Uniques = append(doc.Uniques, driver.UniqueRule{Name: u.Name, Columns: u.Columns, States: u.States})
	}
	doc.Indexes = s.Indexes
	text, err := json.Marshal(doc)
	if err != nil {
		panic(err) // only texts and numbers
	}
	sum := sha256.Sum256(text)
	return "layout 4 " + hex.EncodeToString(sum[:16])
}

// Check returns a refusal unless the store holds this specification's keys.
func (t *table) Check(ctx context.Context) error {
	leave, err := t.store.enter()
	if err != nil {
		return err
	}
	defer leave()
	now, err := t.state(ctx)
	if err != nil {
		return err
	}
	switch {
	case now.meta == nil && now.layout.mod == 0:
		return t.mismatch("there is nothing of this machine below %q", t.keys.base)
	case strings.HasPrefix(string(now.layout.value), migrating):
		return t.mismatch("the keys below %q are being migrated, or were when the program ended", t.keys.base)
	case now.meta == nil || now.meta.Machine != t.schema.Machine:
		return t.mismatch("the keys below %q are not those of %s", t.keys.base, t.schema.Machine)
	case now.meta.Hash != t.schema.Hash:
		if known, err := t.besides(&now); known {
			return err
		}
		return t.mismatch("the keys below %q are those of version %d (hash %.12s), the program is version %d (hash %.12s)",
			t.keys.base, now.meta.Version, now.meta.Hash, t.schema.Version, t.schema.Hash)
	case string(now.layout.value) != t.fingerprint:
		return t.mismatch("the keys below %q have another layout", t.keys.base)
	}
	return nil
}

// migration is where the keys of a machine are.
type migration struct {
	meta      *meta // nil: none
	metaState stored
	layout    stored
}

func (t *table) state(ctx context.Context) (migration, error) {
	var now migration
	request := &pb.TxnRequest{Success: reads([]*pb.RangeRequest{one(t.keys.meta()), one(t.keys.layout())})}
	answer, err := t.store.client.read(ctx, request)
	if err != nil {
		return now, t.fault(err, nil)
	}
	for i, r := range ranges(answer, 2) {
		if len(r.Kvs) > 0 {
			*[]*stored{&now.metaState, &now.layout}[i] = stored{r.Kvs[0].Value, r.Kvs[0].ModRevision}
		}
	}
	if now.metaState.mod > 0 {
		now.meta = &meta{}
		if err := json.Unmarshal(now.metaState.value, now.meta); err != nil {
			return now, t.mismatch("%q is not what this store writes: %v", t.keys.meta(), err)
		}
	}
	return now, nil
}

// Migrate notes the specification. Where columns, states, unique rules or
// indexes differ from those that are there, it first looks whether the rows fit,
// and builds the indexes anew; every other program's writes are refused
// meanwhile, and those of the old specification afterwards too. When it breaks
// off it is to be called again, by either program. Rows that do not fit lead to
// a refusal, and all stays as it was.
func (t *table) Migrate(ctx context.Context) error {
	leave, err := t.store.enter()
	if err != nil {
		return err
	}
	defer leave()
	for range maxRuns {
		err := t.migrate(ctx)
		if !errors.Is(err, errConflict) {
			return err
		}
	}
	return t.fault(&callError{busy, errConflict}, nil)
}

func (t *table) migrate(ctx context.Context) error {
	now, err := t.state(ctx)
	if err != nil {
		return err
	}
	if now.meta != nil && now.meta.Hash != t.schema.Hash {
		if known, err := t.besides(&now); known {
			return err
		}
	}
	same := []*pb.Compare{unchanged(t.keys.meta(), now.metaState.mod), unchanged(t.keys.layout(), now.layout.mod)}
	switch {
	case now.meta != nil && now.meta.Machine != t.schema.Machine:
		return t.mismatch("the keys below %q belong to machine %s", t.keys.base, now.meta.Machine)
	case string(now.layout.value) == t.fingerprint && now.meta != nil && now.meta.Hash == t.schema.Hash:
		return nil
	case string(now.layout.value) == t.fingerprint, now.layout.mod == 0:
		return t.finish(ctx, same, now.meta)
	}
	token := []byte(migrating + driver.NewID())
	if err := t.put(ctx, same, t.keys.layout(), token); err != nil {
		return err
	}
	mine := []*pb.Compare{holding(t.keys.layout(), token)}
	if err := t.fitting(ctx); err != nil {
		return errors.Join(err, t.put(ctx, mine, t.keys.layout(), now.layout.value))
	}
	if err := t.rebuild(ctx, mine); err != nil {
		return err
	}
	return t.finish(ctx, mine, now.meta)
}

// put puts one key under conditions.
func (t *table) put(ctx context.Context, when []*pb.Compare, key string, value []byte) error {
	return t.apply(ctx, when, []*pb.RequestOp{put(key, value)})
}

// apply makes changes under conditions; errConflict when they do not hold. All
// that a migration writes may be written twice.
func (t *table) apply(ctx context.Context, when []*pb.Compare, ops []*pb.RequestOp) error {
	answer, err := t.store.client.write(ctx, &pb.TxnRequest{Compare: when, Success: ops})
	switch {
	case failed(err, ambiguous) && ctx.Err() == nil:
		return errConflict // look again
	case err != nil:
		return t.fault(err, nil)
	case !answer.Succeeded:
		return errConflict
	}
	return nil
}

// finish notes specification and layout.
func (t *table) finish(ctx context.Context, when []*pb.Compare, old *meta) error {
	text, err := json.Marshal(t.succeed(old))
	if err != nil {
		return err
	}
	return t.apply(ctx, when, []*pb.RequestOp{put(t.keys.meta(), text), put(t.keys.layout(), []byte(t.fingerprint))})
}

// pages calls f for all rows. Nobody writes while it runs.
func (t *table) pages(ctx context.Context, f func(list []driver.Row) error) error {
	return t.pagesOf(ctx, below(t.keys.row("")), func(kvs []*mvccpb.KeyValue) error {
		list := make([]driver.Row, 0, len(kvs))
		for _, kv := range kvs {
			row, _, err := decodeRow(t.schema, strings.TrimPrefix(string(kv.Key), t.keys.row("")), kv.Value)
			if err != nil {
				return t.mismatch("a row does not fit version %d: %v; fix it first", t.schema.Version, err)
			}
			list = append(list, row)
		}
		return f(list)
	})
}

// pagesOf calls f for all that is stored in a span. Nobody writes while it runs.
func (t *table) pagesOf(ctx context.Context, sp span, f func(list []*mvccpb.KeyValue) error) error {
	for more := true; more; {
		request := all(sp)
		request.Limit = pageSize
		got, err := t.store.client.read(ctx, &pb.TxnRequest{Success: reads([]*pb.RangeRequest{request})})
		if err != nil {
			return t.fault(err, nil)
		}
		answer := ranges(got, 1)[0]
		if n := len(answer.Kvs); n > 0 {
			sp.from = next(string(answer.Kvs[n-1].Key))
		}
		if err := f(answer.Kvs); err != nil {
			return err
		}
		more = answer.More
	}
	return nil
}

// fitting refuses rows that this specification cannot have.
func (t *table) fitting(ctx context.Context) error {
	holders := map[[16]byte]string{}
	return t.pages(ctx, func(list []driver.Row) error {
		for i := range list {
			row := &list[i]
			if !slices.ContainsFunc(t.schema.States, func(s driver.StateInfo) bool { return s.Stored == row.State }) {
				return t.mismatch("record %q is in state %q, which version %d does not have; fix it first", row.ID, row.State, t.schema.Version)
			}
			for _, p := range t.taken(row) {
				sum := sha256.Sum256([]byte(p.key))
				short := [16]byte(sum[:16])
				if other, taken := holders[short]; taken {
					return t.mismatch("records %q and %q break the unique rule %s; fix one first", other, row.ID, p.rule)
				}
				holders[short] = row.ID
			}
		}
		return nil
	})
}

// rebuild makes the indexes anew while the layout is held.
func (t *table) rebuild(ctx context.Context, mine []*pb.Compare) error {
	for _, part := range []string{partState, partIndex, partGroup, partUnique, partDue} {
		sp := below(t.keys.base + part)
		if err := t.apply(ctx, mine, []*pb.RequestOp{drop(sp.from, sp.to)}); err != nil {
			return fmt.Errorf("rebuild the indexes: %w", err)
		}
	}
	write := func(b batch) error {
		for ops := range slices.Chunk(b.ops(), maxReads) {
			if err := t.apply(ctx, mine, ops); err != nil {
				return fmt.Errorf("rebuild the indexes: %w", err)
			}
		}
		return nil
	}
	err := t.pages(ctx, func(list []driver.Row) error {
		b := batch{}
		for i := range list {
			t.reindex(b, nil, &list[i])
			t.retake(b, nil, &list[i])
		}
		return write(b)
	})
	if err != nil {
		return err
	}
	return t.pagesOf(ctx, below(t.keys.base+partOutbox), func(list []*mvccpb.KeyValue) error {
		b := batch{}
		for _, kv := range list {
			d, err := decodeDelivery(kv.Value)
			if err != nil {
				return fmt.Errorf("rebuild the indexes: %w", err)
			}
			b.put(t.keys.due(&d), nil)
		}
		return write(b)
	})
}
