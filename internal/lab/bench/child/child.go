// Package child is one process of a measurement: it is told what to do by lines on its
// standard input and answers each with a line of JSON. It imports the standard library
// alone, so that a program over another version of this repository can hold a copy of it.
package child

import (
	"bufio"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// Sources are the files of this package, for a copy.
//
//go:embed child.go processor_unix.go processor_other.go
var Sources embed.FS

// Config says what a process is.
type Config struct {
	Side      string // whose code it runs
	Machine   string
	Database  string // postgres or sqlite
	Address   string // of the database
	Name      string // of the process: its ids begin with it
	Processes int    // of the side
	Callers   int    // of each
}

// Answer is what a command came to.
type Answer struct {
	N         int           // steps, or what was counted
	Each      []int         // steps of each caller
	Processor time.Duration // of this process: while a turn went on, or since its start
	At        int64         // when something began; nanoseconds since 1970
	Error     string
}

// Command does what a line asks for; the argument is what stands behind its first word.
type Command func(argument string) (Answer, error)

// Serve says that it is ready, and answers commands until the input ends.
func Serve(commands map[string]Command) error {
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(Answer{}); err != nil {
		return err
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		word, argument, _ := strings.Cut(strings.TrimSpace(line), " ")
		command := commands[word]
		if command == nil {
			return fmt.Errorf("there is no command %q", word)
		}
		a, err := command(argument)
		if err != nil {
			a.Error = err.Error()
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
}

// Callers are the commands of a load: `turn 300ms` lets each caller repeat its step for
// that long. A step that has begun is finished.
func Callers(steps []func() error) map[string]Command {
	return map[string]Command{"turn": func(argument string) (Answer, error) {
		length, err := time.ParseDuration(argument)
		if err != nil {
			return Answer{}, err
		}
		a := Answer{Each: make([]int, len(steps))}
		failed := make([]error, len(steps))
		var all sync.WaitGroup
		before, begun := Processor(), time.Now()
		for i, step := range steps {
			all.Go(func() {
				for failed[i] == nil && time.Since(begun) < length {
					if failed[i] = step(); failed[i] == nil {
						a.Each[i]++
					}
				}
			})
		}
		all.Wait()
		a.Processor = Processor() - before
		for _, n := range a.Each {
			a.N += n
		}
		return a, errors.Join(failed...)
	}}
}
