package claims_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/live"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
	"github.com/fsmgen/fsmgen/spec"
)

// place is a record of a random machine with several unique rules over its keys.
type place struct {
	ID, State        string
	Rev              int64
	Created, Updated time.Time
	Due              any
	Keys             [4]any
}

func (p place) Ref() fsm.Ref { return fsm.Ref{ID: p.ID, Rev: p.Rev} }

// places is such a machine: a call brings a record with new keys to any state, some
// only while fewer than three others of its group are there.
type places struct {
	text    string
	create  []*fsmimpl.Operation[place]
	move    []*fsmimpl.Operation[place]
	guarded map[string]bool // states whose moves have a guard
}

const fewer = 3

func randomPlaces(r *rand.Rand) *places {
	p := &places{guarded: map[string]bool{}}
	states := []string{"s0", "s1", "s2"}
	some := func(list []string) string {
		n := 1 + r.IntN(len(list))
		picked := make([]string, n)
		for i, j := range r.Perm(len(list))[:n] {
			picked[i] = list[j]
		}
		slices.Sort(picked)
		return strings.Join(picked, ", ")
	}
	var b strings.Builder
	b.WriteString("fsm: 1\nmachine: place\nentity: Place\nrequests: {request_id: optional, expected_rev: optional}\notherwise: reject\nfields:\n  due: optional time\n")
	set := "due: input or absent"
	for i := range 4 {
		fmt.Fprintf(&b, "  k%d: optional string\n", i)
		set += fmt.Sprintf(", k%d: input or absent", i)
	}
	b.WriteString("states:\n  s0: {}\n  s1: {}\n  s2: {}\nunique:\n")
	for i := range 2 + r.IntN(2) {
		fields := some([]string{"k0", "k1", "k2", "k3"}[:2+r.IntN(3)])
		if strings.Count(fields, ",") > 1 {
			fields = fmt.Sprintf("k%d", i)
		}
		fmt.Fprintf(&b, "  u%d: {fields: [%s], in: [%s], error: taken_%d}\n", i, fields, some(states), i)
	}
	b.WriteString("guards:\n  few: {fewer: {than: 3, same: k3, in: [s2]}, error: full}\noperations:\n")
	for _, s := range states {
		fmt.Fprintf(&b, "  put_%s: {creates: %[1]s, set: {%s}}\n", s, set)
		p.create = append(p.create, &fsmimpl.Operation[place]{Name: "put_" + s, Stored: "put_" + s, Event: "put_" + s, By: fsmimpl.ByCaller, Creates: true, Moves: []fsmimpl.Move{{To: s}}})
		require := ""
		if r.IntN(3) == 0 {
			require, p.guarded[s] = ", require: [few]", true
		}
		fmt.Fprintf(&b, "  to_%s: {from: [s0, s1, s2], to: %[1]s, set: {%s}%s}\n", s, set, require)
		p.move = append(p.move, &fsmimpl.Operation[place]{Name: "to_" + s, Stored: "to_" + s, Event: "to_" + s, By: fsmimpl.ByCaller, From: states,
			Moves: []fsmimpl.Move{{From: "s0", To: s}, {From: "s1", To: s}, {From: "s2", To: s}}})
	}
	b.WriteString("  expire: {by: system, from: s0, to: s1, trigger: [after due], clear: [due]}\n")
	expire := &fsmimpl.Operation[place]{Name: "expire", Stored: "expire", Event: "expire", By: fsmimpl.BySystem, From: []string{"s0"}, Moves: []fsmimpl.Move{{From: "s0", To: "s1"}},
		Triggers: []fsmimpl.Trigger{{After: "due"}}}
	expire.System = func(*place, time.Time) (fsmimpl.Call[place], error) {
		return fsmimpl.Call[place]{Operation: expire, Decide: func(r *place, _ string, _ []int64, now time.Time) (fsmimpl.Step, error) {
			from := r.State
			r.State, r.Rev, r.Updated, r.Due = "s1", r.Rev+1, now, nil
			return fsmimpl.Step{From: from, To: "s1"}, nil
		}}, nil
	}
	p.move = append(p.move, expire)
	p.text = b.String()
	return p
}

// call makes a call that sets some keys, all to one value: calls with other values stand
// in each other's way nowhere.
func (p *places) call(r *rand.Rand, op *fsmimpl.Operation[place], row int, id string) fsmimpl.Call[place] {
	to := op.Moves[0].To
	var keys [4]any
	inputs := []driver.Input{{Name: "due", Kind: driver.KindTime}}
	var due any
	if r.IntN(3) == 0 {
		due = time.Now().UTC().Truncate(time.Microsecond)
		inputs[0].Value = due
	}
	for i := range keys {
		if r.IntN(4) > 0 {
			keys[i] = fmt.Sprint(row)
		}
		inputs = append(inputs, driver.Input{Name: fmt.Sprint("k", i), Value: keys[i], Kind: driver.KindString})
	}
	c := fsmimpl.Call[place]{Operation: op, ID: id, Inputs: inputs}
	guarded := !op.Creates && p.guarded[to]
	if guarded {
		c.Peers = func(r *place, id string) []driver.PeerQuery {
			return []driver.PeerQuery{{Name: "few", Columns: []string{"k3"}, Values: []any{r.Keys[3]}, States: []string{"s2"}, Except: id}}
		}
	}
	c.Decide = func(r *place, id string, peers []int64, now time.Time) (fsmimpl.Step, error) {
		if guarded && peers[0] >= fewer {
			return fsmimpl.Step{}, &fsm.Refusal{ID: id, Code: fsm.ErrGuard, Machine: "place", Operation: op.Name, Name: "few"}
		}
		from := r.State
		if op.Creates {
			r.ID, r.Created = id, now
		}
		r.State, r.Rev, r.Updated, r.Due, r.Keys = to, r.Rev+1, now, due, keys
		return fsmimpl.Step{From: from, To: to}, nil
	}
	return c
}

// open opens the machine as one program of several.
func (p *places) open(t *testing.T, dsn string) (*fsm.Machine[place], *sqlstore.Store) {
	t.Helper()
	sm, findings := spec.Parse("place.yaml", []byte(p.text))
	if len(findings) > 0 {
		t.Fatalf("%v in\n%s", findings, p.text)
	}
	schema, err := live.Schema(sm, "postgres", "full")
	if err != nil {
		t.Fatal(err)
	}
	store, err := postgres.Open(t.Context(), dsn, postgres.WithMaxSessions(5), postgres.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	table, err := store.Table(schema)
	if err == nil {
		err = table.Migrate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := fsm.NewMachine(t.Context(), store, &fsmimpl.Descriptor[place]{
		Schema: schema, Check: func(*place) []fsm.Violation { return nil }, Operations: append(slices.Clone(p.create), p.move...),
		Encode: func(r *place) driver.Row {
			return driver.Row{ID: r.ID, State: r.State, Rev: r.Rev, CreatedAt: r.Created, UpdatedAt: r.Updated, Values: append([]any{r.Due}, r.Keys[:]...)}
		},
		Decode: func(row driver.Row) (place, error) {
			return place{row.ID, row.State, row.Rev, row.CreatedAt, row.UpdatedAt, row.Values[0], [4]any(row.Values[1:])}, nil
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m, store
}

// Programs whose calls take the places of several unique rules in any order, one by
// one, in batches and in sweeps, meet no deadlock. Beside transactions of the callers' own,
// whose order is theirs, nobody hears of one but these, as ErrBusy.
func TestPlacesInAnyOrder(t *testing.T) {
	t.Parallel()
	machines := uint64(1)
	if campaign.On() {
		machines = 12
	}
	for seed := range machines {
		for _, joined := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d, with transactions of the callers %t", seed, joined), func(t *testing.T) {
				p := randomPlaces(rand.New(rand.NewPCG(seed, 40)))
				crowd(t, p, seed, joined)
				if t.Failed() {
					t.Log(p.text)
				}
			})
		}
	}
}

func crowd(t *testing.T, p *places, seed uint64, joined bool) {
	const programs, callers, rounds = 3, 4, 16
	dsn := pgtest.DSN(t)
	var stores []*sqlstore.Store
	var ms []*fsm.Machine[place]
	for range programs {
		m, store := p.open(t, dsn)
		ms, stores = append(ms, m), append(stores, store)
	}
	own, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	var mu sync.Mutex
	answers := map[string]int{}
	random := make([]*rand.Rand, programs*callers)
	for w := range random {
		random[w] = rand.New(rand.NewPCG(seed, uint64(w)))
	}
	for round := range rounds { // in which all begin at once
		var all sync.WaitGroup
		for w, r := range random {
			m, store, kind := ms[w%programs], stores[w%programs], r.IntN(6)
			id := func(n int) string { return fmt.Sprintf("p%d-%d-%d", w, round, n) }
			all.Go(func() {
				var err error
				if kind == 5 && joined {
					err = p.within(t.Context(), r, own, m, store, round, id)
				} else {
					err = p.act(t.Context(), r, m, kind, round, id)
				}
				answer := "nil"
				if refused := (*fsm.Refusal)(nil); errors.As(err, &refused) {
					answer = string(refused.Code)
				}
				mu.Lock()
				answers[answer]++
				mu.Unlock()
				switch {
				case err == nil, errors.Is(err, fsm.ErrNotUnique), errors.Is(err, fsm.ErrStale), errors.Is(err, fsm.ErrGuard):
				case errors.Is(err, fsm.ErrBusy) && joined && kind == 5:
				default:
					t.Errorf("caller %d, round %d, kind %d: %v", w, round, kind, err)
				}
			})
		}
		all.Wait()
	}
	for f, err := range audit.Run(t.Context(), ms[0]) {
		t.Errorf("audit: %v, %v", f, err)
	}
	own.Close()
	for _, s := range stores {
		s.Close()
	}
	n := pgtest.Deadlocks(t, dsn)
	t.Logf("%v, %d deadlocks", answers, n)
	if n != 0 && !joined {
		t.Errorf("the server ended %d deadlocks", n)
	}
}

// act makes one call, or one on many records.
func (p *places) act(ctx context.Context, r *rand.Rand, m *fsm.Machine[place], kind, round int, id func(int) string) error {
	rows := r.Perm(7)
	for i := range rows {
		rows[i] += 4 * round // most of them nobody has had before
	}
	n := 2 + r.IntN(5)
	switch kind {
	case 0:
		_, err := m.Create(ctx, p.call(r, p.create[r.IntN(3)], rows[0], id(0)))
		return err
	case 1, 2:
		var calls []fsmimpl.Call[place]
		for i := range n {
			calls = append(calls, p.call(r, p.create[r.IntN(3)], rows[i], id(i)))
		}
		_, err := m.CreateMany(ctx, calls)
		return err
	case 3, 4:
		var items []fsmimpl.Item[place]
		for rec, err := range m.List(ctx, driver.Query{}) {
			if err != nil {
				return err
			}
			item := fsmimpl.Item[place]{At: rec, Call: p.call(r, p.move[r.IntN(3)], rows[len(items)%7], "")}
			if kind == 4 {
				item.At = fsm.Ref{ID: rec.ID}
			}
			items = append(items, item)
		}
		r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		if items = items[:min(n, len(items))]; len(items) == 1 {
			_, err := m.Apply(ctx, items[0].At, items[0].Call)
			return err
		}
		_, err := m.ApplyMany(ctx, items)
		return err
	}
	_, err := m.Sweep(ctx)
	return err
}

// within makes calls in a transaction of the caller's own.
func (p *places) within(ctx context.Context, r *rand.Rand, own *sql.DB, m *fsm.Machine[place], store *sqlstore.Store, round int, id func(int) string) error {
	tx, err := own.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	in, err := m.In(ctx, fsm.Join(store, tx))
	for i := range 3 {
		if err == nil {
			_, err = in.Create(ctx, p.call(r, p.create[r.IntN(3)], 4*round+r.IntN(7), id(i)))
		}
		if errors.Is(err, fsm.ErrNotUnique) { // it has written nothing
			err = nil
		}
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}
