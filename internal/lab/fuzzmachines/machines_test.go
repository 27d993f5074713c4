package fuzzmachines_test

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/go/packages"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/fuzzmachines"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

var (
	number = flag.Int("machines", 10, "how many random machines are generated and type-checked")
	tested = flag.Int("tested", 25, "in a campaign: of how many the generated tests are run")
	seed   = flag.Uint64("seed", 1, "the first seed")
	share  = flag.Uint64("sqlite", 1, "one in this many machines is tested over SQLite too; 0: none")
	tries  = flag.Int("shrink", 60, "how many smaller machines are tried when one fails")
	whole  = flag.Bool("whole", false, "test each found machine over both databases")
	only   = flag.String("only", "", "the found machines that are tested, separated by commas")
	limit  = flag.Duration("limit", 15*time.Minute, "how long the generated tests of one machine may take")
)

// sound is a machine that passes the check, and what is generated from it.
type sound struct {
	name    string // of the package
	machine string
	text    string
	files   []gen.File
	stores  string // besides the one in memory
}

// What passes the check is generated, compiles, and passes its own tests.
func TestRandomMachines(t *testing.T) {
	t.Parallel()
	machines := draw(t)
	imports := load(t)
	for _, m := range machines {
		if err := typeCheck(m, imports); err != nil {
			t.Errorf("%s: the generated code does not compile: %v\n%s", m.name, err, m.text)
		}
	}
	if testing.Short() || t.Failed() || !campaign.On() {
		return
	}
	machines = machines[:min(*tested, len(machines))]
	failed := runAll(t, machines)
	for _, m := range machines { // one is enough to begin with
		if failed[m.name] != "" {
			t.Logf("the smallest that was found to fail, out of %s:\n%s", m.name, smallest(t, m, gen.Options{TestStore: m.stores}, *tries, func(sound) bool { return true }))
			return
		}
	}
}

// TestFoundMachines runs the generated tests of machines of real systems and of small ones, one for each
// kind of fault that people and random machines have found: over memory, in a campaign an eighth of
// them over each database as well, and with -only or -whole over all three stores. Outside of a
// campaign it runs every eighth.
func TestFoundMachines(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles dozens of packages")
	}
	paths, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(paths) < 21 {
		t.Fatalf("%d machines (%v), want at least 20", len(paths), err)
	}
	var list []sound
	for i, path := range paths {
		if !campaign.On() && *only == "" && !*whole && i%8 != 0 {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(path), ".yaml"), "_", "")
		m, found := validate.Source(path, text)
		if found.HasErrors() {
			t.Fatal(found)
		}
		if *only != "" && !slices.Contains(strings.Split(*only, ","), name) {
			continue
		}
		stores := ""
		switch {
		case *only != "" || *whole:
			stores = "sqlite,postgres"
		case campaign.On():
			stores = map[int]string{0: "sqlite", 4: "postgres"}[i%8]
		}
		files, err := gen.Generate(m, gen.Options{Package: name, Spec: filepath.ToSlash(specOf(name)), TestStore: stores, EngineTests: true})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, sound{name, m.Name, string(text), files, stores})
	}
	runAll(t, list)
}

// draw finds sound machines, and tells what the others were refused for.
func draw(t *testing.T) []sound {
	t.Helper()
	var list []sound
	refused := map[string]int{}
	tries, wanted := 0, *number
	if campaign.On() {
		wanted = max(wanted, *tested)
	}
	for s := *seed; len(list) < wanted; s++ {
		if tries++; tries > 100*wanted+1000 {
			t.Fatalf("%d of %d machines pass the check; refused for %v", len(list), tries, refused)
		}
		text := fuzzmachines.Random(rand.New(rand.NewPCG(s, 3)))
		m, found := validate.Source("random.yaml", []byte(text))
		codes := map[string]bool{}
		for _, d := range found {
			if d.Severity == spec.Error {
				codes[d.Code] = true
			}
		}
		for code := range codes {
			refused[code]++
		}
		if m == nil || found.HasErrors() {
			continue
		}
		o := options(s)
		files, err := gen.Generate(m, o)
		var more spec.Diagnostics
		if errors.As(err, &more) {
			t.Errorf("seed %d passes the check, but is not generated: %v\n%s", s, more, text)
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", s, err, text)
		}
		list = append(list, sound{o.Package, m.Name, text, files, o.TestStore})
	}
	t.Logf("%d of %d machines pass the check; the others are refused for %v", len(list), tries, refused)
	return list
}

// options are those of a seed, so that it can be repeated alone.
func options(seed uint64) gen.Options {
	o := gen.Options{Package: fmt.Sprintf("random%d", seed), EngineTests: true}
	o.Spec = filepath.ToSlash(specOf(o.Package))
	if *share > 0 && seed%*share == 0 {
		o.TestStore = "sqlite"
	}
	return o
}

// TestRandomIsStable demands the same text for the same seed, and different ones
// for others.
func TestRandomIsStable(t *testing.T) {
	t.Parallel()
	texts := map[string]bool{}
	for s := range uint64(50) {
		first := fuzzmachines.Random(rand.New(rand.NewPCG(s, 3)))
		if again := fuzzmachines.Random(rand.New(rand.NewPCG(s, 3))); again != first {
			t.Fatalf("seed %d gives two texts:\n%s\n%s", s, first, again)
		}
		texts[first] = true
	}
	if len(texts) != 50 {
		t.Errorf("50 seeds gave %d texts", len(texts))
	}
}

// TestRandomUsesTheLanguage demands that sound machines use most keys of the
// language: a generator that is refused for all that matters finds nothing.
func TestRandomUsesTheLanguage(t *testing.T) {
	t.Parallel()
	want := strings.Fields(`doc: present: absent: terminal: final: otherwise: was: changed_by: per: guards: when: none: fewer: {some: unique:
		creates: choose:
		input: require: on_refusal: record_only_in: set: clear: increment: add: reset: decrement: remove: event: dedupe_by: next: trigger: effect: atomic: by: reject: record_only:
		twice} too_long} taken_ ring_ 1000, 1000} -5 state_groups: except: {any: [[ "'it ''it EUR ''dark
		_also _second [{name: forbidden: projection: at_least: removed: requests: version: invariant: should: then: probe: probes:
		where: order: covers input. {after: steps: old. attempts: failed: _ended:`)
	missing := map[string]bool{}
	for _, key := range want {
		missing[key] = true
	}
	for s := uint64(1); s < 2000 && len(missing) > 0; s++ {
		text, m := soundMachine(s)
		if m == nil {
			continue
		}
		maps.DeleteFunc(missing, func(key string, _ bool) bool { return strings.Contains(text, key) })
	}
	if len(missing) > 0 {
		t.Errorf("no sound machine uses %v", slices.Sorted(maps.Keys(missing)))
	}
}

// loaded is what generated packages may import.
type loaded map[string]*types.Package

func (l loaded) Import(path string) (*types.Package, error) {
	if p := l[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("a generated package imports %s", path)
}

func load(t *testing.T) loaded {
	t.Helper()
	l, err := loadOnce()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var loadOnce = sync.OnceValues(func() (loaded, error) {
	const runtime = "github.com/fsmgen/fsmgen/runtime"
	list, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedExportFile},
		runtime, runtime+"/audit", runtime+"/driver", runtime+"/fsmimpl", runtime+"/worker", "github.com/fsmgen/fsmgen/internal/lab/enginetest", runtime+"/fsmcases", runtime+"/memstore", runtime+"/sqlite", "context", "database/sql", "database/sql/driver", "embed",
		"cmp", "encoding", "encoding/json", "errors", "fmt", "iter", "math", "path/filepath", "slices", "strconv", "strings", "testing", "time")
	if err != nil {
		return nil, err
	}
	l := loaded{}
	for _, p := range list {
		for _, e := range p.Errors {
			return nil, e
		}
		l[p.PkgPath] = p.Types
	}
	return l, nil
})

// typeCheck type-checks a package with its tests in this process.
func typeCheck(m sound, imports loaded) error {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, f := range m.files {
		if filepath.Ext(f.Name) == ".go" {
			file, err := parser.ParseFile(fset, f.Name, f.Data, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			files = append(files, file)
		}
	}
	_, err := (&types.Config{Importer: imports}).Check("random", fset, files, nil)
	return err
}

// soundMachine draws a machine, which is nil where check refuses the text. Two tests look at
// the same ones.
func soundMachine(seed uint64) (string, *spec.Machine) {
	one, _ := soundMachines.LoadOrStore(seed, sync.OnceValues(func() (string, *spec.Machine) {
		text := fuzzmachines.Random(rand.New(rand.NewPCG(seed, 3)))
		m, found := validate.Source("random.yaml", []byte(text))
		if found.HasErrors() {
			return text, nil
		}
		return text, m
	}))
	return one.(func() (string, *spec.Machine))()
}

var soundMachines sync.Map // of functions by seed
