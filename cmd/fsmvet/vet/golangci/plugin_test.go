package golangci

import (
	"strings"
	"testing"

	"github.com/golangci/plugin-module-register/register"

	"github.com/fsmgen/fsmgen/cmd/fsmvet/vet"
)

func TestPlugin(t *testing.T) {
	newLinter, err := register.GetPlugin("fsmvet")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		settings any
		runs     int
		problem  string
	}{
		{nil, len(vet.Analyzers), ""},
		{map[string]any{"disable": []any{"fsmstale"}}, len(vet.Analyzers) - 1, ""},
		{map[string]any{"tables": []any{"jobs", "orders"}, "strict": true}, len(vet.Analyzers), ""},
		{map[string]any{"disable": []any{"stale"}}, 0, "there is no analyzer stale; expected one of fsmeffect, "},
		{map[string]any{"enable": []any{}}, 0, "unknown field"},
	} {
		l, err := newLinter(c.settings)
		if c.problem != "" {
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%v: %v, want %s", c.settings, err, c.problem)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v: %v", c.settings, err)
			continue
		}
		if list, err := l.BuildAnalyzers(); err != nil || len(list) != c.runs || l.GetLoadMode() != register.LoadModeTypesInfo {
			t.Errorf("%v: %d analyzers, %v", c.settings, len(list), err)
		}
		if m, ok := c.settings.(map[string]any); ok && m["strict"] == true {
			tables, isEnough := vet.SQL.Flags.Lookup("tables").Value.String(), vet.Switch.Flags.Lookup("default-signifies-exhaustive").Value.String()
			if tables != "jobs,orders" || isEnough != "false" {
				t.Errorf("the flags are %q and %q", tables, isEnough)
			}
		}
	}
}
