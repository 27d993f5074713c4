package cookbook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.com/cookbook/bill"
	"example.com/cookbook/build"
	"example.com/cookbook/export"
	"example.com/cookbook/job"
	"example.com/cookbook/notice"
	"example.com/cookbook/parcel"
	"example.com/cookbook/payment"
	"example.com/cookbook/reminder"
	"example.com/cookbook/sale"
	"example.com/cookbook/task"
	"example.com/cookbook/ticket1"
	"example.com/cookbook/ticket2"
	"example.com/cookbook/trip"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/fsmtest"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// must returns a value of a call that has to succeed.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// open makes a machine over an empty store, on a clock of its own.
func open[M any](t *testing.T, migrate func(context.Context, fsm.Store) error,
	open func(context.Context, fsm.Store, ...fsm.Option) (M, error)) (M, *fsmtest.Clock) {
	t.Helper()
	store, clock := memstore.New(), fsmtest.NewClock()
	if err := migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	m, err := open(t.Context(), store, fsm.WithClock(clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	return m, clock
}

func want[T comparable](t *testing.T, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestLease(t *testing.T) {
	ctx := t.Context()
	jobs, clock := open(t, job.Migrate, job.Open)
	if _, _, err := twice(ctx, jobs); err != nil {
		t.Fatal(err)
	}
	must(jobs.Submit(ctx, "", fsm.Call{RequestID: "order-18"}))
	counts := must(jobs.Count(ctx))
	want(t, counts[job.StateDone], 1)
	lost := must(jobs.As("w1").Claim(ctx, fsm.Call{}))
	clock.Advance(time.Minute)
	ctx, stop := context.WithCancel(ctx)
	go func() {
		defer stop()
		for must(jobs.Count(ctx))[job.StateQueued] == 0 {
			time.Sleep(time.Millisecond)
		}
	}()
	_ = sweep(ctx, jobs)
	_, err := lost.Finish(t.Context())
	if !errors.Is(err, fsm.ErrStale) {
		t.Errorf("the worker that lost its job got %v", err)
	}
}

func TestRetry(t *testing.T) {
	ctx := t.Context()
	tasks, clock := open(t, task.Migrate, task.Open)
	must(tasks.Submit(ctx, "", fsm.Call{RequestID: "s"}))
	fails := func(task.Task) error { return errors.New("no answer") }
	for _, pause := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute} {
		want(t, must(attempt(ctx, tasks, "w1", fails)), task.StateWaiting)
		clock.Advance(pause - time.Second)
		if _, err := attempt(ctx, tasks, "w1", fails); !errors.Is(err, fsm.ErrNothingToDo) {
			t.Errorf("a second before %v: %v", pause, err)
		}
		clock.Advance(time.Second)
	}
	want(t, must(attempt(ctx, tasks, "w1", fails)), task.StateFailed)
	must(tasks.Submit(ctx, "", fsm.Call{RequestID: "s2"}))
	want(t, must(attempt(ctx, tasks, "w1", func(task.Task) error { return nil })), task.StateDone)
}

func TestApproval(t *testing.T) {
	ctx := t.Context()
	payments, _ := open(t, payment.Migrate, payment.Open)
	must(payments.Request(ctx, "p", payment.RequestInput{Amount: 900}, fsm.Call{RequestID: "r", Actor: "ann"}))
	_, err := approve(ctx, payments, "p", "ann")
	want(t, errors.Is(err, payment.ErrOwnRequest), true)
	want(t, must(approve(ctx, payments, "p", "ben")), payment.StateEndorsed)
	_, err = approve(ctx, payments, "p", "ben")
	want(t, errors.Is(err, payment.ErrSamePerson), true)
	want(t, must(approve(ctx, payments, "p", "cleo")), payment.StateApproved)
}

func TestActive(t *testing.T) {
	ctx := t.Context()
	exports, _ := open(t, export.Migrate, export.Open)
	first, existing, err := request(ctx, exports, "r1", "acme")
	if err != nil || existing {
		t.Fatal(existing, err)
	}
	second, existing, err := request(ctx, exports, "r2", "acme")
	if err != nil || !existing || second != first {
		t.Error(first, second, existing, err)
	}
	record := must(exports.Record(ctx, first))
	started := must(exports.Start(ctx, record, fsm.Call{RequestID: "start"}))
	must(exports.Finish(ctx, started, fsm.Call{RequestID: "finish"}))
	third, existing, err := request(ctx, exports, "r3", "acme")
	if err != nil || existing || third == first {
		t.Error(first, third, existing, err)
	}
}

func TestOutbox(t *testing.T) {
	var keys []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		if len(keys) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	ctx, stop := context.WithCancel(t.Context())
	store := memstore.New()
	if err := notice.Migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	notices := must(notice.Open(ctx, store, poster{server.Client()}, fsm.WithBackoff(time.Millisecond, time.Millisecond)))
	must(notices.Publish(ctx, "n", notice.PublishInput{URL: server.URL, Body: fsm.MustJSON(`{}`)}, fsm.Call{RequestID: "r"}))
	go func() {
		defer stop()
		for must(notices.Record(t.Context(), "n")).State != notice.StateDelivered {
			time.Sleep(time.Millisecond)
		}
	}()
	_ = deliver(ctx, notices, time.Millisecond)
	if !slices.Equal(keys, []string{"n", "n"}) {
		t.Errorf("the receiver saw the keys %q", keys)
	}
}

// vault is a bank that answers, or takes the money and does not answer.
type vault struct {
	silent bool
	calls  int
	took   map[string]int64
}

func (v *vault) Charge(_ context.Context, key string, cents int64) error {
	v.calls++
	if !v.silent {
		return errNoFunds
	}
	v.took[key] = cents
	return errors.New("no answer")
}

func (v *vault) Charged(_ context.Context, key string) (bool, error) { return v.took[key] > 0, nil }

func TestGiveUp(t *testing.T) {
	ctx := t.Context()
	for _, c := range []struct {
		silent bool
		calls  int
		state  bill.State
	}{{true, 5, bill.StatePaid}, {false, 1, bill.StateDue}} {
		v := &vault{silent: c.silent, took: map[string]int64{}}
		teller := &cashier{bank: v}
		bills, clock := open(t, bill.Migrate, func(ctx context.Context, s fsm.Store, opts ...fsm.Option) (*bill.Machine, error) {
			return bill.Open(ctx, s, teller, opts...)
		})
		teller.bills = bills
		must(bills.Send(ctx, "b", bill.SendInput{Amount: 50}, fsm.Call{}))
		must(bills.Charge(ctx, must(bills.Record(ctx, "b")), fsm.Call{}))
		for range 8 {
			_, _ = bills.Deliver(ctx) // an effect that gave up is an error of it
			clock.Advance(time.Hour)
		}
		want(t, v.calls, c.calls)
		want(t, must(bills.Record(ctx, "b")).State, c.state)
	}
}

func TestRefund(t *testing.T) {
	ctx := t.Context()
	sales, _ := open(t, sale.Migrate, sale.Open)
	must(sales.Pay(ctx, "s", sale.PayInput{Paid: 50}, fsm.Call{RequestID: "pay"}))
	want(t, must(refund(ctx, sales, "s", "a", "ben", 20)), 30)
	want(t, must(refund(ctx, sales, "s", "b", "ben", 10)), 20)
	want(t, must(refund(ctx, sales, "s", "a", "ben", 20)), 30) // the first answer again
	_, err := refund(ctx, sales, "s", "c", "ben", 21)
	want(t, errors.Is(err, sale.ErrRefundTooBig), true)
	want(t, must(refund(ctx, sales, "s", "d", "ben", 20)), 0)
	want(t, must(sales.Record(ctx, "s")).State, sale.StateRefunded)
}

// flights is an agency whose hotel is full where full says so.
type flights struct {
	full bool
	did  []string
}

func (f *flights) BookFlight(context.Context, string) (string, error) {
	f.did = append(f.did, "flight")
	return "F1", nil
}

func (f *flights) BookHotel(context.Context, string) (string, error) {
	f.did = append(f.did, "hotel")
	if f.full {
		return "", errFull
	}
	return "H1", nil
}

func (f *flights) CancelFlight(_ context.Context, _, number string) error {
	f.did = append(f.did, "cancel "+number)
	return nil
}

func TestSaga(t *testing.T) {
	ctx := t.Context()
	for full, end := range map[bool]trip.State{false: trip.StateBooked, true: trip.StateCancelled} {
		trips, _ := open(t, trip.Migrate, trip.Open)
		must(trips.Plan(ctx, "t", trip.PlanInput{Traveller: "ann"}, fsm.Call{RequestID: "r"}))
		at := &flights{full: full}
		for range 3 {
			if err := advance(ctx, trips, at); err != nil {
				t.Fatal(err)
			}
		}
		want(t, must(trips.Record(ctx, "t")).State, end)
		want(t, slices.Contains(at.did, "cancel F1"), full)
	}
}

func TestProjection(t *testing.T) {
	ctx := t.Context()
	parcels, _ := open(t, parcel.Migrate, parcel.Open)
	_, err := parcels.Order(ctx, "o")
	want(t, errors.Is(err, fsm.ErrNotFound), true)
	var last parcel.Outcome
	for _, id := range []string{"p1", "p2"} {
		packed := must(parcels.Pack(ctx, id, parcel.PackInput{OrderID: "o"}, fsm.Call{RequestID: "pack " + id}))
		sent := must(parcels.Send(ctx, packed, fsm.Call{RequestID: "send"}))
		want(t, must(parcels.Order(ctx, "o")).State, parcel.OrderStateUnderWay)
		last = sent
		if id == "p1" {
			must(parcels.Receive(ctx, sent, fsm.Call{RequestID: "receive"}))
		}
	}
	must(parcels.Receive(ctx, last, fsm.Call{RequestID: "receive"}))
	want(t, must(complete(ctx, parcels, "o")), true)
	_, err = complete(ctx, parcels, "of nobody")
	want(t, errors.Is(err, fsm.ErrNotFound), true)
}

func TestScheduled(t *testing.T) {
	ctx := t.Context()
	reminders, clock := open(t, reminder.Migrate, reminder.Open)
	at := clock.Now().Add(time.Hour)
	out := must(reminders.Schedule(ctx, "", reminder.ScheduleInput{Text: "call", StartAt: at}, fsm.Call{RequestID: "s"}))
	for i, to := range []time.Time{at.Add(time.Hour), at, at.Add(time.Hour)} { // moved back, and moved again
		r := must(reminders.Record(ctx, out.Record.ID))
		if err := postpone(ctx, reminders, r, fmt.Sprint("move ", i), to); err != nil {
			t.Fatal(err)
		}
		want(t, must(reminders.Record(ctx, r.ID)).StartAt.Equal(to), true)
	}
	var sent []string
	send := func(text string) error { sent = append(sent, text); return nil }
	for _, n := range []int{0, 1, 1} {
		clock.Advance(time.Hour)
		if err := remind(ctx, reminders, send); err != nil {
			t.Fatal(err)
		}
		want(t, len(sent), n)
	}
}

func TestCancel(t *testing.T) {
	ctx := t.Context()
	builds, _ := open(t, build.Migrate, build.Open)
	queued := must(builds.As("w1").Submit(ctx, "", fsm.Call{}))
	running := must(queued.Start(ctx))
	why, call := build.CancelInput{Why: "a newer commit"}, fsm.Call{RequestID: "c"}
	must(builds.Cancel(ctx, running, why, call))
	want(t, must(upload(ctx, running)), true)
	call.RequestID = "c2"
	again := must(builds.Cancel(ctx, must(builds.Record(ctx, running.Record().ID)), why, call))
	want(t, again.RecordOnly, true)
}

func TestRename(t *testing.T) {
	ctx := t.Context()
	store := must(sqlite.Open(filepath.Join(t.TempDir(), "tickets.db")))
	defer store.Close()
	if err := ticket1.Migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	old := must(ticket1.Open(ctx, store))
	must(old.Create(ctx, "t", ticket1.CreateInput{Priority: ticket1.PriorityHigh}, fsm.Call{RequestID: "r"}))
	tickets := must(upgrade(ctx, store))
	record := must(tickets.Record(ctx, "t"))
	want(t, record.Severity, ticket2.SeverityUrgent)
	out := must(tickets.Solve(ctx, record, fsm.Call{RequestID: "s"}))
	want(t, out.Record.State, ticket2.StateSolved)
	for f, err := range audit.Run(ctx, tickets) {
		t.Error(f, err)
	}
}

func TestMoveIn(t *testing.T) {
	ctx := t.Context()
	store := must(sqlite.Open(filepath.Join(t.TempDir(), "jobs.db")))
	defer store.Close()
	if err := job.Migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	jobs, since := must(job.Open(ctx, store)), time.Now().Add(-time.Hour).Truncate(time.Microsecond)
	page := []oldJob{
		{ID: "a", Status: "NEW", Created: since},
		{ID: "b", Status: "BUSY", Worker: "w1", Lease: since.Add(time.Minute), Created: since},
		{ID: "c", Status: "OK", Created: since},
		{ID: "d", Status: "BUSY", Created: since},
	}
	_, err := moveIn(ctx, jobs, page)
	want(t, errors.Is(err, fsm.ErrInvalidInput), true) // d has no lease
	for _, n := range must(jobs.Count(ctx)) {
		want(t, n, 0)
	}
	for _, replayed := range []bool{false, true} {
		for _, out := range must(moveIn(ctx, jobs, page[:3])) {
			want(t, out.Replayed, replayed)
			want(t, out.Record.CreatedAt.Equal(since), true)
		}
	}
	want(t, must(jobs.Core().Sweep(ctx)), 1)
	want(t, must(jobs.Record(ctx, "b")).State, job.StateQueued)
	for f, err := range audit.Run(ctx, jobs) {
		t.Errorf("audit: %v, %v", f, err)
	}
}
