// Package golangci makes a linter of golangci-lint of the analyzers of package vet, by its
// module plugin system. custom-gcl.yml beside this file builds a golangci-lint that has it,
// and golangci.yml switches it on.
//
// It is a module of its own, so that only those who build such a golangci-lint download
// what registers a plugin.
package golangci

import (
	"fmt"
	"slices"
	"strings"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/fsmgen/fsmgen/vet"
)

func init() { register.Plugin("fsmvet", New) }

// Settings are those of the linter in .golangci.yml.
type Settings struct {
	// Disable names analyzers that do not run.
	Disable []string `json:"disable"`
	// Flags are flags of analyzers: fsmsql.tables, fsmswitch.default-signifies-exhaustive.
	Flags map[string]string `json:"flags"`
}

// New returns the linter. It refuses settings, analyzers and flags that there are not.
func New(conf any) (register.LinterPlugin, error) {
	s := Settings{}
	if conf != nil {
		var err error
		if s, err = register.DecodeSettings[Settings](conf); err != nil {
			return nil, fmt.Errorf("fsmvet: %w", err)
		}
	}
	for _, name := range s.Disable {
		if find(name) == nil {
			return nil, fmt.Errorf("fsmvet: disable: there is no analyzer %s; expected one of %s", name, names())
		}
	}
	for flag, value := range s.Flags {
		name, of, _ := strings.Cut(flag, ".")
		a := find(name)
		if a == nil || a.Flags.Lookup(of) == nil {
			return nil, fmt.Errorf("fsmvet: flags: there is no %s; expected fsmsql.tables or fsmswitch.default-signifies-exhaustive", flag)
		}
		if err := a.Flags.Set(of, value); err != nil {
			return nil, fmt.Errorf("fsmvet: flags: %s: %w", flag, err)
		}
	}
	return linter{s.Disable}, nil
}

func find(name string) *analysis.Analyzer {
	for _, a := range vet.Analyzers {
		if a.Name == name {
			return a
		}
	}
	return nil
}

func names() string {
	var list []string
	for _, a := range vet.Analyzers {
		list = append(list, a.Name)
	}
	return strings.Join(list, ", ")
}

// linter is what golangci-lint runs.
type linter struct{ disabled []string }

// BuildAnalyzers returns the analyzers that are not disabled.
func (l linter) BuildAnalyzers() (list []*analysis.Analyzer, err error) {
	for _, a := range vet.Analyzers {
		if !slices.Contains(l.disabled, a.Name) {
			list = append(list, a)
		}
	}
	return list, nil
}

// GetLoadMode says that the analyzers need types.
func (linter) GetLoadMode() string { return register.LoadModeTypesInfo }
