package memstore

import (
	"context"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/refused"
)

// open reports whether a specification may use the table beside its own one:
// rows of other fields are not the same rows to both.
func (t *table) open(s *driver.Schema) bool {
	return t.earlier[s.Hash] && slices.EqualFunc(t.columns, s.Columns, func(stored string, c driver.Column) bool { return stored == c.Stored })
}

// besides refuses a specification that was retired.
func (t *table) besides(s *driver.Schema) error {
	if open, known := t.earlier[s.Hash]; known && !open && t.hash != s.Hash {
		return refused.Retired(s, driver.SpecID{Version: t.version, Hash: t.hash})
	}
	return nil
}

// succeed makes the table that of s, and notes what becomes of the others.
func (t *table) succeed(s *driver.Schema) {
	if t.hash != "" && s.Version > t.version {
		t.earlier[t.hash] = false
		for hash := range t.earlier {
			t.earlier[hash] = slices.ContainsFunc(s.Beside, func(id driver.SpecID) bool { return id.Hash == hash })
		}
		delete(t.earlier, s.Hash)
	}
	t.hash, t.version = s.Hash, s.Version
}

// Retire ends a roll-out.
func (h *handle) Retire(ctx context.Context) error {
	if err := h.store.acquire(ctx); err != nil {
		return err
	}
	defer h.store.release()
	t, err := h.store.open(h.schema)
	if err != nil {
		return err
	}
	if t.hash != h.schema.Hash {
		return mismatch(h.schema, "the table is that of version %d, which retires version %d, not the other way round", t.version, h.schema.Version)
	}
	for hash := range t.earlier {
		t.earlier[hash] = false
	}
	return nil
}
