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
	"strconv"
	"strings"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/fsmgen/fsmgen/cmd/fsmvet/vet"
)

func init() { register.Plugin("fsmvet", New) }

// Settings are those of the linter in .golangci.yml.
type Settings struct {
	// Disable names analyzers that do not run.
	Disable []string `json:"disable"`
	// Tables names tables of machines whose packages the code does not import.
	Tables []string `json:"tables"`
	// Strict says that a default is not enough for a switch.
	Strict bool `json:"strict"`
}

// New returns the linter. It refuses settings and analyzers that there are not.
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
	if err := vet.SQL.Flags.Set("tables", strings.Join(s.Tables, ",")); err != nil {
		return nil, err
	}
	if err := vet.Switch.Flags.Set("default-signifies-exhaustive", strconv.FormatBool(!s.Strict)); err != nil {
		return nil, err
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
