// Package hand holds what the loads of package ours do, written by hand as lean as the
// same promises allow: a row that moves on from the revision that its holder has, CHECKs
// of what a state promises, one event for each move, and a request id that is used once.
// No index names what a move changes, and no trigger runs.
package hand

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/bench/child"
)

// column is a column of a machine's rows that its moves write.
type column struct{ name, kind string }

// machine is the design of one machine's table, and what a caller does with it.
type machine struct {
	fields  string // further columns, and the CHECK of the states, for PostgreSQL
	columns []column
	begin   func(name string) *row // its first record, which is to be made
	next    func(r *row) move
}

// row is a record as its caller holds it.
type row struct {
	name  string
	n     int
	id    string
	rev   int64
	state string
	moves int
}

// move is what is to be written. Without a state before, a record is made.
type move struct {
	row     *row
	op      string
	to      string
	request string
	inputs  string // as JSON
	values  []any  // of the machine's columns: string, int64, time.Time or nil
}

// done is called when the move is on the disk.
func (m move) done() {
	m.row.state = m.to
	m.row.rev++
}

func (r *row) move(op, to, inputs string, values ...any) move {
	r.moves++
	return move{row: r, op: op, to: to, request: "call " + strconv.Itoa(r.moves), inputs: inputs, values: values}
}

func instant(t time.Time) string { return t.UTC().Format(`"2006-01-02T15:04:05.999999Z"`) }

func later(d time.Duration) time.Time { return time.Now().Add(d).Truncate(time.Microsecond) }

var machines = map[string]machine{
	"lifecycle": {
		fields: `payload json, owner text, lease timestamptz, attempt bigint NOT NULL DEFAULT 1, result json, error json,
			CHECK (attempt >= 0 AND CASE state WHEN 'running' THEN owner IS NOT NULL AND lease IS NOT NULL AND result IS NULL
			AND error IS NULL AND attempt >= 1 WHEN 'succeeded' THEN result IS NOT NULL AND error IS NULL ELSE false END)`,
		columns: []column{{"owner", "text"}, {"lease", "timestamptz"}},
		begin:   func(name string) *row { return &row{name: name, id: name} },
		next: func(r *row) move {
			lease := later(time.Hour + time.Duration(r.n)*time.Second)
			r.n++
			op := "heartbeat"
			if r.rev == 0 {
				op = "enqueue"
			}
			return r.move(op, "running", `{"lease":`+instant(lease)+`}`, "w", lease)
		},
	},
	"paymentintent": {
		fields: `amount bigint NOT NULL, currency text NOT NULL DEFAULT 'eur', capture_method text NOT NULL DEFAULT 'manual',
			payment_method text DEFAULT 'card_1', capturable bigint NOT NULL, received bigint NOT NULL, capture_before
				timestamptz,
			confirmations bigint NOT NULL,
			CHECK (amount >= 1 AND received <= amount AND capturable <= amount AND CASE state
			WHEN 'requires_confirmation' THEN payment_method IS NOT NULL AND capture_before IS NULL AND capturable = 0 AND
				received = 0
			WHEN 'requires_capture' THEN payment_method IS NOT NULL AND capture_before IS NOT NULL AND capturable >= 1 AND
				received = 0
			WHEN 'succeeded' THEN payment_method IS NOT NULL AND capture_before IS NULL AND received >= 1 AND capturable = 0
			ELSE false END)`,
		columns: []column{{"amount", "bigint"}, {"capturable", "bigint"}, {"received", "bigint"}, {"capture_before",
			"timestamptz"}, {"confirmations", "bigint"}},
		begin: func(name string) *row { return &row{name: name} },
		next: func(r *row) move {
			n := r.n
			r.n++
			until := later(time.Hour)
			switch n % 4 {
			case 0:
				*r = row{name: r.name, n: r.n, id: fmt.Sprint(r.name, "-", n/4)}
				return r.move("create", "requires_confirmation", `{"amount":1000,"currency":"eur","payment_method":"card_1"}`,
					int64(1000), int64(0), int64(0), nil, int64(0))
			case 1:
				return r.move("confirm", "requires_capture", `{"outcome":"approved","capture_before":`+instant(until)+`}`,
					int64(1000), int64(1000), int64(0), until, int64(1))
			case 2:
				return r.move("increment_authorization", "requires_capture", `{"amount":1100}`, int64(1100), int64(1100),
					int64(0), until, int64(1))
			}
			return r.move("capture", "succeeded", `{"amount":1100,"at_once":true}`, int64(1100), int64(0), int64(1100), nil,
				int64(1))
		},
	},
	"taskinstance": {
		fields: `dag_id text NOT NULL DEFAULT 'd', run_id text NOT NULL DEFAULT 'r', try_number bigint NOT NULL, max_tries
			bigint NOT NULL DEFAULT 1,
			hostname text, queued_at timestamptz, heartbeat_at timestamptz, started_at timestamptz, ended_at timestamptz,
			UNIQUE (dag_id, run_id, id),
			CHECK (try_number >= 0 AND CASE state WHEN 'none' THEN ended_at IS NULL WHEN 'scheduled' THEN ended_at IS NULL
			WHEN 'queued' THEN queued_at IS NOT NULL AND ended_at IS NULL
			WHEN 'running' THEN hostname IS NOT NULL AND started_at IS NOT NULL AND heartbeat_at IS NOT NULL AND ended_at IS
				NULL AND try_number >= 1
			WHEN 'success' THEN ended_at IS NOT NULL ELSE false END)`,
		columns: []column{{"try_number", "bigint"}, {"hostname", "text"}, {"queued_at", "timestamptz"}, {"heartbeat_at",
			"timestamptz"},
			{"started_at", "timestamptz"}, {"ended_at", "timestamptz"}},
		begin: func(name string) *row { return &row{name: name, id: name} },
		next: func(r *row) move {
			n, now := r.n, later(0)
			r.n++
			if n == 0 {
				return r.move("create", "none", `{"dag_id":"d","run_id":"r"}`, int64(0), nil, nil, nil, nil, nil)
			}
			try := int64(n / 6)
			switch n % 6 {
			case 1:
				return r.move("schedule", "scheduled", `{}`, try, "w", now, now, now, nil)
			case 2:
				return r.move("queue", "queued", `{}`, try, "w", now, now, now, nil)
			case 3:
				return r.move("start", "running", `{}`, try+1, "w", now, now, now, nil)
			case 4:
				return r.move("heartbeat", "running", `{}`, try+1, "w", now, now, now, nil)
			case 5:
				return r.move("succeed", "success", `{}`, try+1, "w", now, now, now, now)
			}
			return r.move("clear", "none", `{"max_tries":1}`, try, "w", now, now, now, nil)
		},
	},
	"account": {
		fields: `owner text NOT NULL DEFAULT 'ann', currency text NOT NULL DEFAULT 'eur', balance bigint NOT NULL,
			available bigint NOT NULL,
			overdraft bigint NOT NULL DEFAULT 0, closed_at timestamptz,
			CHECK (currency IN ('eur', 'chf') AND balance >= 0 AND available >= 0 AND available <= balance AND overdraft >= 0
			AND CASE state WHEN 'opened' THEN closed_at IS NULL WHEN 'frozen' THEN closed_at IS NULL
			WHEN 'closed' THEN closed_at IS NOT NULL AND balance = 0 ELSE false END)`,
		columns: []column{{"balance", "bigint"}, {"available", "bigint"}},
		begin:   func(name string) *row { return &row{name: name, id: name} },
		next: func(r *row) move {
			n := r.n
			r.n++
			switch {
			case n == 0:
				return r.move("open_account", "opened", `{"owner":"ann","currency":"eur"}`, int64(0), int64(0))
			case n%3 == 1:
				return r.move("credit", "opened", `{"amount":100,"balance_after":100,"available_after":100}`, int64(100),
					int64(100))
			case n%3 == 2:
				return r.move("reserve", "opened", `{"amount":100,"available_after":0}`, int64(100), int64(0))
			}
			return r.move("post", "opened", `{"amount":100,"balance_after":0,"available_after":0}`, int64(0), int64(0))
		},
	},
}

// database writes moves, each of another record, all or none.
type database interface {
	write(ctx context.Context, moves []move) error
	close() error
}

// committers write batches beside each other, in each process.
const committers = 2

// Run serves as a process of callers.
func Run(ctx context.Context, c child.Config) error {
	m := machines[c.Machine]
	open, writers := openPostgres, committers
	if c.Database == "sqlite" {
		open, writers = openSQLite, 1
	}
	db, err := open(ctx, c.Address, m)
	if err != nil {
		return err
	}
	write := func(x move) error { return db.write(ctx, []move{x}) }
	if c.Callers > 1 {
		write = gather(ctx, db, writers)
	}
	steps := make([]func() error, c.Callers)
	for i := range steps {
		r := m.begin(fmt.Sprint(c.Name, "-", i))
		steps[i] = func() error {
			x := m.next(r)
			err := write(x)
			if err == nil {
				x.done()
			}
			return err
		}
		if err := steps[i](); err != nil {
			return fmt.Errorf("the first record: %w", err)
		}
	}
	if err := child.Serve(child.Callers(steps)); err != nil {
		return err
	}
	return db.close()
}

// gather returns what writes a move together with those of others that wait.
func gather(ctx context.Context, db database, writers int) func(move) error {
	type ask struct {
		move   move
		answer chan error
	}
	asks := make(chan ask, 512)
	for range writers {
		go func() {
			for first := range asks {
				batch, moves := []ask{first}, []move{first.move}
				for more := true; more && len(batch) < 128; {
					select {
					case a := <-asks:
						batch, moves = append(batch, a), append(moves, a.move)
					default:
						more = false
					}
				}
				err := db.write(ctx, moves)
				for _, a := range batch {
					a.answer <- err
				}
			}
		}()
	}
	return func(x move) error {
		a := ask{x, make(chan error, 1)}
		asks <- a
		return <-a.answer
	}
}

// names joins what is written for each column.
func names(list []column, form func(i int, c column) string) string {
	var b strings.Builder
	for i, c := range list {
		b.WriteString(", " + form(i, c))
	}
	return b.String()
}
