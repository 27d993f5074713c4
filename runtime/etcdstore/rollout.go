package etcdstore

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/refused"
)

// id is the specification whose keys they are.
func (m *meta) id() driver.SpecID { return driver.SpecID{Version: m.Version, Hash: m.Hash} }

// besides refuses a specification of before unless it may use the keys meanwhile.
// known is false when the keys never were those of this specification. Every
// write compares the layout, so one of another layout could not write anyway.
func (t *table) besides(now *migration) (known bool, err error) {
	open, known := now.meta.Earlier[t.schema.Hash]
	switch {
	case !known:
		return false, nil
	case !open || string(now.layout.value) != t.fingerprint:
		return true, refused.Retired(t.schema, now.meta.id())
	}
	return true, nil
}

// succeed returns what is noted when the keys become those of this
// specification.
func (t *table) succeed(old *meta) *meta {
	next := &meta{Machine: t.schema.Machine, Version: t.schema.Version, Hash: t.schema.Hash}
	if old == nil {
		return next
	}
	next.Earlier = maps.Clone(old.Earlier)
	if old.Hash != t.schema.Hash && t.schema.Version > old.Version {
		if next.Earlier == nil {
			next.Earlier = map[string]bool{}
		}
		next.Earlier[old.Hash] = false
		for hash := range next.Earlier {
			next.Earlier[hash] = slices.ContainsFunc(t.schema.Beside, func(id driver.SpecID) bool { return id.Hash == hash })
		}
		delete(next.Earlier, t.schema.Hash)
	}
	return next
}

// Retire ends a roll-out.
func (t *table) Retire(ctx context.Context) error {
	leave, err := t.store.enter()
	if err != nil {
		return err
	}
	defer leave()
	for range maxRuns {
		now, err := t.state(ctx)
		if err != nil {
			return err
		}
		if now.meta == nil || now.meta.Machine != t.schema.Machine || now.meta.Hash != t.schema.Hash {
			return t.mismatch("the keys below %q are not those of version %d, which would retire others", t.keys.base, t.schema.Version)
		}
		if !slices.Contains(slices.Collect(maps.Values(now.meta.Earlier)), true) {
			return nil
		}
		for hash := range now.meta.Earlier {
			now.meta.Earlier[hash] = false
		}
		text, err := json.Marshal(now.meta)
		if err != nil {
			return err
		}
		err = t.put(ctx, []*pb.Compare{unchanged(t.keys.meta(), now.metaState.mod)}, t.keys.meta(), text)
		if !errors.Is(err, errConflict) {
			return err
		}
	}
	return t.fault(&callError{busy, errConflict}, nil)
}
