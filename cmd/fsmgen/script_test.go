package main

import (
	"bytes"
	"io"
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/fsmgen/fsmgen/internal/lab/clitest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fsmgen": main})
}

// TestScript runs testdata/script: the whole command line, as a terminal shows it.
func TestScript(t *testing.T) {
	t.Parallel()
	clitest.Run(t, "testdata/script", map[string]clitest.Command{"age": age, "young": young}, nil)
}

func TestHelp(t *testing.T) {
	t.Parallel()
	clitest.Help(t, newCLI(nil, nil, nil).rootCommand(), func(args ...string) string {
		var out bytes.Buffer
		newCLI(nil, &out, io.Discard).run(args)
		return out.String()
	})
}

// aged is a time no test writes a file at.
var aged = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)

// age sets the time of files back: age FILE...
func age(ts *testscript.TestScript, neg bool, args []string) {
	for _, f := range args {
		ts.Check(os.Chtimes(ts.MkAbs(f), aged, aged))
	}
}

// young demands that files were written since `age`, or with ! that they were
// not: [!] young FILE...
func young(ts *testscript.TestScript, neg bool, args []string) {
	for _, f := range args {
		info, err := os.Stat(ts.MkAbs(f))
		ts.Check(err)
		if written := !info.ModTime().Equal(aged); written == neg {
			ts.Fatalf("%s: written is %v", f, written)
		}
	}
}
