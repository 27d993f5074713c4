package playground_test

import (
	"errors"
	"go/format"
	"os"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/playground"
	"github.com/fsmgen/fsmgen/internal/playground/written"
	"github.com/fsmgen/fsmgen/internal/serve/answers"
)

// desk has a text on it.
func desk(t testing.TB, name string, src []byte) *playground.Desk {
	t.Helper()
	d := &playground.Desk{Format: format.Source, Write: written.Answer}
	if _, err := d.Ask("text", append([]byte(name+"\n"), src...)); err != nil {
		t.Fatal(err)
	}
	return d
}

// A question before there is a text, for what there is not, or about a text with errors is answered with an error.
func TestRefusals(t *testing.T) {
	t.Parallel()
	sound, err := os.ReadFile("../../specs/task.yaml")
	if err != nil {
		t.Fatal(err)
	}
	good := desk(t, "task.yaml", sound)
	bad := desk(t, "bad.yaml", []byte("fsm: 1\nmachine: [\n"))
	for name, c := range map[string]struct {
		desk              *playground.Desk
		question, request string
		want              string
	}{
		"no text":                {&playground.Desk{}, "machine", "", "there is no text yet"},
		"no such question":       {good, "weather", "", `nothing answers "weather"`},
		"no such format":         {good, "diagram", "gif", `the format is "gif"; write svg or one that`},
		"no such detail":         {good, "diagram", "dot vast", `the detail is "vast"; write brief`},
		"no such dialect":        {good, "sql", "dbase", "expected sqlite or postgres"},
		"no such request":        {good, "play", "{", "the request cannot be read"},
		"an older one is broken": {good, "diff", "old.yaml\nfsm: 7", "the older version has errors"},
		"a picture of errors":    {bad, "picture.svg", "", "fix them to see the picture"},
		"a diagram of errors":    {bad, "diagram", "dot", "fix them to see the picture"},
		"code of errors":         {bad, "gen", "", "the specification has errors; fix them first"},
		"no writer":              {&playground.Desk{}, "gen", "", "there is no text yet"},
	} {
		answer, err := c.desk.Ask(c.question, []byte(c.request))
		var refused *answers.Refused
		if !errors.As(err, &refused) || !strings.Contains(refused.Text, c.want) {
			t.Errorf("%s: %q, %v; want %q", name, answer, err, c.want)
		}
	}
}

// The edits that are offered are those of the command, and take the finding away.
func TestFixes(t *testing.T) {
	t.Parallel()
	d := desk(t, "job.yaml", []byte("fsm: 1\nmachine: job\nentity: Job\notherwise: rejectt\nstates:\n  open: {}\n  shut: {terminal: true}\noperations:\n  make: {creates: open}\n  close: {from: open, to: shut}\n"))
	got, err := d.Ask("fixes", nil)
	if want := `[{"finding":0,"edits":[{"line":4,"column":12,"length":7,"text":"reject"}]}]`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

// No text and no request makes a desk panic.
func FuzzDesk(f *testing.F) {
	f.Add("fsm: 1\nmachine: job\n", "machine", "")
	f.Add("", "report", "")
	f.Add("fsm: 1", "diff", "\x00")
	f.Fuzz(func(t *testing.T, src, question, request string) {
		if question == "text" || question == "check" {
			return // a search may take long
		}
		_, _ = desk(t, "x.yaml", []byte(src)).Ask(question, []byte(request))
	})
}
