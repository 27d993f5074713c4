package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/fsmgen/fsmgen"

// rules say what a package below a path may import of this module and of others.
// The longest path that fits decides. Test files are not looked at: they may
// import what they like.
var rules = map[string]struct {
	own   []string // paths within the module, with everything below
	other []string // modules outside the standard library
}{
	"runtime":                       {own: []string{"runtime/driver", "runtime/fsmimpl", "runtime/internal"}},
	"runtime/driver":                {own: []string{"runtime/internal/inside"}},
	"runtime/fsmimpl":               {own: []string{"runtime/driver"}},
	"runtime/adopt":                 {own: []string{"runtime", "runtime/driver", "runtime/fsmimpl", "runtime/internal/inspect"}},
	"runtime/audit":                 {own: []string{"runtime", "runtime/driver", "runtime/fsmimpl", "runtime/internal/call", "runtime/internal/inspect"}},
	"runtime/console":               {own: []string{"runtime", "runtime/audit", "runtime/console/run", "runtime/driver", "runtime/fsmimpl", "runtime/newest"}},
	"runtime/console/internal/slip": {own: []string{"runtime", "runtime/driver", "runtime/fsmimpl"}},
	"runtime/console/run":           {own: []string{"runtime", "runtime/driver", "runtime/fsmimpl"}},
	"runtime/fsmslog":               {own: []string{"runtime"}},
	"runtime/newest":                {own: []string{"runtime/driver", "runtime/internal/rows"}},
	"runtime/figures":               {own: []string{"runtime", "runtime/audit", "runtime/driver", "runtime/fsmimpl"}},
	"runtime/health":                {own: []string{"runtime", "runtime/audit", "runtime/driver"}},
	"runtime/worker":                {own: []string{"runtime", "runtime/driver", "runtime/fsmimpl", "runtime/internal/call"}},
	"runtime/internal":              {own: []string{"runtime/driver", "runtime/fsmimpl"}},
	"runtime/internal/call":         {},
	"runtime/internal/inside":       {},
	"runtime/internal/refused":      {own: []string{"runtime", "runtime/driver"}},
	"runtime/memstore":              {own: []string{"runtime", "runtime/driver", "runtime/internal"}},
	"runtime/sqlstore":              {own: []string{"runtime", "runtime/driver", "runtime/evolve", "runtime/internal"}},
	"runtime/evolve":                {},
	"internal/lab/storetest":        {own: []string{"runtime", "runtime/audit", "runtime/driver", "runtime/fsmimpl"}},
	"runtime/fsmtest":               {own: []string{"runtime", "runtime/driver", "runtime/fsmimpl"}},
	"runtime/fsmcases":              {own: []string{"runtime", "runtime/driver", "runtime/fsmimpl", "runtime/fsmtest", "runtime/memstore"}},
	"runtime/sqlite":                {own: []string{"runtime", "runtime/driver", "runtime/sqlstore"}, other: []string{"modernc.org/sqlite"}},
	"runtime/postgres":              {own: []string{"runtime", "runtime/driver", "runtime/sqlstore"}, other: []string{"github.com/jackc/pgx/v5"}},
	"spec":                          {other: []string{"gopkg.in/yaml.v3"}},
	"internal/interp":               {own: []string{"spec"}},
	"internal/count":                {own: []string{"spec"}},
	"internal/model":                {own: []string{"spec", "internal/interp"}},
	"internal/omega":                {},
	"internal/prove":                {own: []string{"spec", "internal/omega"}},
	"internal/diff":                 {own: []string{"spec"}},
	"internal/draft":                {own: []string{"spec", "internal/validate"}},
	"internal/replay":               {own: []string{"spec", "gen", "internal/interp", "internal/live", "runtime", "runtime/audit", "runtime/driver", "runtime/fsmimpl"}},
	"internal/mapped":               {own: []string{"spec", "gen", "internal/interp", "internal/live", "runtime/driver"}},
	"internal/mdpage":               {own: []string{"spec", "gen"}},
	"internal/live":                 {own: []string{"spec", "gen", "internal/interp", "runtime", "runtime/audit", "runtime/driver", "runtime/fsmimpl", "runtime/newest"}},
	"internal/live/sqldb": {own: []string{"spec", "gen/chart", "internal/live", "runtime", "runtime/audit", "runtime/driver", "runtime/evolve", "runtime/fsmimpl", "runtime/sqlite", "runtime/postgres", "runtime/sqlstore"},
		other: []string{"github.com/jackc/pgx/v5", "modernc.org/sqlite"}},
	"internal/cli":           {own: []string{"spec", "gen/chart", "internal/validate", "internal/serve"}, other: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"}},
	"internal/live/livetest": {own: []string{"runtime", "runtime/audit", "runtime/driver", "runtime/fsmimpl", "examples"}},
	"internal/migration":     {own: []string{"spec", "gen", "internal/diff", "runtime/evolve"}},
	"internal/validate":      {own: []string{"spec", "internal/diff", "internal/interp", "internal/count", "internal/model", "internal/prove", "internal/validate"}},
	"gen/chart":              {own: []string{"spec"}},
	"gen/chart/layout":       {},
	"gen/export":             {own: []string{"spec"}},
	"internal/lsp":           {own: []string{"spec", "gen/chart", "internal/validate"}, other: []string{"github.com/sourcegraph/jsonrpc2"}},
	"internal/serve":         {own: []string{"spec", "gen/chart", "internal/interp", "internal/model", "internal/serve/answers", "internal/live", "runtime", "runtime/console"}},
	"internal/serve/answers": {own: []string{"spec", "gen/chart", "gen/export", "internal/interp", "internal/model"}},
	"internal/playground":    {own: []string{"spec", "gen", "internal/diff", "internal/model", "internal/serve/answers", "internal/validate", "internal/playground"}},
	"gen/chart/draw":         {own: []string{"gen/chart", "gen/chart/layout", "spec"}, other: []string{"golang.org/x/image"}},
	"gen":                    {own: []string{"spec", "internal/validate", "internal/interp", "internal/prove", "gen/chart"}, other: []string{"github.com/dave/jennifer"}},
	"gen/purekit":            {},
	"cmd/fsmvet/vet":         {own: []string{"spec"}, other: []string{"golang.org/x/tools"}}, // the parser, not the compiler
}

// listed is what `go list` says of a package.
type listed struct {
	ImportPath string
	Imports    []string
}

// listPackages lists the packages of the module.
func listPackages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = "../../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var list []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

func below(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

func TestImportDirection(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, p := range listPackages(t) {
		path := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		for _, message := range judge(path, p.Imports, used) {
			t.Error(message)
		}
	}
	for _, must := range []string{"runtime", "runtime/memstore", "runtime/sqlstore", "internal/lab/storetest", "spec"} {
		if !used[must] {
			t.Errorf("no package is below %s: the rules are out of date", must)
		}
	}
}

// judge returns what is wrong with the imports of a package.
func judge(path string, imports []string, used map[string]bool) (wrong []string) {
	root := ""
	for r := range rules {
		if below(path, r) && len(r) > len(root) {
			root = r
		}
	}
	if root == "" {
		return nil // cmd, examples and other programs may import what they need
	}
	used[root] = true
	rule := rules[root]
	for _, imp := range imports {
		own, isOwn := strings.CutPrefix(imp, module+"/")
		first, _, _ := strings.Cut(imp, "/")
		allowed, kind := rule.other, "module"
		switch {
		case isOwn:
			imp, allowed, kind = own, rule.own, "package"
		case !strings.Contains(first, "."):
			continue // the standard library
		}
		ok := false
		for _, a := range allowed {
			// "runtime" lets in package fsm, not the stores below it.
			ok = ok || (a == "runtime" && imp == a) || (a != "runtime" && below(imp, a))
		}
		if !ok {
			wrong = append(wrong, path+" imports the "+kind+" "+imp+", which packages below "+root+" may not")
		}
	}
	return wrong
}

// The command line of the compiler links no database: not a driver, and no store. Who uses
// pure transitions links not even database/sql. Who does not audit links no audit, and who has
// no workers links none; a user's test is no reason for either.
func TestLinksWhatItUses(t *testing.T) {
	t.Parallel()
	for root, none := range map[string][]string{
		"./cmd/fsmgen": {
			"modernc.org", "github.com/jackc", "go.etcd.io", "google.golang.org/grpc",
			module + "/runtime/sqlstore", module + "/runtime/sqlite", module + "/runtime/postgres", module + "/runtime/etcdstore",
			module + "/internal/live/sqldb",
		},
		"./cmd/fsmvet":               {"modernc.org", "github.com/jackc", module + "/gen", module + "/internal", module + "/runtime"},
		"./examples/pipeline/ingest": {"database/sql", "net", "modernc.org", "github.com/jackc", module + "/runtime/sqlstore", module + "/runtime/audit"},
		"./examples/scheduler/task":  {module + "/runtime/audit", module + "/runtime/worker"},
		"./runtime/sqlite":           {"github.com/jackc", module + "/runtime/audit", module + "/runtime/worker", module + "/runtime/memstore"},
		"./runtime/fsmcases":         {module + "/runtime/audit", module + "/runtime/worker"},
		"./runtime/worker":           {module + "/runtime/audit"},
	} {
		cmd := exec.Command("go", "list", "-deps", root)
		cmd.Dir = "../../.."
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		deps := strings.Fields(string(out))
		if len(deps) < 80 {
			t.Fatalf("%d packages are no whole list", len(deps))
		}
		for _, d := range deps {
			for _, no := range none {
				if below(d, no) && d != "database/sql/driver" { // which has the types alone
					t.Errorf("%s links %s", root, d)
				}
			}
		}
	}
}

// room returns the folder that stands in the graph of rooms: two names of the path, or
// three below runtime/internal, whose rooms lie at different heights.
func room(path string) string {
	parts := strings.Split(path, "/")
	if strings.HasPrefix(path, "runtime/internal/") {
		return strings.Join(parts[:3], "/")
	}
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// circle returns a way along the arrows from a room back to itself, or nil.
func circle(arrows map[string][]string) []string {
	var way []string
	been := map[string]bool{}
	var walk func(r string) []string
	walk = func(r string) []string {
		if i := slices.Index(way, r); i >= 0 {
			return append(slices.Clone(way[i:]), r)
		}
		if been[r] {
			return nil
		}
		been[r] = true
		way = append(way, r)
		defer func() { way = way[:len(way)-1] }()
		for _, to := range arrows[r] {
			if found := walk(to); found != nil {
				return found
			}
		}
		return nil
	}
	for _, r := range slices.Sorted(maps.Keys(arrows)) {
		if found := walk(r); found != nil {
			return found
		}
	}
	return nil
}

// Go refuses a circle of packages. This refuses one of rooms.
func TestRoomsHaveNoCircle(t *testing.T) {
	t.Parallel()
	arrows := map[string][]string{}
	for _, p := range listPackages(t) {
		from := room(strings.TrimPrefix(p.ImportPath, module+"/"))
		for _, imp := range p.Imports {
			if own, ok := strings.CutPrefix(imp, module+"/"); ok && room(own) != from {
				arrows[from] = append(arrows[from], room(own))
			}
		}
	}
	if way := circle(arrows); way != nil {
		t.Errorf("rooms import each other in a circle: %s", strings.Join(way, " -> "))
	}
	if len(arrows) < 20 {
		t.Errorf("%d rooms import others: the list is not whole", len(arrows))
	}
	for from, to := range map[string]string{"spec": "gen", "runtime/driver": "runtime", "internal/interp": "internal/validate"} {
		with := maps.Clone(arrows)
		with[from] = append(slices.Clone(with[from]), to)
		if circle(with) == nil {
			t.Errorf("an import of %s by %s makes no circle", to, from)
		}
	}
}

// The judge itself sees what it should.
func TestJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, imp string
		wrong     bool
	}{
		{"runtime", "sync/atomic", false},
		{"runtime", module + "/spec", true},
		{"runtime", module + "/gen", true},
		{"runtime", "gopkg.in/yaml.v3", true},
		{"runtime/driver", module + "/runtime", true},
		{"runtime/driver", module + "/runtime/fsmimpl", true},
		{"runtime/fsmimpl", module + "/runtime", true},
		{"runtime/memstore", module + "/runtime", false},
		{"runtime/memstore", module + "/internal/lab/storetest", true},
		{"runtime/memstore", "net/http", false},
		{"runtime/driver", "go.etcd.io/etcd/client/v3", true},
		{"runtime/sqlite", "modernc.org/sqlite/lib", false},
		{"runtime/sqlstore", "modernc.org/sqlite", true},
		{"gen", module + "/runtime", true},
		{"gen", module + "/internal/validate", false},
		{"spec", module + "/internal/interp", true},
		{"cmd/fsmgen", module + "/gen", false},
		{"cmd/fsmvet/vet", module + "/spec", false},
		{"cmd/fsmvet/vet", module + "/runtime", true},
	} {
		if got := judge(c.path, []string{c.imp}, map[string]bool{}); (len(got) > 0) != c.wrong {
			t.Errorf("%s imports %s: %q, want wrong %v", c.path, c.imp, got, c.wrong)
		}
	}
}
