package model

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// Told is one step of a session that somebody stepped through, with what it led to.
type Told struct {
	Call  interp.Call       // without Op: all effects that wait are delivered, at Call.At
	Gave  string            // of deliveries: the effect that gives up, and its error, as in "charge: no answer"
	Left  string            // why the step cannot be told in Go; empty: it can
	Leads string            // "accepted", "recorded", "replayed", "existing", "delivered", or the code of the refusal
	Guard string            // with the code "guard"
	Is    map[string]string // by record: "state@revision" after it, the state in its stored word
}

// Format writes Go code as gofmt does: it is [go/format.Source]. Who makes no tests does not link it.
type Format func(src []byte) ([]byte, error)

// SessionTest writes a session as a test file of the generated package. It stands
// beside the generated tests, whose driver it uses, and fails as soon as the
// package does something else than it did.
func SessionTest(m *spec.Machine, steps []Told, format Format) ([]byte, error) {
	if !slices.ContainsFunc(steps, func(s Told) bool { return s.Left == "" }) {
		return nil, errors.New("the session has no step that can be told in Go; take one first")
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "package %s\n\nimport (\n\t\"testing\"\n\t\"time\"\n\n\t\"%s/fsmcases\"\n)\n\n", m.Name, runtimePath)
	b.WriteString("// TestSession takes the steps of a session of `fsmgen serve`. It fails as soon as\n// one of them leads elsewhere.\nfunc TestSession(t *testing.T) {\n")
	b.WriteString("at := func(text string) time.Time {\nt.Helper()\nv, err := time.Parse(time.RFC3339Nano, text)\nif err != nil {\nt.Fatal(err)\n}\nreturn v\n}\n")
	b.WriteString("fsmcases.Retell(t, testPackage, fsmcases.Story{\nEnds: fsmcases.EndsAsTold,\nSteps: []fsmcases.StoryStep{\n")
	at := func(t time.Time) string { return fmt.Sprintf("at(%q)", t.UTC().Format(time.RFC3339Nano)) }
	for i, s := range steps {
		c := s.Call
		switch {
		case s.Left != "":
			fmt.Fprintf(&b, "// Step %d is left out: %s.\n", i+1, strings.Join(strings.Fields(s.Left), " "))
			continue
		case c.Op == nil:
			fmt.Fprintf(&b, "{At: %s", at(c.At))
			if s.Gave != "" {
				fmt.Fprintf(&b, ", GivesUp: %q", s.Gave)
			}
		default:
			writeStep(&b, c.ID, c.RequestID, c, at)
			if c.ExpectedRev != 0 {
				fmt.Fprintf(&b, ", Rev: %d", c.ExpectedRev)
			}
		}
		fmt.Fprintf(&b, ", Leads: %q", s.Leads)
		if s.Guard != "" {
			fmt.Fprintf(&b, ", Guard: %q", s.Guard)
		}
		if len(s.Is) > 0 {
			b.WriteString(", Is: map[string]string{")
			for _, id := range slices.Sorted(maps.Keys(s.Is)) {
				fmt.Fprintf(&b, "%q: %q, ", id, s.Is[id])
			}
			b.Truncate(b.Len() - 2)
			b.WriteString("}")
		}
		b.WriteString("},\n")
	}
	b.WriteString("},\n})\n}\n")
	text, err := format(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("the test is no Go: %w", err)
	}
	return text, nil
}
