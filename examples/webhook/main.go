// Command webhook tells an HTTP endpoint of somebody else what has happened, and
// is such an endpoint: a sender and a receiver that may both be killed with
// kill -9 at any moment (notice.yaml).
//
//	webhook receive -db inbox.db -listen 127.0.0.1:8080
//	webhook send -db notices.db -to http://127.0.0.1:8080/notices -publish 100
//
// # What is promised
//
// A notice is published by one transaction, which writes its record, its event
// and a row of the outbox. The sender drains the outbox: it posts each notice and
// notes what was taken, in that order. So an acknowledged notice is delivered at
// least once, and more than once when the sender dies before it has noted the
// answer, when the answer is lost or when it comes too late. Every try carries the
// same Idempotency-Key, made of topic and number. The receiver writes what it
// does and what it answers under that key in one transaction, before it answers;
// a key that it knows gets the first answer again. Together: exactly once.
//
// No order is promised. A notice that fails waits while younger ones go, and
// several are under way at a time. The numbers of a topic begin at 1 and have no
// gap, so the receiver can tell what is missing, and what is older than what it
// has: it takes such a notice too, and keeps the newest as what is so.
//
// # What fails
//
// A try ends after -timeout. Only an answer of 2xx is a success; redirects are
// not followed. After a failure a notice waits: -backoff, then twice as long each
// time, up to -longest. It holds back no other, and every failure is told. There
// is no greatest number of tries: a notice that is not taken within an hour
// becomes a dead letter, by the sweeper, and is not sent any more. Whether the
// endpoint has taken it is not known then. `webhook send -retry REASON` sends the
// dead letters again, under the same keys, so that one which had arrived after
// all gets its first answer and is not taken twice.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "webhook:", err)
		os.Exit(1)
	}
}

// run runs one of the two programs until it is done, or ctx ends.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("expected `webhook send` or `webhook receive`; -h after either lists its flags")
	}
	switch args[0] {
	case "send":
		c, err := sendFlags(args[1:])
		if err != nil {
			return err
		}
		return send(ctx, c, newPoster(c), out)
	case "receive":
		c, err := receiveFlags(args[1:])
		if err != nil {
			return err
		}
		return receive(ctx, c, nil, out)
	}
	return fmt.Errorf("there is no %q; expected send or receive", args[0])
}

func sendFlags(args []string) (sendConfig, error) {
	var c sendConfig
	f := flag.NewFlagSet("send", flag.ContinueOnError)
	f.StringVar(&c.db, "db", "notices.db", "SQLite file that keeps the notices")
	f.StringVar(&c.to, "to", "http://127.0.0.1:8080/notices", "the endpoint")
	f.IntVar(&c.publish, "publish", 0, "number of notices to publish")
	f.StringVar(&c.name, "name", "n", "name of what is published: what has been published under it already is not published again")
	f.IntVar(&c.topics, "topics", 8, "number of topics that they are about")
	f.DurationVar(&c.pause, "pause", 0, "pause between two of them")
	f.IntVar(&c.workers, "workers", 4, "how many are sent at a time")
	f.DurationVar(&c.timeout, "timeout", 10*time.Second, "how long an answer is waited for")
	f.DurationVar(&c.backoff, "backoff", time.Second, "the wait after a failure; it doubles with each")
	f.DurationVar(&c.longest, "longest", 5*time.Minute, "the longest wait")
	f.BoolVar(&c.stay, "stay", false, "go on when all is delivered")
	f.BoolVar(&c.acks, "acks", false, "print a line for each notice whose publication was acknowledged")
	f.StringVar(&c.retry, "retry", "", "send the dead letters again, for this reason")
	f.StringVar(&c.operator, "operator", os.Getenv("USER"), "who does that")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	switch {
	case f.NArg() > 0:
		return c, fmt.Errorf("send: %q is no flag", f.Arg(0))
	case c.topics < 1 || c.workers < 1:
		return c, errors.New("send: expected at least one topic and one worker")
	case c.timeout <= 0 || c.backoff <= 0 || c.longest < c.backoff:
		return c, errors.New("send: expected a -timeout, a -backoff and a -longest that is not below it")
	}
	return c, nil
}

func receiveFlags(args []string) (receiveConfig, error) {
	var c receiveConfig
	f := flag.NewFlagSet("receive", flag.ContinueOnError)
	f.StringVar(&c.db, "db", "inbox.db", "SQLite file that keeps what came")
	f.StringVar(&c.listen, "listen", "127.0.0.1:8080", "address to listen on")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	if f.NArg() > 0 {
		return c, fmt.Errorf("receive: %q is no flag", f.Arg(0))
	}
	return c, nil
}
