package main

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/migration"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// genFlags are the flags of `gen`.
type genFlags struct {
	out       string
	pkg       string
	enforce   string
	beside    string
	testStore []string
	engine    bool // tests of the engine, for the repository of fsmgen
	layers    []string
	check     bool
	asJSON    bool
	watch     bool
}

func (c *tool) genCommand() *cobra.Command {
	var f genFlags
	cmd := &cobra.Command{
		Use:   "gen SPEC...",
		Short: "Generate the Go package of a specification",
		Long: `Gen writes the Go package, the tests, the SQL schemas, the picture for the
console and the diagram of each specification: into a folder named after the package, beside the YAML file, or
into the folder of -o.

All specifications are read, checked and generated before the first file is
written. If one of them has an error, nothing is written. Unchanged files are
not touched. A file that fsmgen did not write is never overwritten. Files of an
earlier run that are no longer produced are reported and left alone.

--layers pure makes a package that needs the standard library alone: the
operations are methods on a value, without a store. What needs one is left out
and told where it changes no operation, and refused elsewhere. durable without
handles leaves the typed handles out.

For a rolling deployment, --beside names the version before this one, as a file
or in git: after the new package's Migrate, programs of that version go on
working on the same tables until the new package's EndRollOut. It is refused
when the two versions cannot be open at once.

With --watch it generates again on every change of a file, until Ctrl-C.
Findings are printed, and the last valid package is kept.

With --json it prints one object: findings (as check --json has them), errors
and warnings (how many), and files (path, status before the run: missing,
differs, unchanged, foreign or stale, and written).`,
		Example: `  fsmgen gen specs/lifecycle.yaml
  fsmgen gen -o . job.yaml          # the package job in this folder
  fsmgen gen --check specs/*.yaml   # in CI: fail when files are not up to date
  fsmgen gen --beside job.v1.yaml job.yaml
  fsmgen gen --watch job.yaml       # while you write: generate at each save

  //go:generate go tool fsmgen gen job.yaml`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: cli.SpecFiles,
		RunE: func(_ *cobra.Command, args []string) error {
			if f.watch {
				ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
				defer stop()
				return c.watch(ctx, args, f)
			}
			return c.gen(args, f)
		},
	}
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "folder of the package (one specification only)")
	cmd.Flags().StringVar(&f.pkg, "package", "", "name of the package (one specification only; default: the machine's name)")
	cmd.Flags().StringVar(&f.enforce, "enforce", "full", "rules that the database enforces: none, checks or full")
	cmd.Flags().StringVar(&f.beside, "beside", "", "version whose programs may go on working during a roll-out: a file or git:REVISION (one specification only)")
	cmd.Flags().StringSliceVar(&f.testStore, "test-store", nil, "stores that the tests use besides the one in memory: sqlite, postgres")
	cmd.Flags().StringSliceVar(&f.layers, "layers", nil, "what is generated: pure, or durable, or durable,handles (default: what the specification says, or all)")
	cmd.Flags().BoolVar(&f.engine, "engine-tests", false, "add the test of what fsmgen makes of a machine")
	cmd.Flags().BoolVar(&f.check, "check", false, "write nothing; exit with 1 when a file is not up to date")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print findings and results as JSON")
	cmd.Flags().BoolVar(&f.watch, "watch", false, "regenerate on every change until Ctrl-C")
	if err := cmd.Flags().MarkHidden("engine-tests"); err != nil { // only the repository of fsmgen asks for them
		panic(err) // the flag does not exist
	}
	cmd.MarkFlagsMutuallyExclusive("watch", "check")
	cmd.MarkFlagsMutuallyExclusive("watch", "json")
	c.QuietFlag(cmd)
	cli.OneOf(cmd, "enforce", "none", "checks", "full")
	cli.OneOf(cmd, "test-store", "sqlite", "postgres")
	cli.OneOf(cmd, "layers", "pure", "durable", "handles")
	if err := cmd.MarkFlagDirname("output"); err != nil {
		panic(err) // the flag does not exist
	}
	return cmd
}

// plan is what one specification puts on disk.
type plan struct {
	source  *cli.Source
	dir     string
	targets []*target
	stale   []string
}

func (c *tool) gen(paths []string, f genFlags) error {
	if err := f.validate(paths); err != nil {
		return err
	}
	sources, err := c.LoadAll(paths)
	if err != nil {
		return err
	}
	if cli.AnyErrors(sources) {
		return c.genFailed(sources, f)
	}
	var plans []*plan
	for _, s := range sources {
		p, err := c.plan(s, f)
		if err != nil {
			return err
		}
		plans = append(plans, p)
	}
	if cli.AnyErrors(sources) { // findings of the generator
		return c.genFailed(sources, f)
	}
	if err := overlaps(plans); err != nil {
		return err
	}
	pure := slices.Equal(f.layers, []string{string(spec.LayerPure)})
	if !f.asJSON {
		c.RenderAll(c.Err, sources, spec.Warning)
	}
	for _, s := range sources {
		if pure && f.asJSON {
			s.Found = append(s.Found, validate.NeedsStore(s.Machine)...)
		} else if pure {
			c.leftOut(s)
		}
	}
	return c.put(plans, putOptions{check: f.check, asJSON: f.asJSON, tell: !f.check && !f.watch})
}

func (c *tool) genFailed(sources []*cli.Source, f genFlags) error {
	if f.asJSON {
		if err := c.PrintJSON(cli.NewReport(sources, nil)); err != nil {
			return err
		}
	} else {
		c.RenderAll(c.Err, sources, spec.Warning)
		c.Errorf("nothing was written\n")
	}
	return cli.ErrFindings
}

// leftOut says what a package without a store is without.
func (c *tool) leftOut(s *cli.Source) {
	for _, d := range validate.NeedsStore(s.Machine) {
		fmt.Fprintf(c.Err, "%s:%s: %s\n", s.Name, d.Pos, d.Message)
	}
}

var packageName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func (f *genFlags) validate(paths []string) error {
	if err := cli.Allowed("--enforce", f.enforce, "none", "checks", "full"); err != nil {
		return err
	}
	for _, name := range f.testStore {
		if err := cli.Allowed("--test-store", name, "sqlite", "postgres"); err != nil {
			return err
		}
	}
	for _, name := range f.layers {
		if err := cli.Allowed("--layers", name, "pure", "durable", "handles"); err != nil {
			return err
		}
	}
	if slices.Contains(f.layers, "handles") && !slices.Contains(f.layers, "durable") {
		return cli.Usagef("--layers: handles are over the durable layer; write durable,handles")
	}
	for _, p := range paths {
		if p == "-" && f.out == "" {
			return cli.Usagef("the standard input has no folder to write beside; name one with -o")
		}
	}
	switch {
	case len(paths) > 1 && f.out != "":
		return cli.Usagef("-o names the folder of one package, but there are %d specifications", len(paths))
	case len(paths) > 1 && f.beside != "":
		return cli.Usagef("--beside names the version before one specification, but there are %d", len(paths))
	case len(paths) > 1 && f.pkg != "":
		return cli.Usagef("--package names one package, but there are %d specifications", len(paths))
	case f.pkg != "" && (!packageName.MatchString(f.pkg) || token.IsKeyword(f.pkg) || f.pkg == "main"):
		return cli.Usagef("--package is %q; a package name is lower case, no keyword and not main", f.pkg)
	}
	return nil
}

// plan generates the files of one specification in memory and finds their
// places. Findings of the generator are added to those of the source.
func (c *tool) plan(s *cli.Source, f genFlags) (*plan, error) {
	beside, err := c.beside(s, f.beside)
	if err != nil {
		return nil, err
	}
	var layers []spec.Layer
	for _, name := range f.layers {
		layers = append(layers, spec.Layer(name))
	}
	p := &plan{source: s, dir: f.out}
	name := s.Machine.Name
	if f.pkg != "" {
		name = f.pkg
	}
	if p.dir == "" {
		p.dir = filepath.Join(filepath.Dir(s.Path), name)
	}
	c.Current = s.Name
	files, err := c.generate(s.Machine, gen.Options{
		Package:   f.pkg,
		Spec:      seenFrom(p.dir, s.Path),
		Enforce:   f.enforce,
		Beside:    beside,
		TestStore: strings.Join(f.testStore, ","),
		Layers:    layers,

		EngineTests: f.engine,
	})
	var found spec.Diagnostics
	if errors.As(err, &found) {
		s.Found = append(s.Found, found...)
		s.Found.Sort()
		return nil, nil
	}
	if err != nil {
		return nil, cli.Internal(fmt.Errorf("generate %s: %w", s.Name, err))
	}
	for _, file := range files {
		if file.Name != filepath.Base(file.Name) || !isGenerated(file.Name, file.Data) {
			return nil, cli.Internal(fmt.Errorf("generate %s: the file %q has no header or is in another folder", s.Name, file.Name))
		}
		p.targets = append(p.targets, &target{path: filepath.Join(p.dir, file.Name), data: file.Data})
	}
	if p.stale, err = staleFiles(p.dir, s.Machine.Name, p.targets); err != nil {
		return nil, cli.Usagef("cannot read the folder of the package: %w", err)
	}
	return p, samePackage(p, name)
}

// seenFrom names a file as it lies to a folder; empty for the standard input, and for a
// file so far away that it need not lie there elsewhere, too.
func seenFrom(dir, path string) string {
	const farthest = 4 // folders up
	from, err := filepath.Abs(dir)
	to, failed := filepath.Abs(path)
	if path == "-" || err != nil || failed != nil {
		return ""
	}
	rel, err := filepath.Rel(from, to)
	if err != nil || strings.Count(rel, "..") > farthest {
		return ""
	}
	return filepath.ToSlash(rel)
}

// beside loads the version that --beside names and refuses it unless both can be
// open at once.
func (c *tool) beside(next *cli.Source, name string) ([]gen.SpecID, error) {
	if name == "" {
		return nil, nil
	}
	var old *cli.Source
	var err error
	if strings.HasPrefix(name, "git:") {
		old, err = c.FromGit("--beside", name, next.Path)
	} else {
		old, err = c.Load(name)
	}
	switch {
	case err != nil:
		return nil, err
	case old.Machine == nil:
		c.RenderAll(c.Err, []*cli.Source{old}, spec.Error)
		return nil, cli.Usagef("%s has errors; fix them first", old.Name)
	case old.Machine.Name != next.Machine.Name:
		return nil, cli.Usagef("%s is machine %s, not %s", old.Name, old.Machine.Name, next.Machine.Name)
	case old.Machine.Hash == next.Machine.Hash:
		return nil, nil
	}
	if why := migration.Beside(old.Machine, next.Machine); len(why) > 0 {
		return nil, cli.Usagef("%s cannot be open beside %s, so stop its programs before the migration and leave --beside out:\n  %s",
			old.Name, next.Name, strings.Join(why, "\n  "))
	}
	return []gen.SpecID{{Version: old.Machine.Version, Hash: old.Machine.Hash}}, nil
}

// samePackage refuses to mix the package name with another one in its folder.
func samePackage(p *plan, name string) error {
	entries, err := os.ReadDir(p.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return cli.Usagef("cannot read the folder of the package: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(p.dir, e.Name())
		if filepath.Ext(path) != ".go" || !e.Type().IsRegular() || p.produces(path) {
			continue
		}
		// A file that does not parse is the Go compiler's to report.
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly)
		if err != nil {
			continue
		}
		other := file.Name.Name
		if other == name || (strings.HasSuffix(path, "_test.go") && other == name+"_test") || other == "documentation" {
			continue
		}
		return cli.Usagef("%s is of package %s, but the generated package is %s; use another folder (-o) or --package %s",
			cli.Shown(path), other, name, strings.TrimSuffix(other, "_test"))
	}
	return nil
}

func (p *plan) produces(path string) bool {
	for _, t := range p.targets {
		if t.path == path {
			return true
		}
	}
	for _, s := range p.stale {
		if s == path {
			return true
		}
	}
	return false
}

// overlaps refuses two specifications that would write into one folder.
func overlaps(plans []*plan) error {
	owner := make(map[string]string)
	for _, p := range plans {
		dir := filepath.Clean(p.dir)
		if other, ok := owner[dir]; ok {
			return cli.Usagef("%s and %s both belong in the folder %s; generate one of them elsewhere with -o",
				other, p.source.Name, cli.Shown(dir))
		}
		owner[dir] = p.source.Name
	}
	return nil
}
