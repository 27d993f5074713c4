package devices

import (
	"time"

	"github.com/fsmgen/fsmgen/examples/protocol/tcp"
)

// tcpWork is a connection; it has no effects.
type tcpWork struct{ tcp.Connection }

func generatedTCP(time.Time, func(string)) Device {
	c, _, err := tcp.New()
	if err != nil {
		panic(err)
	}
	return &tcpWork{c}
}

func (w *tcpWork) State() string { return w.Connection.State.String() }

func (w *tcpWork) Do(op string, _ any, _ time.Time) error {
	_, err := w.Connection.Do(op)
	return err
}
