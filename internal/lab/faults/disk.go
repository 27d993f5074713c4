package faults

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sector is what a disk writes whole or not at all.
const sector = 512

// Disk is a disk while a trace is replayed: what is surely on it, and what the
// machine's memory has not brought to it yet.
type Disk struct {
	files map[string]*diskFile
	done  int
}

type diskFile struct {
	safe    []byte
	pending []pendingOp
	removed bool // by name; whether the disk knows is open
}

type pendingOp struct {
	Op
	at int // its number in the trace
}

// NewDisk returns a disk that holds these files.
func NewDisk(files map[string][]byte) *Disk {
	d := &Disk{files: map[string]*diskFile{}}
	for name, data := range files {
		d.files[name] = &diskFile{safe: data}
	}
	return d
}

// Do takes the next operation of the trace.
func (d *Disk) Do(op Op) {
	f := d.files[op.File]
	if f == nil && op.Kind != OpSay {
		f = &diskFile{}
		d.files[op.File] = f
	}
	switch op.Kind {
	case OpWrite, OpTruncate:
		f.removed = false
		f.pending = append(f.pending, pendingOp{op, d.done})
	case OpRemove:
		f.removed = true
	case OpSync:
		n := 0
		for n < len(f.pending) && f.pending[n].at < int(op.Offset) {
			f.safe = apply(f.safe, f.pending[n].Op)
			n++
		}
		f.pending = slices.Clone(f.pending[n:])
	}
	d.done++
}

// Cut writes into dir what the disk may hold when the power goes now: all that
// was synced, and of the rest whatever rng chooses: none, all, or any part,
// down to single sectors.
func (d *Disk) Cut(dir string, rng *rand.Rand) error {
	mode := rng.IntN(4) // 0: none, 1: all, else any part
	for name, f := range d.files {
		if strings.HasSuffix(name, "-shm") || strings.HasSuffix(name, ".lock") {
			continue // memory, and what is locked: nothing that must survive
		}
		if f.removed && (mode == 1 || mode > 1 && rng.IntN(2) == 0) {
			continue
		}
		data := slices.Clone(f.safe)
		for _, p := range f.pending {
			switch {
			case mode == 0:
			case mode == 1:
				data = apply(data, p.Op)
			default:
				data = applySome(data, p.Op, rng)
			}
		}
		if len(f.safe) == 0 && len(data) == 0 && len(f.pending) > 0 {
			continue // the name may not be on the disk either
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// apply does one operation to a file's content.
func apply(data []byte, op Op) []byte {
	if op.Kind == OpTruncate {
		if n := int(op.Offset); n <= len(data) {
			return data[:n:n]
		}
		return append(data, make([]byte, int(op.Offset)-len(data))...)
	}
	if end := int(op.Offset) + len(op.Data); end > len(data) {
		data = append(data, make([]byte, end-len(data))...)
	}
	copy(data[op.Offset:], op.Data)
	return data
}

// applySome does an operation, or not, or some sectors of it.
func applySome(data []byte, op Op, rng *rand.Rand) []byte {
	switch rng.IntN(3) {
	case 0:
		return data
	case 1:
		return apply(data, op)
	}
	if op.Kind != OpWrite {
		return data
	}
	for at := 0; at < len(op.Data); {
		abs := int(op.Offset) + at
		n := min(sector-abs%sector, len(op.Data)-at)
		if rng.IntN(2) == 0 {
			data = apply(data, Op{Kind: OpWrite, Offset: int64(abs), Data: op.Data[at : at+n]})
		}
		at += n
	}
	return data
}
