package etcdstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/etcdstore"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

var (
	began = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	clock = fsm.WithClock(func() time.Time { return began })
)

func openParcels(t testing.TB, store fsm.Store, opts ...fsm.Option) (*machine, error) {
	t.Helper()
	s := storetest.Schema()
	if err := fsmimpl.Migrate(t.Context(), store, s); err != nil {
		t.Fatal(err)
	}
	none := func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error { return nil }
	d := storetest.Descriptor(s)
	d.Projection = storetest.Lanes()
	return fsm.NewMachine(t.Context(), store, d,
		map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": none, "carry": none, "notify": none}, opts...)
}

func connect(t testing.TB, c *clientv3.Client, prefix string) *etcdstore.Store {
	t.Helper()
	store, err := etcdstore.New(t.Context(), c, etcdstore.WithPrefix(prefix), etcdstore.WithTryTimeout(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func must(t testing.TB) func(fsm.Outcome[storetest.Parcel], error) fsm.Outcome[storetest.Parcel] {
	return func(out fsm.Outcome[storetest.Parcel], err error) fsm.Outcome[storetest.Parcel] {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// fill makes parcels: p1 with a long life, p2 and p3 shelved, p4 waiting, p5 sent.
func fill(t testing.TB, m *machine) {
	t.Helper()
	ctx := t.Context()
	meta := func(request string) storetest.Meta {
		return storetest.Meta{RequestID: request, Actor: "ann", Reason: "why"}
	}
	register := func(id, label string) fsm.Outcome[storetest.Parcel] {
		return must(t)(m.Create(ctx, storetest.Register(meta("new-"+id), storetest.RegisterInput{ID: id, Lane: "a", Label: fsm.Some(label)})))
	}
	step := func(p fsm.Outcome[storetest.Parcel], c fsmimpl.Call[storetest.Parcel]) fsm.Outcome[storetest.Parcel] {
		return must(t)(m.Apply(ctx, p, c))
	}
	p := register("p1", "one")
	for i := range 70 { // past the first image
		p = step(p, storetest.Annotate(meta(fmt.Sprintf("note-%d", i)), fsm.Optional[fsm.JSON]{}, fsm.Some("small"), fsm.Some(i%2 == 0)))
	}
	p = step(p, storetest.Hold(meta("hold-1"), "a", began.Add(time.Hour)))
	for i := range 3 { // recorded only: somebody else touches it
		step(p, storetest.Touch(storetest.Meta{RequestID: fmt.Sprintf("touch-%d", i), Actor: "bob"}, began))
	}
	step(p, storetest.Touch(meta("touch"), began.Add(2*time.Hour)))
	for _, id := range []string{"p2", "p3"} {
		p := step(register(id, id), storetest.Hold(meta("hold-"+id), "a", began))
		step(p, storetest.Shelve(meta("shelve-"+id), "slot-"+id, "t"))
	}
	register("p4", "four")
	p = step(register("p5", "five"), storetest.Hold(meta("hold-5"), "a", began))
	p = step(p, storetest.Shelve(meta("shelve-5"), "slot-5", "t"))
	step(p, storetest.Send(meta("send-5")))
}

// crammed puts one parcel more into lane a than its guard lets in, as a program
// would that does not ask: the record and its log are sound.
func crammed(t testing.TB, m *machine) {
	t.Helper()
	for _, id := range []string{"p6", "p7"} {
		p := must(t)(m.Create(t.Context(), storetest.Register(storetest.Meta{}, storetest.RegisterInput{ID: id, Lane: "a"})))
		p = must(t)(m.Apply(t.Context(), p, storetest.Hold(storetest.Meta{Actor: "ann"}, "a", began)))
		must(t)(m.Apply(t.Context(), p, storetest.Unasked(storetest.Shelve(storetest.Meta{}, "slot-"+id, "t"))))
	}
}

// indexes returns the keys by which a record is found, and what they say.
func indexes(list []*mvccpb.KeyValue, prefix, id string) (found []string) {
	for _, kv := range list {
		key := strings.TrimPrefix(string(kv.Key), prefix)
		if text := key + " = " + string(kv.Value); slices.Contains([]string{"i/", "x/", "c/"}, key[:2]) && strings.Contains(text, id) {
			found = append(found, text)
		}
	}
	return found
}

// Faults are planted in the keys, past the store. The audit reports each by exactly
// its check, and Repair corrects what the log tells.
func TestCorpus(t *testing.T) {
	t.Parallel()
	c, err := clientv3.New(config(serve(t, newData())))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	m, err := openParcels(t, connect(t, c, "corpus/"), clock)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, m)
	original := keys(t, c, "corpus/")
	for i, f := range corpus {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			prefix := fmt.Sprintf("corpus%d/", i)
			copyTo(t, c, original, "corpus/", prefix)
			store := connect(t, c, prefix)
			h := &hand{t, c, prefix + "parcel/"}
			if f.plant == nil {
				m, err := openParcels(t, store, clock)
				if err != nil {
					t.Fatal(err)
				}
				crammed(t, m)
			} else {
				f.plant(h)
			}
			if f.resum != nil {
				table, err := store.Table(storetest.Schema())
				if err != nil {
					t.Fatal(err)
				}
				h.resum(table, f.resum.ID, f.resum.Rev, f.resum.N, !f.keep)
			}
			audited(t, store, &f)
			m := opened(t, store, &f)
			if m == nil || f.want == "" || f.plant == nil {
				return
			}
			if f.open != "" {
				quarantined(t, m, &f)
			}
			repair(t, m, h, original, &f)
		})
	}
}

// audited expects exactly what the fault is.
func audited(t *testing.T, store fsm.Store, f *planted) {
	m, err := openParcels(t, store, fsm.WithOpenCheck(-1), clock)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for finding, err := range audit.Run(t.Context(), m) {
		if err != nil {
			t.Fatal(err)
		}
		t.Log(finding)
		if text := finding.Check + " " + finding.ID; !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	if d := cmp.Diff(f.want, strings.Join(found, ", ")); d != "" {
		t.Errorf("the audit (-want +got):\n%s", d)
	}
}

// opened opens the machine with the check at open; nil where that refuses.
func opened(t *testing.T, store fsm.Store, f *planted) *machine {
	m, err := openParcels(t, store, clock)
	if refused := errors.Is(err, fsm.ErrNotUnique); refused != (f.open == "refused") || !refused && err != nil {
		t.Fatalf("open: %v, want %q", err, f.open)
	}
	if err != nil {
		return nil
	}
	got := ""
	h := audit.HealthOf(m)
	for check := range h.Findings {
		got += check
	}
	if got != f.open || h.Quarantined != int64(len(h.Findings)) || h.Running || h.Full {
		t.Errorf("the check at open counted %v, %d quarantined, want %q", h.Findings, h.Quarantined, f.open)
	}
	return m
}

// note is a call that a sound record which is not terminal takes.
func note() fsmimpl.Call[storetest.Parcel] {
	return storetest.Annotate(storetest.Meta{Actor: "ann"}, fsm.Optional[fsm.JSON]{}, fsm.Some("large"), fsm.Optional[bool]{})
}

// quarantined: the record can be read and not be moved.
func quarantined(t *testing.T, m *machine, f *planted) {
	check, id, _ := strings.Cut(f.want, " ")
	p, err := m.Record(t.Context(), id)
	if !errors.Is(err, fsm.ErrQuarantined) || p.ID != id {
		t.Errorf("Record: %q, %v, want the record and ErrQuarantined", p.ID, err)
	}
	targets := []fsm.Target{fsm.Ref{ID: id}}
	if check != audit.CheckDecode { // such a record comes without its values
		targets = append(targets, p)
	}
	for _, target := range targets {
		if _, err := m.Apply(t.Context(), target, note()); !errors.Is(err, fsm.ErrQuarantined) {
			t.Errorf("Apply at %T: %v, want ErrQuarantined", target, err)
		}
	}
	outs, err := m.Pick(t.Context(), 10, storetest.Hold(storetest.Meta{Actor: "ann"}, "a", began))
	if err != nil && !errors.Is(err, fsm.ErrNothingToDo) {
		t.Error(err)
	}
	for _, out := range outs {
		if out.Record.ID == id {
			t.Errorf("%s was picked", id)
		}
	}
}

// repair: what is wrong with a row is mended from its log, and the record goes on;
// what is wrong with a log is not touched.
func repair(t *testing.T, m *machine, h *hand, original []*mvccpb.KeyValue, f *planted) {
	check, id, _ := strings.Cut(f.want, " ")
	log := func() (list []fsm.Event) {
		for e, err := range m.History(t.Context(), id) {
			if unreadable := (*driver.EventError)(nil); err != nil && !errors.Is(err, fsm.ErrNotFound) && !errors.As(err, &unreadable) {
				t.Fatal(err)
			}
			list = append(list, e)
		}
		return list
	}
	was := log()
	p, repaired, err := audit.Repair(t.Context(), m, id, "root", "the corpus")
	if f.resum != nil || !slices.Contains([]string{"decode", "rule", "fold", "beyond", "orphan", "index"}, check) ||
		f.name == "C08 a record without a log" || f.name == "a key of no record" {
		if !errors.Is(err, fsm.ErrQuarantined) && !errors.Is(err, fsm.ErrNotFound) {
			t.Errorf("Repair: %v, want ErrQuarantined or ErrNotFound", err)
		}
		if d := cmp.Diff(was, log(), cmp.AllowUnexported(fsm.JSON{})); d != "" {
			t.Errorf("the log changed (-want +got):\n%s", d)
		}
		return
	}
	if err != nil || !repaired || p.ID != id {
		t.Fatalf("Repair: %v, %t, %v", p.Ref(), repaired, err)
	}
	now := log()
	if d := cmp.Diff(was, now[:len(was)], cmp.AllowUnexported(fsm.JSON{})); d != "" || len(now) != len(was)+1 || now[len(was)].Actor != "root" {
		t.Errorf("the log (-want +got):\n%s", d)
	}
	if d := cmp.Diff(indexes(original, "corpus/parcel/", id), indexes(keys(t, h.client, h.prefix), h.prefix, id)); d != "" {
		t.Errorf("the indexes after the repair (-want +got):\n%s", d)
	}
	if p.State != "sent" {
		must(t)(m.Apply(t.Context(), p, note()))
	}
	for f, err := range audit.Run(t.Context(), m) {
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("audit after the repair: %v", f)
	}
}
