// Command portable type-checks this tree, its tests included, for every platform
// that we support, in one process and from source.
//
// It finds what a build for a platform would find in our code: a file that is
// missing there, a name of another operating system, a number that does not fit. It
// compiles nothing, so that six platforms take less time than one build: of what we depend
// on it reads the declarations and leaves out the bodies of functions.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

var (
	systems    = []string{"linux", "darwin", "windows"}
	processors = []string{"amd64", "arm64"}
)

func main() {
	only := flag.String("only", "", "one platform, such as windows/arm64")
	flag.Parse()
	modules := flag.Args()
	if len(modules) == 0 {
		modules = []string{"."}
	}
	wrong, platforms := 0, 0
	for _, system := range systems {
		for _, processor := range processors {
			platform := system + "/" + processor
			if *only != "" && *only != platform {
				continue
			}
			platforms++
			for _, dir := range modules {
				found, err := check(dir, system, processor)
				if err != nil {
					fmt.Fprintf(os.Stderr, "%s: %s: %v\n", platform, dir, err)
					os.Exit(2)
				}
				for _, message := range found {
					fmt.Fprintf(os.Stdout, "%s: %s\n", platform, message)
				}
				wrong += len(found)
			}
		}
	}
	if platforms == 0 {
		fmt.Fprintf(os.Stderr, "-only %s: expected one of %v with one of %v, such as windows/arm64\n", *only, systems, processors)
		os.Exit(2)
	}
	if wrong > 0 {
		os.Exit(1)
	}
	fmt.Fprintf(os.Stdout, "%d modules type-check, with their tests, on %d platforms\n", len(modules), platforms)
}

// check returns what is wrong with the packages of a module on a platform.
func check(dir, system, processor string) ([]string, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	list, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedModule,
		Dir:   root,
		Tests: true,
		Env:   append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0", "GOWORK=off"),
		ParseFile: func(set *token.FileSet, name string, src []byte) (*ast.File, error) {
			file, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
			if file != nil && !within(root, name) {
				headers(file)
			}
			return file, err
		},
	}, "./...")
	if err != nil {
		return nil, err
	}
	var wrong []string
	seen := map[string]bool{}
	for _, p := range list {
		if strings.HasSuffix(p.ID, ".test") {
			continue // the program around the tests, which Go writes
		}
		for _, e := range p.Errors {
			if message := e.Error(); !seen[message] { // a package comes again with its tests
				seen[message] = true
				wrong = append(wrong, message)
			}
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no packages in %s", root)
	}
	return wrong, nil
}

func within(root, name string) bool {
	return strings.HasPrefix(name, root+string(filepath.Separator))
}

// headers leaves out the bodies of functions.
func headers(file *ast.File) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			f.Body = nil
		}
	}
}
