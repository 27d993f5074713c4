package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

const want = `e1   build plan          -> created {}
e2   build expected      -> created {}  (recorded only)
e3   build kick          -> running {}
e4   build expected      -> running {compiled}
e4   build expected      -> running {compiled}  (redelivered: nothing changed)
e5   build expected      -> running {compiled}  (recorded only)
e6   build expected      -> done {compiled, tested}
e7   build error         -> done {compiled, tested}  (recorded only)
f1   pay   plan          -> created {}
f2   pay   kick          -> running {}
f3   pay   error         -> compensating {}
f4   pay   compensation  -> compensating {}  (recorded only)
f5   pay   compensation  -> done {}
f3   pay   error         -> compensating {}  (redelivered: nothing changed)
g1   mail  plan          refused: guard
g2   mail  plan          -> created {}
g3   mail  kick          -> running {}
g4   mail  error         -> failed {}
g3   mail  error         refused: request_reused
`

func TestStream(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) fsm.Store{
		"memory": func(*testing.T) fsm.Store { return memstore.New() },
		"sqlite": func(t *testing.T) fsm.Store {
			s, err := sqlite.Open(filepath.Join(t.TempDir(), "events.db"))
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
			if err := consume(t.Context(), store, strings.NewReader(sample), &out); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, out.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
