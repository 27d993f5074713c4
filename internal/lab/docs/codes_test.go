package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// The fine print names every code of a refusal, with what its Retry says.
func TestSpecNamesEveryCode(t *testing.T) {
	source, err := os.ReadFile("../../../runtime/errors.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../spec/FINEPRINT.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Refusals\n")
	section, _, _ = strings.Cut(section, "\n## ")
	advice := map[fsm.Retry]string{fsm.NoRetry: "give up", fsm.ReadAgain: "read again", fsm.SameCall: "same call"}
	codes := regexp.MustCompile(`Err\w+ +Code = "(\w+)"`).FindAllStringSubmatch(string(source), -1)
	if len(codes) < 20 {
		t.Fatalf("runtime/errors.go has the codes %q", codes)
	}
	for _, m := range codes {
		want := advice[fsm.Code(m[1]).Retry()]
		found := false
		for line := range strings.Lines(section) {
			cells := strings.Split(line, "|")
			if len(cells) < 4 || !strings.Contains(cells[1], "`"+m[1]+"`") {
				continue
			}
			if found = true; strings.TrimSpace(cells[3]) != want {
				t.Errorf("FINEPRINT.md says %q for the code %s, its Retry says %q", strings.TrimSpace(cells[3]), m[1], want)
			}
		}
		if !found {
			t.Errorf("FINEPRINT.md, section Refusals, does not name the code %s (%s)", m[1], want)
		}
	}
}
