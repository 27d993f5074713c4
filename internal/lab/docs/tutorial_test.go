package docs

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/outside"
)

// TestTutorial does in an empty folder what docs/tutorial.md says, block by block.
//
//	sh             runs
//	sh service     needs a browser: only that the command exists
//	go FILE        is written into FILE
//	yaml head      stands behind `entity` in job.yaml
//	yaml SECTION   an entry of job.yaml, in the place of the one with its name or at the end of the section
func TestTutorial(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module of its own")
	}
	needShell(t)
	t.Parallel()
	w := &walk{page: page{t: t}, module: outside.Empty(t)}
	w.blocks("tutorial.md", w.step, func(text string) string { return unlike.ReplaceAllString(text, "?") })
}

// unlike matches what no two runs print alike: times, ids, and the word of a shell that a process was killed.
var unlike = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ][0-9:.]+Z|[0-9a-f]{8}-[0-9a-f-]{27}|\t(?:[0-9.]+s|\(cached\))|(?m:^.*Killed.*\n)`)

// walk is the tutorial under test.
type walk struct {
	page
	module outside.Module
}

func (w *walk) step(kind, arg, body string) *string {
	switch kind + " " + arg {
	case "sh ":
		out := w.shell(body)
		return &out
	case "go main.go":
		w.module.Write(arg, []byte(body))
	case "yaml head", "yaml states", "yaml operations":
		w.edit(arg, body)
	default:
		return w.check(kind, arg, body)
	}
	return nil
}

// shell runs a block. What asks registries is a line of its own, and the clone is the folder of this module.
func (w *walk) shell(body string) (printed string) {
	var rest strings.Builder
	flush := func() {
		if rest.Len() > 0 {
			printed += w.sh(rest.String())
			rest.Reset()
		}
	}
	for line := range strings.Lines(body) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "mkdir ") || strings.HasPrefix(line, "cd "): // the folder of the module is it
		case strings.HasPrefix(line, "git clone ") || strings.HasPrefix(line, "go tool fsmgen serve "): // a network, a browser
		case strings.HasPrefix(line, "go mod init ") || strings.HasPrefix(line, "go mod edit "):
			flush()
			for i := range words {
				words[i] = strings.ReplaceAll(words[i], "=../fsmgen", "="+outside.Root(w.t)) // a folder with blanks is one word
			}
			w.module.Run(words[0], words[1:]...)
			w.module.Sums()
		case line == "go mod tidy\n":
			flush()
			w.module.Tidy()
		default:
			rest.WriteString(line)
		}
	}
	flush()
	return printed
}

// sh runs lines in a shell; as outside.Fast says, nobody measures what they build.
func (w *walk) sh(lines string) string {
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := w.module.Command("sh", "-c", lines)
	cmd.Env = append(cmd.Env, "NO_COLOR=1", "GOFLAGS=-mod=mod '"+strings.Join(outside.Fast, "' '")+"'")
	stop := context.AfterFunc(ctx, func() { _ = cmd.Cancel() })
	defer stop()
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState.ExitCode() != 1 { // 1: something was found
		w.t.Fatalf("%s\n%v\n%s", lines, err, out)
	}
	return string(out)
}

// edit changes job.yaml as a reader does.
func (w *walk) edit(section, entry string) {
	file := filepath.Join(w.module.Dir, "job.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	text := string(data)
	begin, end := "entity:", `\n`
	if section != "head" {
		name, _, _ := strings.Cut(entry, "\n")
		old := regexp.MustCompile(`(?m)^` + name + `\n(?:   .*\n)*`)
		if at := old.FindStringIndex(text); at != nil {
			w.module.Write("job.yaml", []byte(text[:at[0]]+entry+text[at[1]:]))
			return
		}
		begin, end = section+":", `(?:\n+ .*)*\n`
	}
	at := regexp.MustCompile(`(?m)^` + begin + `.*` + end).FindStringIndex(text)
	if at == nil {
		w.t.Fatalf("job.yaml has no %s", begin)
	}
	w.module.Write("job.yaml", []byte(text[:at[1]]+entry+text[at[1]:]))
}
