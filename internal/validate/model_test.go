package validate_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/model"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// What the model checker finds may be allowed. Who does not ask it is told nothing of that;
// where it met no bound, it says what is allowed in vain.
func TestAllowWhatTheModelFinds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ code, bad, mark string }{
		{"FSM803", string(read(t, "testdata/FSM803/bad.yaml")), ""},
		{"FSM804", string(read(t, "testdata/FSM804/bad.yaml")), ""},
		{"FSM803", string(read(t, "testdata/FSM803/ok.yaml")), "FSM607"},
		{"FSM804", string(read(t, "testdata/FSM804/ok.yaml")), "FSM607"},
		{"FSM803", string(read(t, "testdata/FSM802/ok.yaml")), ""},
	} {
		src := strings.Replace(tt.bad, "entity:", "allow: {"+tt.code+": it is meant}\nentity:", 1)
		if tt.mark == "" && tt.code == "FSM803" && strings.Contains(src, "turnstile") {
			src = strings.Replace(src, "rounds < 3", "rounds < 50", 1) // a bound is met
		}
		m, found := validate.Source("a.yaml", []byte(src))
		if m == nil || len(findingsOnly(found)) > 0 {
			t.Errorf("%s without the model:\n%s", tt.code, render(found))
			continue
		}
		_, found = validate.Model(m, model.Options{}, nil)
		var codes []string
		for _, d := range findingsOnly(found) {
			codes = append(codes, d.Code)
		}
		if want := strings.Fields(tt.mark); !slices.Equal(codes, want) {
			t.Errorf("%s with the model: %q, want %q\n%s", tt.code, codes, want, render(found))
		}
	}
	src := strings.Replace(string(read(t, "testdata/FSM803/ok.yaml")), "entity:", "allow: {FSM803: }\nentity:", 1)
	_, found := validate.Source("a.yaml", []byte(src))
	if !slices.ContainsFunc(found, func(d spec.Diagnostic) bool { return d.Code == "FSM027" }) {
		t.Errorf("no reason is needed:\n%s", render(found))
	}
}

// The machines of the repository do what they say, as far as the search sees all of it.
func TestModelSparesWhatIsMeant(t *testing.T) {
	t.Parallel()
	looked := 0
	var files []string
	for _, dir := range []string{"../../specs", "../../examples/machines", "testdata/people"} {
		list, err := filepath.Glob(dir + "/*.yaml")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, list...)
	}
	for _, file := range files {
		m, found := validate.Source(file, read(t, file))
		if m == nil || found.HasErrors() {
			continue
		}
		looked++
		_, found = validate.Model(m, model.Options{MaxStates: 20_000}, nil)
		if found = findingsOnly(found); len(found) > 0 {
			t.Errorf("%s:\n%s", file, render(found))
		}
	}
	if looked < 30 {
		t.Errorf("%d machines", looked)
	}
}
