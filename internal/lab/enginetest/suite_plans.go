package enginetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
	"github.com/fsmgen/fsmgen/spec"
)

// explains is a store that shows the plans of its queries.
type explains interface {
	driver.Transactional[*sql.Tx]
	Explain(tx fsm.Tx, free bool, f func(fsm.Tx) error, seen func(query, plan string)) error
}

// watched is a store that notes the plan of every query.
type watched struct {
	explains
	plans map[string]string // by query
	free  bool              // the plans are those that the database has by itself
}

func (w *watched) Table(s *driver.Schema) (driver.Table, error) {
	t, err := w.explains.Table(s)
	return watchedTable{t, w}, err
}

type watchedTable struct {
	driver.Table
	w *watched
}

func (t watchedTable) Commit(ctx context.Context, w *driver.Write) error {
	return t.Update(ctx, func(tx fsm.Tx) error { return tx.Write(w) })
}

func (t watchedTable) View(ctx context.Context, f func(driver.Reader) error) error {
	return t.Update(ctx, func(tx fsm.Tx) error { return f(tx) })
}

func (t watchedTable) Look(ctx context.Context, f func(driver.Reader) error) error {
	return t.View(ctx, f)
}

func (t watchedTable) Update(ctx context.Context, f func(fsm.Tx) error) error {
	return t.Table.Update(ctx, func(tx fsm.Tx) error {
		return t.w.explains.Explain(tx, t.w.free, f, func(query, plan string) { t.w.plans[query] = plan })
	})
}

// said is what a statement says of itself: its machine and its name.
var said = regexp.MustCompile(`/\*[^*]*\*/ `)

// planWords are the words in which a database tells its plans.
var planWords = map[string]struct {
	index, state, counted string // an index is used; its part of one state is, for rows and for their number
	effect                string // the deliveries of one effect are found, up to a time
	until                 string // behind a column: an index is used up to a value
	later                 string // in a query for what is due after a time and a length: both are put in
	sorts, filters        string // what it reads is sorted; what it counts is looked at one by one
	minute                string // before a deadline: the column that the sweeper's index names
	open                  bool   // the only index by states is of those that are not terminal
}{
	"sqlite": {
		effect: "(effect=? AND due<?)", minute: "(", index: "USING INDEX ", state: "(state=?", counted: "(state=?", until: "<?",
		later: `%s + %s)`, sorts: "TEMP B-TREE", filters: "TEMP B-TREE",
	},
	"postgres": {
		effect: "(effect = fresh.name) AND (due <= ", minute: "Index Cond: (_minute_", open: true, index: "Index Scan using ", until: " <= ",
		later: "%s - '1970-01-01 00:00:00+00'::timestamptz + %s * ", sorts: "Sort", filters: "Filter",
	},
}

// plans looks at how the database finds what the machine asks for again and
// again: by an index, and in its order. A database that has to read all records
// for the few that are due gets slower with every record that is done.
func plans[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	w := &watched{plans: map[string]string{}}
	h := s.NewHarness(t, world.Store{Name: st.Name, Open: func(t *testing.T) fsm.Store {
		store, ok := st.Open(t).(explains)
		if !ok {
			t.Skip("the store does not show the plans of its queries")
		}
		w.explains = store
		return w
	}})
	ask := func(f func() error) map[string]string {
		t.Helper()
		clear(w.plans)
		if err := f(); err != nil {
			t.Fatal(err)
		}
		return w.plans
	}
	// demand looks for queries with a text in them, and for words of each one's plan.
	demand := func(plans map[string]string, query, wanted, unwanted string, least int) {
		t.Helper()
		found := 0
		for _, text := range sortedKeys(plans) {
			if !strings.Contains(said.ReplaceAllString(text, ""), query) {
				continue
			}
			found++
			if plan := strings.ReplaceAll(plans[text], `"`, ""); !strings.Contains(plan, wanted) || unwanted != "" && strings.Contains(plan, unwanted) {
				t.Errorf("%s\n\tis found by: %s\n\twant %q and not %q", text, plan, wanted, unwanted)
			}
		}
		if found < least {
			t.Errorf("%d queries have %q in them, want at least %d: %v", found, query, least, sortedKeys(plans))
		}
	}
	words := planWords[st.Name]
	if h.D.Sweep != nil {
		plans := ask(func() error { _, err := h.D.Sweep(h.Ctx); return err })
		for _, column := range deadlines(s.M) {
			demand(plans, quoteName(column)+" <= ", words.minute+column+words.until, "", 1)
		}
		due := map[string][]string{} // with a length that a field holds, the index over both
		for _, o := range s.M.Operations {
			for _, x := range o.Triggers {
				if x.By != nil {
					query := fmt.Sprintf(words.later, quoteName(x.After.Stored()), quoteName(x.By.Stored()))
					due[query] = append(due[query], o.Name)
				}
			}
		}
		for query, ops := range due {
			wanted := s.M.Name + "_due_"
			if len(ops) == 1 { // else one serves the others as well
				wanted += ops[0]
			}
			demand(plans, query, wanted, "TEMP B-TREE", 1)
		}
	}
	if h.D.Deliver != nil {
		plans := ask(func() error { _, err := h.D.Deliver(h.Ctx); return err })
		demand(plans, quoteName(s.M.Name+"_outbox"), words.effect, "", 1)
	}
	ends := slices.ContainsFunc(s.M.States, func(x *spec.State) bool { return x.Terminal })
	for _, st := range s.M.States {
		list := ask(func() error {
			for _, err := range h.D.List(h.Ctx, st.Name) {
				return err
			}
			return nil
		})
		if !words.open {
			demand(list, `"state" IN (`, words.state, words.sorts, 1)
		} else { // in the order of the ids
			demand(list, `SELECT "id", "state"`, words.index, words.sorts, 1)
		}
		count := ask(func() error { _, err := h.D.Count(h.Ctx, st.Name); return err })
		switch {
		case !words.open:
			demand(count, `"state" IN (`, words.counted, words.filters, 1)
		case !st.Terminal && ends:
			demand(count, "count(*)", "Scan using "+s.M.Name+"_", words.sorts, 1) // of the open ones, or of those that a pick or the sweeper has
		}
	}
	picked := func(o *spec.Operation, n int, answered func(err error) error) {
		t.Helper()
		if o.Next == nil && o.Each == nil || h.D.Operations[o.Name].Pick == nil {
			return
		}
		call := h.New(pickCall(h, o), "")
		call.At = time.Time{} // a call that brings a time of its own looks at all records
		plans := ask(func() error {
			_, err := h.D.Operations[o.Name].Pick(h.Ctx, n, world.Sent(call))
			return answered(err)
		})
		found, sorts := words.index, words.sorts
		if o.Each != nil { // it reads all that fit, and may read two indexes at once
			found, sorts = strings.TrimSuffix(found, "using "), ""
		}
		if slices.ContainsFunc(deadlines(s.M), func(c string) bool { return equals(plans, c) }) {
			sorts = "" // the database may sort the few that have this very deadline
		}
		demand(plans, "ORDER BY ", found, sorts, 1)
	}
	for _, o := range s.M.Operations {
		picked(o, 1, func(err error) error {
			var r *fsm.Refusal
			if errors.As(err, &r) && r.Code == fsm.ErrNothingToDo {
				return nil
			}
			return fmt.Errorf("pick from an empty store: %v; expected that there is nothing to do", err)
		})
	}
	for _, l := range s.M.Lookups {
		c := fsmcases.Call{Inputs: map[string]any{}}
		for _, r := range l.Fields {
			c.Inputs[r.Field.Name] = world.Datum(r.Field.Type, zero(r.Field.Type))
		}
		plans := ask(func() error { _, _, err := h.D.Lookups[l.Name](h.Ctx, c, fsm.Page{}); return err })
		demand(plans, "ORDER BY ", words.index, words.sorts, 1)
	}
	if st.Name == "postgres" && calm(s, h, w) {
		w.free = true
		for _, o := range s.M.Operations {
			picked(o, 8, func(error) error { return nil }) // what it finds has no log
		}
	}
}

// calmly copies a record 2 000 times. But for three, the copies are in no index that names states, and
// differ in what a pick may ask for.
const calmly = `ALTER TABLE @ DISABLE TRIGGER USER;
DO $$ DECLARE c name; BEGIN FOR c IN SELECT conname FROM pg_constraint WHERE contype = 'c' AND conrelid = '@'::regclass LOOP
	EXECUTE format('ALTER TABLE @ DROP CONSTRAINT %I', c); END LOOP; END $$;
INSERT INTO @ SELECT (jsonb_populate_record(r, x.past || jsonb_build_object('id', md5(i::text)))).* FROM @ AS r, generate_series(1, 2000) AS i,
	LATERAL (SELECT coalesce(jsonb_object_agg(attname, CASE WHEN atttypid = 'bool'::regtype THEN 'false' WHEN atttypid = 'text'::regtype
		THEN to_jsonb('x' || hashint4(i)) WHEN atttypid = 'bigint'::regtype THEN to_jsonb(hashint4(i)) ELSE to_jsonb(now() + hashint4(i) * interval '1 ms') END)
		FILTER (WHERE i > 3), '{}') AS past FROM pg_attribute WHERE attrelid = '@'::regclass AND attnum > 0 AND attname NOT IN ('state', 'rev', '_chain')
		AND (attname LIKE '\_%' AND atttypid = 'bool'::regtype OR atttypid IN ('text'::regtype, 'bigint'::regtype, 'timestamptz'::regtype))) AS x
ON CONFLICT DO NOTHING;
ANALYZE @;
ALTER TABLE @ ENABLE TRIGGER USER`

// calm makes a table look as in a calm hour: it holds many records, of which few are in a state that
// anything looks for, and the server has counted them. A session keeps the plans that it makes then.
// False where the machine lets nobody make a record, or takes no second one like it.
func calm[R any](s *world.Suite[R], h *world.Harness[R], w *watched) bool {
	made := false
	for _, o := range s.M.Operations {
		c, ok := s.Cases.Good(o, nil)
		if made || !creates(o) || !ok {
			continue
		}
		call := h.New(c.Call, "calm")
		_, err := h.D.Do(h.Ctx, o.Name, nil, world.Sent(call))
		made = err == nil
	}
	table, err := w.explains.Table(s.D.Descriptor.Schema)
	if err != nil {
		h.T.Fatal(err)
	}
	err = table.Update(h.Ctx, func(tx fsm.Tx) error {
		_, err := w.Transaction(tx).ExecContext(h.Ctx, strings.ReplaceAll(calmly, "@", quoteName(s.D.Descriptor.Schema.Table)))
		return err
	})
	if err != nil {
		h.T.Fatal(err)
	}
	counts, err := h.D.Count(h.Ctx)
	if err != nil {
		h.T.Fatal(err)
	}
	n := int64(0)
	for _, each := range counts {
		n += each
	}
	return n >= 4
}

// equals reports whether a query asks for one value of a column.
func equals(plans map[string]string, column string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(plans)), func(text string) bool {
		return strings.Contains(text, quoteName(column)+" = ")
	})
}

// deadlines lists the stored names of the columns that triggers wait for.
func deadlines(m *spec.Machine) []string {
	var columns []string
	for _, o := range m.Operations {
		for _, t := range o.Triggers {
			if !t.Startup && t.By == nil && !slices.Contains(columns, t.After.Stored()) {
				columns = append(columns, t.After.Stored())
			}
		}
	}
	return columns
}
