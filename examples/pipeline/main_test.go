package main

import (
	_ "embed"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

//go:embed testdata/trail.txt
var want string

// TestTrail holds the audit trail of the three jobs, over both stores.
func TestTrail(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) fsm.Store{
		"memory": func(*testing.T) fsm.Store { return memstore.New() },
		"sqlite": func(t *testing.T) fsm.Store {
			s, err := sqlite.Open(filepath.Join(t.TempDir(), "pipeline.db"))
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := open(t)
			defer store.Close()
			var out strings.Builder
			if err := run(t.Context(), store, &out); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, out.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
