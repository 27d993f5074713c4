// Program protocol takes two ends of a TCP connection through their life: they open it, both close it at the same
// time, and one of them is called when it must not be. It shows a package of the pure layer alone: values and methods.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/fsmgen/fsmgen/examples/protocol/tcp"
)

// step is what happens at one of the two ends.
type step struct {
	end string
	do  func(*tcp.Connection) (tcp.Event, error)
}

var story = []step{
	{"server", (*tcp.Connection).PassiveOpen},
	{"client", (*tcp.Connection).ActiveOpen},
	{"server", (*tcp.Connection).ReceiveSyn},
	{"client", (*tcp.Connection).ReceiveSynAck},
	{"server", (*tcp.Connection).ReceiveAck},
	{"client", (*tcp.Connection).Close},
	{"server", (*tcp.Connection).Close},
	{"client", (*tcp.Connection).Close}, // once more: refused
	{"client", (*tcp.Connection).ReceiveFin},
	{"server", (*tcp.Connection).ReceiveFin},
	{"client", (*tcp.Connection).ReceiveAck},
	{"server", (*tcp.Connection).ReceiveAck},
	{"client", (*tcp.Connection).TimeOut},
	{"server", (*tcp.Connection).TimeOut},
}

func main() {
	if err := tell(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "protocol:", err)
		os.Exit(1)
	}
}

// tell plays the story, and prints what comes of each step.
func tell(w io.Writer) error {
	ends := map[string]*tcp.Connection{}
	for _, name := range []string{"client", "server"} {
		c, _, err := tcp.New()
		if err != nil {
			return err
		}
		ends[name] = &c
	}
	for _, s := range story {
		e, err := s.do(ends[s.end])
		switch {
		case errors.Is(err, tcp.ErrWrongState): // the connection is as it was
			fmt.Fprintf(w, "%s  refused: %v\n", s.end, err)
		case err != nil:
			return err
		default:
			fmt.Fprintf(w, "%s  %-15s %s -> %s\n", s.end, e.Name, e.From, e.To)
		}
	}
	for name, c := range ends {
		if c.State != tcp.StateClosed {
			return fmt.Errorf("the %s ends as %s", name, c.State)
		}
	}
	return nil
}
