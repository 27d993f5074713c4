package docs

import (
	"flag"
	"regexp"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/outside"
)

var update = flag.Bool("update", false, "write the generated blocks of documents")

const root = "../../.."

// fence matches one block of a Markdown file: its info string and its body.
var fence = regexp.MustCompile("(?ms)^```([a-z ]*)\n(.*?)^```$")

// block returns the body of the first block with that info string.
func block(t *testing.T, doc, info string) string {
	t.Helper()
	for _, body := range blocks(doc, info) {
		return body
	}
	t.Fatalf("there is no block %q", info)
	return ""
}

// blocks returns the bodies of all blocks with that info string.
func blocks(doc, info string) (bodies []string) {
	for _, m := range fence.FindAllStringSubmatch(doc, -1) {
		if m[1] == info {
			bodies = append(bodies, m[2])
		}
	}
	return bodies
}

// TestReadme holds the pieces of the README to what tests run elsewhere: its machine and picture are those of the
// concepts, its program compiles with a recipe of the cookbook.
func TestReadme(t *testing.T) {
	t.Parallel()
	doc := read(t, "README.md")
	machine := block(t, doc, "yaml")
	if machine != block(t, strings.Replace(read(t, "docs/concepts.md"), "```yaml job.yaml", "```yaml", 1), "yaml") {
		t.Error("the machine is not that of docs/concepts.md, which tests hold to its picture")
	}
	if source := undented(read(t, "internal/lab/docs/testdata/cookbook/lease.go")); !strings.Contains(source, undented(block(t, doc, "go"))) {
		t.Error("testdata/cookbook/lease.go, which a test compiles and runs, does not hold the block of Go")
	}

	p := &page{t: t, dir: t.TempDir()}
	p.write("job.yaml", machine)
	if out, err := p.command("fsmgen fmt --check job.yaml").CombinedOutput(); err != nil {
		t.Errorf("the machine is not as fsmgen fmt writes it:\n%s", out)
	}
	damaged := strings.Replace(machine, "clear: [owner, lease]", "clear: [owner]", 1)
	p.write("job.yaml", damaged)
	out, err := p.command("fsmgen check job.yaml").CombinedOutput()
	if text := block(t, doc, "text"); err == nil || damaged == machine || !strings.HasPrefix(string(out), text) {
		t.Errorf("without `lease`, fsmgen check says\n%s, %v\nthe README says\n%s", out, err, text)
	}
}

// TestTryIt does what the README says under "Try it", and goes on with the machine that stands below.
func TestTryIt(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module of its own")
	}
	needShell(t)
	t.Parallel()
	doc := read(t, "README.md")
	w := &walk{page: page{t: t}, module: outside.Empty(t)}
	steps := w.shell(block(t, doc, "sh"))
	w.module.Write("job.yaml", []byte(block(t, doc, "yaml")))
	steps += w.shell("go tool fsmgen gen job.yaml\ngo test ./...\n")
	if n := strings.Count(steps, "ok  \texample.com/queue/job\t"); n != 2 {
		t.Errorf("the tests of package job passed %d times, want 2:\n%s", n, steps)
	}
}

// TestReadmeIsShort keeps the README to what a reader takes in within a minute.
func TestReadmeIsShort(t *testing.T) {
	t.Parallel()
	doc := read(t, "README.md")
	if n := len(strings.Fields(tag.ReplaceAllString(prose(doc), ""))); n > 500 {
		t.Errorf("%d words of prose, want at most 500", n)
	}
	for what, most := range map[string]int{"<picture>": 25, "go mod edit -tool": 40} {
		before, _, found := strings.Cut(doc, what)
		if line := strings.Count(before, "\n") + 1; !found || line > most {
			t.Errorf("%s is in line %d, want at most %d", what, line, most)
		}
	}
	for _, m := range picture.FindAllStringSubmatch(doc, -1) {
		read(t, m[1])
	}
}

var (
	tag     = regexp.MustCompile(`(?s)<[^>]*>`)
	picture = regexp.MustCompile(`src(?:set)?="([^"]+)"`)
)
