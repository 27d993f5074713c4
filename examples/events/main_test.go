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
h1   scan  plan          -> created {}
h2   scan  kick          -> running {}
h3   scan  observe_cpu   -> running {}  (recorded only)
h4   scan  error         -> running {}  (recorded only)
h5   scan  expected      -> done {scanned}
h6   scan  observe_cpu   -> done {scanned}  (recorded only)
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

// TestBadLines goes on behind lines that are no event, and names each of them.
func TestBadLines(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	defer store.Close()
	stream := `{"id":"1","job":"a","kind":"plan","expected":["x"],"policy":"undo"}
{"id":"2","job":"a","kind":"kick"}
no JSON
{"id":"3","job":"a","kind":"error","verdict":"perhaps"}
{"id":"4","job":"a","kind":"error"}
{"id":"5","job":"a","kind":"compensation","decision":"maybe"}
{"job":"a","kind":"kick"}
{"id":"6","job":"a","kind":"compensation","decision":"done"}
`
	const want = `1    a     plan          -> created {}
2    a     kick          -> running {}
line 3: no event: invalid character 'o' in literal null (expecting 'u')
line 4: no event: verdict: unknown value "perhaps"; expected stands or ignored
4    a     error         -> compensating {}
line 6: no event: decision: unknown value "maybe"; expected done, failed or undecided
line 7: no event: it needs id, job and kind
6    a     compensation  -> done {}
`
	var out strings.Builder
	err := consume(t.Context(), store, strings.NewReader(stream), &out)
	if diff := cmp.Diff(want, out.String()); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}
