package faults_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/faults"
)

// The paths are /d/x.db (\x2f\x64\x2f\x78\x2e\x64\x62) and others.
const sample = `7  pwrite64(5<\x2f\x64\x2f\x78>, "\x41\x42", 2, 10) = 2
7  pwrite64(6<\x2f\x65\x2f\x78>, "\x41", 1, 0) = 1
8  fsync(5<\x2f\x64\x2f\x78> <unfinished ...>
7  pwrite64(5<\x2f\x64\x2f\x78>, "\x43", 1, 0 <unfinished ...>
8  <... fsync resumed>)             = 0
7  <... pwrite64 resumed>)          = 1
7  write(1<\x70\x69\x70\x65>, "\x68\x69", 2) = 2
7  ftruncate(5<\x2f\x64\x2f\x78>, 4) = 0
7  fsync(5<\x2f\x64\x2f\x78>)       = -1 EIO (Input/output error) (INJECTED)
7  unlinkat(AT_FDCWD<\x2f>, "\x2f\x64\x2f\x78", 0) = 0
7  +++ exited with 0 +++
`

func TestReadTrace(t *testing.T) {
	t.Parallel()
	got, err := faults.ReadTrace(strings.NewReader(sample), "/d")
	if err != nil {
		t.Fatal(err)
	}
	want := []faults.Op{
		{Kind: faults.OpWrite, File: "x", Offset: 10, Data: []byte("AB")},
		{Kind: faults.OpWrite, File: "x", Offset: 0, Data: []byte("C")},
		{Kind: faults.OpSync, File: "x", Offset: 1}, // what was written after it began may not be on the disk
		{Kind: faults.OpSay, File: "-", Data: []byte("hi")},
		{Kind: faults.OpTruncate, File: "x", Offset: 4},
		{Kind: faults.OpRemove, File: "x"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{
		`7  pwrite64(5<\x2f\x64\x2f\x78>, "\x41"..., 9, 10) = 9`,
		`7  write(5<\x2f\x64\x2f\x78>, "\x41", 1) = 1`,
		`7  pwrite64(5<\x2f\x64\x2f\x78>, "\x4", 1, 0) = 1`,
	} {
		if _, err := faults.ReadTrace(strings.NewReader(bad), "/d"); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

// After a cut everything synced is there, and of the rest any part may be.
func TestDiskCut(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	block := func(c byte) []byte { return []byte(strings.Repeat(string(c), 1024)) }
	seen := map[string]bool{}
	for seed := range uint64(200) {
		d := faults.NewDisk(map[string][]byte{"x": block('a')})
		d.Do(faults.Op{Kind: faults.OpWrite, File: "x", Data: block('b')})
		d.Do(faults.Op{Kind: faults.OpSync, File: "x", Offset: 1})
		d.Do(faults.Op{Kind: faults.OpWrite, File: "x", Data: block('c')})
		dir := t.TempDir()
		if err := d.Cut(dir, rand.New(rand.NewPCG(seed, 0))); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, "x"))
		if err != nil {
			t.Fatal(err)
		}
		seen[string(data[:1])+string(data[512:513])] = true
		if len(data) != 1024 || strings.Contains(string(data), "a") {
			t.Fatalf("seed %d: the synced write is gone", seed)
		}
	}
	if diff := cmp.Diff(map[string]bool{"bb": true, "bc": true, "cb": true, "cc": true}, seen); diff != "" {
		t.Error(diff)
	}
}
