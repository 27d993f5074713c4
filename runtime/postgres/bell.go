package postgres

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// herald connects the bells of the processes that use one schema of a database. It has
// two connections of its own: one announces, from the first ring that nobody here
// answers; one listens, from the first worker on that waits or holds a record here. No transaction that
// writes announces anything: NOTIFY would put the commits of the whole server in a row.
type herald struct {
	config *pgx.ConnConfig
	schema string // of the tables; empty: the session's
	log    *slog.Logger
	bell   driver.Bell

	ctx     context.Context // ends with the store
	end     context.CancelFunc
	running sync.WaitGroup
	self    atomic.Uint32 // the process of the server that announces for us

	mu      sync.Mutex
	closed  bool
	speaks  bool
	pending map[string]int             // rings that are not announced yet
	moved   map[string]map[string]bool // ids of moved records that are not announced yet, by queue
	kick    chan struct{}              // holds one when there are some
}

const (
	// pace is the time between two announcements.
	pace = 5 * time.Millisecond
	// again is how long a connection that failed is left alone.
	again = time.Second
	// farewell is how long the end of a store waits for the last announcement.
	farewell = time.Second
	// mostMoved is how many moves of a queue are told one by one; beyond it, and of an id
	// too long for a notification, it is told that any record may have moved.
	mostMoved, longestID = 1000, 4000
)

// newHerald returns a herald; it listens unless the connection is not to be relied on.
func newHerald(config *pgx.ConnConfig, schema string, listens bool, log *slog.Logger) *herald {
	h := &herald{config: config, schema: schema, log: log, pending: map[string]int{}, moved: map[string]map[string]bool{}, kick: make(chan struct{}, 1)}
	h.ctx, h.end = context.WithCancel(context.Background())
	h.bell.Carry, h.bell.CarryMove = h.carry, h.carryMove
	if listens {
		h.bell.Hear = func() { h.start(h.listen) }
	}
	return h
}

// start runs f in a goroutine of the herald's, unless it is closed.
func (h *herald) start(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.running.Go(f)
	}
}

// close announces what is pending and ends the connections.
func (h *herald) close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.end()
	h.running.Wait()
	return nil
}

// carry notes rings to be announced.
func (h *herald) carry(queue string, n int) {
	h.note(func() { h.pending[queue] += n })
}

// carryMove notes a move to be announced.
func (h *herald) carryMove(queue, id string) {
	h.note(func() {
		ids := h.moved[queue]
		if ids == nil {
			ids = map[string]bool{}
			h.moved[queue] = ids
		}
		if len(ids) >= mostMoved || len(id) > longestID {
			clear(ids)
			id = ""
		}
		if !ids[""] {
			ids[id] = true
		}
	})
}

// note notes something to be announced.
func (h *herald) note(what func()) {
	h.mu.Lock()
	what()
	first := !h.speaks
	h.speaks = true
	h.mu.Unlock()
	if first {
		h.start(h.speak)
	}
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// take returns what is pending, as payloads.
func (h *herald) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]string, 0, len(h.pending))
	for queue, n := range h.pending {
		list = append(list, strconv.Itoa(n)+" "+queue)
	}
	for queue, ids := range h.moved {
		for id := range ids {
			list = append(list, "0 "+queue+" "+id)
		}
	}
	clear(h.pending)
	clear(h.moved)
	return list
}

// speak announces until the store is closed. What cannot be announced is lost: who
// waits looks for itself after a while.
func (h *herald) speak() {
	var conn *pgx.Conn
	defer func() { hangUp(conn) }()
	for {
		select {
		case <-h.kick:
		case <-h.ctx.Done():
			h.lastWords(&conn)
			return
		}
		wait := pace
		if err := h.announce(h.ctx, &conn, h.take()); err != nil && h.ctx.Err() == nil {
			h.log.WarnContext(h.ctx, "workers of other processes are not told of new work; they find it by themselves", "error", err)
			hangUp(conn)
			conn, wait = nil, again
		}
		select {
		case <-time.After(wait):
		case <-h.ctx.Done():
		}
	}
}

// lastWords announces what is pending when the store closes.
func (h *herald) lastWords(conn **pgx.Conn) {
	if list := h.take(); len(list) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), farewell)
		defer cancel()
		_ = h.announce(ctx, conn, list)
	}
}

// announce sends payloads, over a new connection where there is none. The commit waits
// for no disk: there is nothing to be lost.
func (h *herald) announce(ctx context.Context, conn **pgx.Conn, list []string) (err error) {
	if *conn == nil {
		if *conn, err = pgx.ConnectConfig(ctx, h.config); err != nil {
			return err
		}
		h.self.Store((*conn).PgConn().PID())
	}
	_, err = (*conn).Exec(ctx, "SELECT set_config('synchronous_commit', 'off', true), pg_notify("+h.channel("$1")+
		", said) FROM unnest($2::text[]) AS said", h.schema, list)
	return err
}

// channel is SQL for the channel of the schema whose name the parameter holds.
func (h *herald) channel(schema string) string {
	return "'fsmgen_' || md5(coalesce(nullif(" + schema + "::text, ''), current_schema()))"
}

// listen wakes workers of this process for what others announce.
func (h *herald) listen() {
	for failed := false; h.ctx.Err() == nil; {
		err := h.listenOnce(func() { failed = false })
		if h.ctx.Err() != nil {
			return
		}
		if !failed {
			h.log.WarnContext(h.ctx, "the connection that tells idle workers of new work is lost; they look by themselves until it is back",
				"error", err)
		}
		failed = true
		select {
		case <-time.After(again):
		case <-h.ctx.Done():
		}
	}
}

func (h *herald) listenOnce(connected func()) error {
	conn, err := pgx.ConnectConfig(h.ctx, h.config)
	if err != nil {
		return err
	}
	defer hangUp(conn)
	var channel string
	if err := conn.QueryRow(h.ctx, "SELECT "+h.channel("$1"), h.schema).Scan(&channel); err != nil {
		return err
	}
	if _, err := conn.Exec(h.ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return err
	}
	connected()
	h.bell.All() // what was announced before was not heard
	for {
		heard, err := conn.WaitForNotification(h.ctx)
		if err != nil {
			return err
		}
		if heard.PID == h.self.Load() {
			continue
		}
		count, queue, _ := strings.Cut(heard.Payload, " ")
		switch n, err := strconv.Atoi(count); {
		case err != nil:
		case n > 0:
			h.bell.Near(queue, n)
		default: // none waits: a record has moved
			queue, id, _ := strings.Cut(queue, " ")
			h.bell.MovedNear(queue, id)
		}
	}
}

// hangUp closes a connection, if there is one.
func hangUp(conn *pgx.Conn) {
	if conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), farewell)
		defer cancel()
		_ = conn.Close(ctx)
	}
}
