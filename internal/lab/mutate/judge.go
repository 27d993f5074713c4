package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// judge is a test binary that is run once for each mutant.
type judge struct {
	name   string // of the suite, for the report
	dir    string // the package of the tests
	run    string // a pattern, empty: all tests
	flags  []string
	binary string
	took   time.Duration // without a mutant
	limit  time.Duration // of one run
}

// overlay maps files of the tree to the files that the compiler takes instead.
type overlay map[string]string

// put writes a file that stands for another one.
func (o overlay) put(scratch, path, content string) error {
	name := filepath.Join(scratch, strconv.Itoa(len(o))+"_"+filepath.Base(path))
	o[path] = name
	return os.WriteFile(name, []byte(content), 0o600)
}

// build compiles the tests of a package with the overlay, and runs them once
// without a mutant: they must pass, and the time they take sets the limit of
// one run.
func (j *judge) build(root, scratch string, o overlay) error {
	config, err := json.Marshal(map[string]any{"Replace": o})
	if err != nil {
		return err
	}
	path := filepath.Join(scratch, "overlay.json")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		return err
	}
	j.binary = filepath.Join(scratch, strings.NewReplacer("/", "_", ".", "").Replace(j.name)+".test")
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay", path, "-o", j.binary, j.dir)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compile the tests of %s: %w\n%s", j.dir, err, out)
	}
	return j.prove(root)
}

// prove runs the tests without a mutant.
func (j *judge) prove(root string) error {
	j.limit = 5 * time.Minute
	start := time.Now()
	if killed, out := j.kills(root, nil); killed {
		return fmt.Errorf("%s: the tests fail without a mutant:\n%s", j.name, out)
	}
	j.took = time.Since(start)
	j.limit = 20*time.Second + 10*j.took
	return nil
}

// kills runs the tests with an environment that selects a mutant, and reports
// whether they fail. A run that does not end is a failure.
func (j *judge) kills(root string, env []string) (bool, string) {
	ctx, cancel := context.WithTimeout(context.Background(), j.limit)
	defer cancel()
	temp, err := os.MkdirTemp("", "fsmgen-mutant-")
	if err != nil {
		return false, err.Error()
	}
	defer os.RemoveAll(temp)
	if err := os.Chmod(temp, 0o711); err != nil { // a test may start a server under another user
		return false, err.Error()
	}
	args := []string{"-test.failfast", "-test.count=1", "-test.timeout=" + j.limit.String()}
	if j.run != "" {
		args = append(args, "-test.run", j.run)
	}
	args = append(args, j.flags...)
	cmd := exec.CommandContext(ctx, j.binary, args...)
	cmd.Dir = filepath.Join(root, j.dir)
	cmd.Env = append(append(os.Environ(), "TMPDIR="+temp), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return err != nil, out.String()
}

// verdict is what became of one mutant.
type verdict struct {
	killer string // the suite that failed; empty: it survived
	how    string // the first failing line
}

// work judges every mutant, some of them at the same time. The judges are asked
// in their order; the first one that kills is the killer.
func work(root string, parallel int, count int, env func(i int) []string, judges func(i int) []*judge, done func(i int, v verdict)) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	next := make(chan int)
	for range parallel {
		wg.Go(func() {
			for i := range next {
				var v verdict
				for _, j := range judges(i) {
					if killed, out := j.kills(root, env(i)); killed {
						v = verdict{killer: j.name, how: firstFailure(out)}
						break
					}
				}
				mu.Lock()
				done(i, v)
				mu.Unlock()
			}
		})
	}
	for i := range count {
		next <- i
	}
	close(next)
	wg.Wait()
}

var failing = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// firstFailure names the innermost test that failed.
func firstFailure(out string) string {
	all := failing.FindAllStringSubmatch(out, -1)
	deepest := ""
	for _, m := range all {
		if strings.Count(m[1], "/") > strings.Count(deepest, "/") || deepest == "" {
			deepest = m[1]
		}
	}
	switch {
	case deepest != "":
		return deepest
	case strings.Contains(out, "panic:"):
		return "panic"
	}
	return "stopped"
}

// errNoRoot says that the tool was started elsewhere.
var errNoRoot = errors.New("no go.mod here or above; run the tool within the module")

// moduleRoot returns the folder of the module.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errNoRoot
		}
		dir = up
	}
}
