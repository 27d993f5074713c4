package storetest_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// promises are the promises of runtime/store.go, each with a store that breaks it
// and the case of the suite that must notice.
var promises = []struct {
	promise string
	breaks  wrong
	caught  string // group/case
}{
	{"Check: refuses a store without these tables", wrong{table: func(t driver.Table) driver.Table { return lax{t} }}, "schema/check_refuses_another_hash"},
	{"Check: refuses tables of another hash", wrong{schema: func(s *driver.Schema) *driver.Schema {
		c := *s
		c.Hash = "any"
		return &c
	}}, "schema/check_refuses_another_hash"},
	{"Migrate: creates what is missing", wrong{table: func(t driver.Table) driver.Table { return idle{t} }}, "schema/check_after_migrate"},
	{"Migrate: keeps what is there", wrong{table: func(t driver.Table) driver.Table { return &forgetful{Table: t} }}, "schema/migrate_twice_keeps_everything"},
	{"Table: no input or output", wrong{asked: func(s *memstore.Store) error {
		tx, err := s.Begin(context.Background())
		if err == nil {
			tx.Rollback()
		}
		return err
	}}, "lock/a_table_is_made_without_the_store"},
	{"WriteMany: all of them or an error", wrong{table: func(t driver.Table) driver.Table {
		return wrongBulk{t, func(tx fsm.Tx, ws []*driver.Write) error {
			for _, w := range ws {
				_ = tx.Write(w)
			}
			return nil
		}}
	}}, "engine/what_stands_against_one_of_a_batch"},
	{"WriteMany: forgets none", wrong{table: func(t driver.Table) driver.Table {
		return wrongBulk{t, func(tx fsm.Tx, ws []*driver.Write) error {
			for _, w := range ws[:min(len(ws), 32)] {
				if err := tx.Write(w); err != nil {
					return err
				}
			}
			return nil
		}}
	}}, "engine/a_large_batch_is_made_of_writes_like_any_other"},
	{"Query.Lock: locks the rows", wrong{update: unlocked}, "lock/rows_that_are_locked_go_to_one_transaction_only"},
	{"Query.Lock: finds the rows in their order", wrong{query: func(q driver.Query) driver.Query {
		if q.Lock {
			q.Order = nil
		}
		return q
	}}, "query/a_lock_finds_the_same_rows_in_a_transaction"},
	{"Peers: locks the group", wrong{update: unlocked}, "peers/what_was_counted_stays_so_until_the_commit"},
	{"Peers: who leaves has the lock", wrong{update: unlocked}, "peers/who_has_counted_a_group_keeps_others_from_leaving_it"},
	{"Peers: rules over other groups see each other", wrong{update: unlocked}, "peers/rules_over_different_groups_see_each_other"},
	{"NextNumber: is taken back with its transaction", wrong{update: func(t driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		var given numbers
		err := t.Update(ctx, func(tx fsm.Tx) error {
			given = numbers{Tx: tx}
			return f(&given)
		})
		if err == nil {
			return nil
		}
		return errors.Join(err, t.Update(ctx, func(tx fsm.Tx) error {
			for _, q := range given.asked {
				if _, err := tx.NextNumber(q); err != nil {
					return err
				}
			}
			return nil
		}))
	}}, "peers/a_number_that_was_taken_back_is_given_again"},
	{"Doubles: counts the rows of a group", wrong{doubles: func(in driver.Reader, u driver.UniqueRule, after string, limit int) ([]driver.Double, error) {
		list, err := in.Doubles(&u, after, limit)
		for i := range list {
			list[i].Count = 2
		}
		return list, err
	}}, "inspect/who_shares_a_place_is_found"},
	{"Doubles: in the states", wrong{doubles: func(in driver.Reader, u driver.UniqueRule, after string, limit int) ([]driver.Double, error) {
		u.States = nil
		return in.Doubles(&u, after, limit)
	}}, "inspect/who_shares_a_place_is_found"},
	{"Doubles: above after", wrong{doubles: func(in driver.Reader, u driver.UniqueRule, _ string, limit int) ([]driver.Double, error) {
		return in.Doubles(&u, "", limit)
	}}, "inspect/who_shares_a_place_is_found"},
	{"Doubles: at most limit", wrong{doubles: func(in driver.Reader, u driver.UniqueRule, after string, _ int) ([]driver.Double, error) {
		return in.Doubles(&u, after, 0)
	}}, "inspect/who_shares_a_place_is_found"},
	{"Loose: names the rows", wrong{loose: func(driver.Reader, string, int) ([]string, error) { return nil, nil }}, "inspect/a_row_that_its_log_does_not_end_with_is_found"},
	{"Loose: above after", wrong{loose: func(in driver.Reader, _ string, limit int) ([]string, error) { return in.Loose("", limit) }}, "inspect/a_row_that_its_log_does_not_end_with_is_found"},
	{"Loose: at most limit", wrong{loose: func(in driver.Reader, after string, _ int) ([]string, error) { return in.Loose(after, 0) }}, "inspect/a_row_that_its_log_does_not_end_with_is_found"},
	{"Commit: *AmbiguousError when it is not known", wrong{update: func(t driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		if err := t.Update(context.WithoutCancel(ctx), f); err != nil {
			return err
		}
		return ctx.Err() // which says that surely nothing was written
	}}, "limits/a_context_that_ends_at_any_step"},
	{"Commit: no *AmbiguousError when it is known", wrong{update: func(t driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		err := t.Update(ctx, f)
		if errors.Is(err, fsm.ErrClosed) {
			return &fsm.AmbiguousError{Err: err}
		}
		return err
	}}, "engine/a_closed_store_is_no_lost_answer"},
	{"Retirer: keeps open what the later version names", wrong{schema: func(s *driver.Schema) *driver.Schema {
		c := *s
		c.Beside = nil
		return &c
	}}, "rollout/a_later_version_keeps_the_one_before_it_open"},
	{"Retirer: retires what the later version does not name", wrong{schema: func(s *driver.Schema) *driver.Schema {
		c := *s
		c.Beside = []driver.SpecID{storetest.Schema().ID()}
		return &c
	}}, "rollout/a_later_version_that_stands_alone_retires_the_one_before_it"},
	{"Retirer: a program that was retired is told so", wrong{schema: func(s *driver.Schema) *driver.Schema {
		c := *s
		c.Version = 1
		return &c
	}}, "rollout/a_later_version_that_stands_alone_retires_the_one_before_it"},
	{"Retirer: Retire", wrong{retire: func(driver.Table, context.Context) error { return nil }}, "rollout/a_later_version_keeps_the_one_before_it_open"},
	{"Commit: the write is the whole row", wrong{write: edit(func(_ fsm.Tx, w *driver.Write) {
		if w.Row != nil {
			w.Row.Values[0] = nil
		}
	})}, "write/creation_comes_back_as_it_was"},
	{"Commit: the event comes back as it was", wrong{write: edit(func(_ fsm.Tx, w *driver.Write) { w.Event.Labels = nil })}, "log/every_field_of_an_event_comes_back"},
	{"Commit: times keep microseconds", wrong{write: edit(func(_ fsm.Tx, w *driver.Write) {
		for i := 0; w.Row != nil && i < len(w.Row.Values); i++ {
			if at, ok := w.Row.Values[i].(time.Time); ok {
				w.Row.Values[i] = at.Truncate(time.Millisecond)
			}
		}
	})}, "write/times_keep_microseconds"},
	{"Commit: ErrMoved at another revision", wrong{write: edit(func(tx fsm.Tx, w *driver.Write) {
		if row, err := tx.Row(w.Prev.ID); err == nil && w.Prev.Rev > 0 {
			w.Prev.Rev, w.PrevState, w.Old = row.Rev, row.State, nil
		}
	})}, "write/a_moved_record_refuses"},
	{"Commit: ErrMoved in another state", wrong{write: edit(func(tx fsm.Tx, w *driver.Write) {
		if row, err := tx.Row(w.Prev.ID); err == nil && row.Rev == w.Prev.Rev {
			w.PrevState = row.State
		}
	})}, "write/another_state_at_the_revision_refuses"},
	{"Write.Old: ErrMoved unless the stored row is equal", wrong{write: edit(func(_ fsm.Tx, w *driver.Write) { w.Old = nil })}, "write/a_row_that_is_not_the_one_decided_on_refuses"},
	{"Commit: ErrRequestTaken", wrong{write: edit(func(_ fsm.Tx, w *driver.Write) { w.Event.RequestID = "" })}, "request/taken_in_the_record"},
	{"Commit: ErrRequestTaken in the machine", wrong{write: edit(func(_ fsm.Tx, w *driver.Write) { w.Event.RequestN = -1 })}, "request/taken_in_the_machine"},
	{"Commit: ErrIDTaken", wrong{write: func(tx fsm.Tx, w *driver.Write) error {
		if err := tx.Write(w); !errors.Is(err, driver.ErrIDTaken) {
			return err
		}
		return nil
	}}, "write/a_creation_that_exists_is_refused"},
	{"Commit: *ConflictError", wrong{schema: func(s *driver.Schema) *driver.Schema {
		c := *s
		c.Uniques = nil
		return &c
	}}, "unique/a_place_is_taken"},
	{"Commit: the context's own error", wrong{ctx: context.WithoutCancel}, "write/a_context_that_has_ended_writes_nothing"},
	{"Commit: ErrClosed after Close", wrong{update: func(t driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		err := t.Update(ctx, f)
		if errors.Is(err, fsm.ErrClosed) {
			return errors.New("gone")
		}
		return err
	}}, "engine/a_closed_store_is_no_lost_answer"},
	{"View: one snapshot", wrong{view: func(t driver.Table, ctx context.Context, f func(driver.Reader) error) error {
		return f(torn{ctx: ctx, t: t})
	}}, "transaction/a_view_is_one_snapshot"},
	{"View: an error of f comes back", wrong{view: func(t driver.Table, ctx context.Context, f func(driver.Reader) error) error {
		_ = t.View(ctx, f)
		return nil
	}}, "transaction/an_error_of_a_view_comes_back"},
	{"Update: an error of f leaves no trace", wrong{update: func(t driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		var own error
		err := t.Update(ctx, func(tx fsm.Tx) error {
			own = f(tx)
			return nil
		})
		return errors.Join(own, err)
	}}, "transaction/an_error_takes_it_back"},
	{"Update: errors.Is finds an error of f", wrong{update: func(t driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		if err := t.Update(ctx, f); err != nil {
			return errors.New(err.Error())
		}
		return nil
	}}, "transaction/an_error_takes_it_back"},
	{"Update: a panic leaves no trace and goes on", wrong{update: func(t driver.Table, ctx context.Context, f func(fsm.Tx) error) (err error) {
		return t.Update(ctx, func(tx fsm.Tx) error {
			defer func() { _ = recover() }()
			return f(tx)
		})
	}}, "transaction/a_panic_takes_it_back"},
	{"Update: sees no other writer", wrong{update: func(t driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		late := &deferred{}
		err := t.Update(ctx, func(tx fsm.Tx) error {
			late.Tx = tx
			return f(late)
		})
		if err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
		return t.Update(ctx, func(tx fsm.Tx) error {
			for _, w := range late.writes {
				c := *w
				if row, err := tx.Row(w.Prev.ID); err == nil && w.Prev.Rev > 0 && w.Row != nil {
					next := *w.Row
					next.Rev = row.Rev + 1
					c.Prev.Rev, c.PrevState, c.Row, c.Event.Rev = row.Rev, row.State, &next, next.Rev
				}
				if err := tx.Write(&c); err != nil {
					return err
				}
			}
			return nil
		})
	}}, "transaction/no_lost_update"},
	{"Row: ErrNotFound", wrong{row: func(r driver.Row, _ error) (driver.Row, error) { return r, nil }}, "transaction/a_missing_row_is_ErrNotFound"},
	{"Rows: the states", wrong{query: func(q driver.Query) driver.Query { q.States = nil; return q }}, "query/rows_and_count"},
	{"Rows: the conditions", wrong{query: func(q driver.Query) driver.Query { q.Where = nil; return q }}, "query/rows_and_count"},
	{"Rows: a length that is added", wrong{query: func(q driver.Query) driver.Query {
		q.Where = slices.Clone(q.Where)
		for i := range q.Where {
			q.Where[i].By = ""
		}
		return q
	}}, "query/a_time_and_a_length"},
	{"Rows: the order by a length that is added", wrong{query: func(q driver.Query) driver.Query {
		q.Order = slices.Clone(q.Order)
		for i := range q.Order {
			q.Order[i].By = ""
		}
		return q
	}}, "query/a_time_and_a_length"},
	{"Rows: the order", wrong{query: func(q driver.Query) driver.Query { q.Order = nil; return q }}, "query/rows_and_count"},
	{"Rows: the limit", wrong{query: func(q driver.Query) driver.Query { q.Limit = 0; return q }}, "query/rows_and_count"},
	{"Rows: above After", wrong{query: func(q driver.Query) driver.Query { q.After = ""; return q }}, "query/rows_and_count"},
	{"Rows: the ids", wrong{query: func(q driver.Query) driver.Query { q.IDs = nil; return q }}, "query/rows_and_count"},
	{"Count: at most Limit", wrong{count: func(q driver.Query) driver.Query { q.Limit = 0; return q }}, "query/rows_and_count"},
	{"CountStates: a bound of 0", wrong{states: func(r driver.Reader, most int) (map[string]int64, error) {
		counts, err := r.CountStates(most)
		for state, n := range counts {
			counts[state] = min(n, int64(most))
		}
		return counts, err
	}}, "query/the_rows_of_each_state"},
	{"CountStates: each state", wrong{states: func(r driver.Reader, most int) (map[string]int64, error) {
		counts, err := r.CountStates(most)
		delete(counts, "waiting")
		return counts, err
	}}, "query/the_rows_of_each_state"},
	{"Count: the states", wrong{count: func(q driver.Query) driver.Query { q.States = nil; return q }}, "query/rows_and_count"},
	{"Events: from the revision on", wrong{events: func(l []fsm.Event, _ int64) []fsm.Event { return l }}, "log/events_from_a_revision_on"},
	{"Events: by revision", wrong{events: func(l []fsm.Event, _ int64) []fsm.Event { slices.Reverse(l); return l }}, "log/events_from_a_revision_on"},
	{"Request: the scope of the record", wrong{request: func(r driver.Reader, _, id string) ([]fsm.Event, error) { return r.Request("", id) }}, "request/scope_of_the_record"},
	{"Request: by RequestN", wrong{request: func(r driver.Reader, id, request string) ([]fsm.Event, error) {
		l, err := r.Request(id, request)
		slices.Reverse(l)
		return l, err
	}}, "request/a_batch_shares_one_request"},
	{"Log: in the order of the commits", wrong{log: func(r driver.Reader, after fsm.Cursor, limit int) ([]fsm.Entry, error) {
		l, err := r.Log(after, limit)
		slices.Reverse(l)
		return l, err
	}}, "watch/in_the_order_of_the_commits"},
	{"Log: behind the cursor", wrong{log: func(r driver.Reader, after fsm.Cursor, limit int) ([]fsm.Entry, error) {
		l, err := r.Log(after, limit)
		if len(l) > 1 && after != "" {
			l = l[1:]
		}
		return l, err
	}}, "watch/in_the_order_of_the_commits"},
	{"Log: at most limit", wrong{log: func(r driver.Reader, after fsm.Cursor, _ int) ([]fsm.Entry, error) { return r.Log(after, 0) }}, "watch/in_the_order_of_the_commits"},
	{"Log: a cursor of another log is ErrCursor", wrong{log: func(r driver.Reader, after fsm.Cursor, limit int) ([]fsm.Entry, error) {
		l, err := r.Log(after, limit)
		if errors.Is(err, fsm.ErrCursor) {
			err = nil
		}
		return l, err
	}}, "watch/a_cursor_that_is_none"},
	{"Newest: backwards", wrong{newest: func(r driver.Reader, before fsm.Cursor, limit int) ([]fsm.Entry, error) {
		l, err := r.Newest(before, limit)
		slices.Reverse(l)
		return l, err
	}}, "watch/the_newest_first"},
	{"Newest: before the cursor", wrong{newest: func(r driver.Reader, before fsm.Cursor, limit int) ([]fsm.Entry, error) {
		l, err := r.Newest(before, limit)
		if len(l) > 1 && before != "" {
			l = l[1:]
		}
		return l, err
	}}, "watch/the_newest_first"},
	{"Newest: at most limit", wrong{newest: func(r driver.Reader, before fsm.Cursor, _ int) ([]fsm.Entry, error) { return r.Newest(before, 0) }}, "watch/the_newest_first"},
	{"Newest: a cursor of another log is ErrCursor", wrong{newest: func(r driver.Reader, before fsm.Cursor, limit int) ([]fsm.Entry, error) {
		l, err := r.Newest(before, limit)
		if errors.Is(err, fsm.ErrCursor) {
			err = nil
		}
		return l, err
	}}, "watch/the_newest_first"},
	{"Outbox: what is due", wrong{outbox: func(r driver.Reader, due time.Time, limit int) ([]driver.Delivery, error) {
		return r.Outbox(due.AddDate(1, 0, 0), limit)
	}}, "outbox/due,_oldest_first,_at_most_so_many"},
	{"Outbox: oldest first", wrong{outbox: func(r driver.Reader, due time.Time, limit int) ([]driver.Delivery, error) {
		l, err := r.Outbox(due, limit)
		slices.Reverse(l)
		return l, err
	}}, "outbox/due,_oldest_first,_at_most_so_many"},
	{"Outbox: at most limit", wrong{outbox: func(r driver.Reader, due time.Time, _ int) ([]driver.Delivery, error) { return r.Outbox(due, 0) }}, "outbox/due,_oldest_first,_at_most_so_many"},
	{"Delivery: by its place", wrong{one: func(r driver.Reader, id string, rev, _ int64) (driver.Delivery, error) {
		return r.Delivery(id, rev, 0)
	}}, "outbox/a_delivery_comes_back_as_it_was"},
	{"Outbox: a write asks for its effect", wrong{write: edit(func(_ fsm.Tx, w *driver.Write) { w.Outbox = nil })}, "outbox/a_delivery_comes_back_as_it_was"},
	{"Write.Leave: removes the delivery of the revision that is left", wrong{write: edit(func(_ fsm.Tx, w *driver.Write) { w.Leave = false })}, "outbox/leaving_a_revision_drops_its_delivery"},
	{"Write: a record-only event gets its N", wrong{write: func(tx fsm.Tx, w *driver.Write) error {
		c := *w
		return tx.Write(&c)
	}}, "write/a_record-only_event_leaves_the_row"},
	{"Orphans: none where rows are", wrong{orphans: func(r driver.Reader, _ string, _ int) ([]string, error) {
		var ids []string
		for row := range r.Rows(driver.Query{}) {
			ids = append(ids, row.ID)
		}
		return ids, nil
	}}, "log/no_orphans"},
	{"Peers: other records only", wrong{peers: func(q driver.PeerQuery) driver.PeerQuery { q.Except = ""; return q }}, "peers/count"},
	{"Peers: in the states", wrong{peers: func(q driver.PeerQuery) driver.PeerQuery { q.States = nil; return q }}, "peers/count"},
	{"Peers: of the group", wrong{peers: func(q driver.PeerQuery) driver.PeerQuery { q.Columns, q.Values = nil, nil; return q }}, "peers/count"},
	{"NextNumber: per group", wrong{number: func(q driver.PeerQuery) driver.PeerQuery { q.Columns, q.Values = nil, nil; return q }}, "peers/numbers_count_per_group"},
	{"Claim: what is due", wrong{claim: func(tx fsm.Tx, effect string, now, until time.Time, limit int) ([]driver.Delivery, error) {
		return tx.Claim(effect, now.AddDate(1, 0, 0), until, limit)
	}}, "outbox/claim"},
	{"Claim: at most limit", wrong{claim: func(tx fsm.Tx, effect string, now, until time.Time, _ int) ([]driver.Delivery, error) {
		return tx.Claim(effect, now, until, 100)
	}}, "outbox/claim"},
	{"Claim: due again at until", wrong{claim: func(tx fsm.Tx, effect string, now, until time.Time, limit int) ([]driver.Delivery, error) {
		list, err := tx.Claim(effect, now, until.Add(-time.Second), limit)
		for i := range list {
			list[i].Due = until
		}
		return list, err
	}}, "outbox/claim"},
	{"Claim: counts the attempt", wrong{claim: func(tx fsm.Tx, _ string, now, _ time.Time, limit int) ([]driver.Delivery, error) {
		return tx.Outbox(now, limit)
	}}, "outbox/claim"},
	{"Claim: of the effect", wrong{claim: func(tx fsm.Tx, effect string, now, until time.Time, limit int) ([]driver.Delivery, error) {
		list, err := tx.Claim(effect, now, until, limit)
		if err != nil || len(list) > 0 {
			return list, err
		}
		names, err := tx.Effects(now)
		if err != nil || len(names) == 0 {
			return nil, err
		}
		return tx.Claim(names[0], now, until, limit)
	}}, "outbox/claim_of_one_effect"},
	{"Claim: fresh ones first", wrong{claim: func(tx fsm.Tx, effect string, now, until time.Time, limit int) ([]driver.Delivery, error) {
		list, err := tx.Claim(effect, now, until, 100)
		slices.SortFunc(list, func(a, b driver.Delivery) int { return cmp.Compare(a.ID, b.ID) })
		return list[:min(limit, len(list))], err
	}}, "outbox/claim,_fresh_ones_first"},
	{"Effects: what is due", wrong{effects: func(r driver.Reader, due time.Time) ([]string, error) { return r.Effects(due.AddDate(1, 0, 0)) }}, "outbox/effects_that_are_due"},
	{"Effects: all", wrong{effects: func(r driver.Reader, due time.Time) ([]string, error) {
		names, err := r.Effects(due)
		return names[:min(1, len(names))], err
	}}, "outbox/effects_that_are_due"},
	{"Settle: removes", wrong{settle: func(fsm.Tx, string, int64, int64, int) (bool, error) { return true, nil }}, "outbox/settle"},
	{"Settle: of another attempt", wrong{settle: func(tx fsm.Tx, id string, rev, n int64, attempt int) (bool, error) {
		held, err := tx.Settle(id, rev, n, attempt+1)
		if err != nil || held {
			return held, err
		}
		return tx.Settle(id, rev, n, attempt)
	}}, "outbox/claim"},
	{"Settle: of the others of a commit", wrong{settle: func(tx fsm.Tx, id string, rev, _ int64, attempt int) (bool, error) {
		return tx.Settle(id, rev, 0, attempt)
	}}, "outbox/several_of_one_commit"},
	{"Write.Outbox: all of them", wrong{write: edit(func(_ fsm.Tx, w *driver.Write) { w.Outbox = w.Outbox[:min(1, len(w.Outbox))] })}, "outbox/several_of_one_commit"},
	{"Settle: one that is gone is told", wrong{settle: func(tx fsm.Tx, id string, rev, n int64, attempt int) (bool, error) {
		_, err := tx.Settle(id, rev, n, attempt)
		return true, err
	}}, "outbox/settle"},
	{"Postpone: due again", wrong{delay: func(fsm.Tx, string, int64, int64, int, time.Time, string) (bool, error) { return true, nil }}, "outbox/postpone"},
	{"Postpone: the error", wrong{delay: func(tx fsm.Tx, id string, rev, n int64, attempt int, due time.Time, _ string) (bool, error) {
		return tx.Postpone(id, rev, n, attempt, due, "")
	}}, "outbox/postpone"},
	{"ids are compared byte by byte", wrong{write: edit(func(_ fsm.Tx, w *driver.Write) {
		w.Prev.ID, w.Event.ID = strings.ToLower(w.Prev.ID), strings.ToLower(w.Event.ID)
		if w.Row != nil {
			w.Row.ID = strings.ToLower(w.Row.ID)
		}
	})}, "request/ids_are_compared_byte_by_byte"},
	{"ids of 255 bytes", wrong{write: edit(func(_ fsm.Tx, w *driver.Write) {
		if w.Row != nil && len(w.Row.ID) > 200 {
			w.Prev.ID, w.Event.ID, w.Row.ID = w.Prev.ID[:200], w.Event.ID[:200], w.Row.ID[:200]
		}
	})}, "limits/ids_of_every_kind"},
	{"a long log", wrong{events: func(l []fsm.Event, from int64) []fsm.Event {
		return slices.DeleteFunc(l[:min(len(l), 1000)], func(e fsm.Event) bool { return e.Rev < from })
	}}, "limits/a_long_log"},
	{"cancellation: all or nothing", wrong{write: func(tx fsm.Tx, w *driver.Write) error {
		if w.Event.Operation == "discard" { // the second step of a call is forgotten
			return nil
		}
		return tx.Write(w)
	}}, "limits/a_context_that_ends_at_any_step"},
}

const choice = "STORETEST_WRONG"

// TestSuiteOverWrong runs the suite over the store that the environment names.
// Without a name it is one that breaks nothing: the wrapper itself is not what
// the suite notices.
func TestSuiteOverWrong(t *testing.T) {
	t.Parallel()
	breaks := wrong{}
	if name := os.Getenv(choice); name != "" {
		i := slices.IndexFunc(promises, func(p struct {
			promise string
			breaks  wrong
			caught  string
		}) bool {
			return p.promise == name
		})
		if i < 0 {
			t.Fatalf("no promise is called %q", name)
		}
		breaks = promises[i].breaks
	}
	storetest.Run(t, func(testing.TB) fsm.Store {
		w := breaks
		w.Store = memstore.New()
		return &w
	})
}

// Every promise has a store that breaks it, and a case that notices.
func TestWrongStoresAreCaught(t *testing.T) {
	t.Parallel()
	if os.Getenv(choice) != "" {
		return // the process that runs one of them
	}
	for _, p := range promises {
		t.Run(p.promise, func(t *testing.T) {
			t.Parallel()
			group, name, _ := strings.Cut(p.caught, "/")
			pattern := "^TestSuiteOverWrong$/^" + regexp.QuoteMeta(group) + "$/^" + regexp.QuoteMeta(name) + "$"
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", pattern, "-test.v", "-test.timeout", "2m")
			cmd.Env = append(os.Environ(), choice+"="+p.promise)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestSuiteOverWrong/"+p.caught) {
				t.Errorf("%s did not notice (%v):\n%s", p.caught, err, out)
			}
		})
	}
}
