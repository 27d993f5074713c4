package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// Machine is a machine to look at: a generated one, or its engine.
type Machine[R any] interface {
	Core() *fsm.Machine[R]
}

// Options are the settings of an audit.
type Options[R any] struct {
	// Probes are asked about the records that can be decoded: see Run.
	Probes []fsmimpl.Probe[R]
	// Progress is called after every page of records and at the end, in the
	// goroutine of the audit. Total is the number of records when it began.
	Progress func(done, total int64)
	// Groups is how many groups of a projection are followed in one pass over the
	// log; with more of them it is read again. Zero is 16384.
	Groups int
	// Apart leaves what HealthOf tells as it was: somebody looks, who may leave before the end.
	Apart bool
}

// Run reads every record and its whole log and yields what is wrong with
// them; nothing at all when everything is right. It never writes. An error of the
// store ends it; a probe that fails is a finding, and the audit goes on.
// Records are read in pages, so it may run beside other work; each record
// is compared with its log in one consistent snapshot. What it keeps in memory
// does not grow with the number of records or the length of a log. Where the
// machine has a projection with transitions, it reads the log of all records at
// the end, once for some thousand groups, and twice where it finds something.
// What it found so far is told by HealthOf, and at the end to the machine's observer.
//
// A machine whose specification has probes makes them of the program's Probes. Without
// them the audit does not ask the world:
//
//	for finding, err := range audit.Run(ctx, jobs, jobs.Probes(world)...) {
func Run[R any](ctx context.Context, m Machine[R], probes ...fsmimpl.Probe[R]) iter.Seq2[Finding, error] {
	return RunWith(ctx, m, Options[R]{Probes: probes})
}

// RunWith is Run with settings.
func RunWith[R any](ctx context.Context, m Machine[R], o Options[R]) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		engine := of(m)
		ctx, observed := engine.Observe(ctx)
		health := engine.Health
		if o.Apart {
			health = new(inspect.State)
		}
		run := health.Begin(true, engine.Now())
		err := engine.audit(ctx, &o, run, func(f inspect.Finding) bool {
			run.Found(&f)
			return yield(Finding(f), nil)
		})
		switch found := run.End(err, engine.Now()); {
		case err == nil:
			observed(found, nil)
		case err == errBrokenOff: //nolint:errorlint // it is not wrapped
			observed(nil, nil)
		default:
			observed(nil, err)
		}
		if err != nil && err != errBrokenOff { //nolint:errorlint // it is not wrapped
			yield(Finding{}, err)
		}
	}
}

// machine is the machine that is looked at.
type machine[R any] struct {
	*inspect.Engine[R]
	requests []string // those of the machine that were read last
	under    map[string][]requestPlace
}

// keptRequests is how many of them are kept: a record has few events of calls on many.
const keptRequests = 16

// requestPlace is where an event of a request stands.
type requestPlace struct {
	number int64
	id     string
	rev, n int64
}

// of returns the machine as this package works with it.
func of[R any](m Machine[R]) *machine[R] { return &machine[R]{Engine: m.Core().Engine()} }

// errBrokenOff ends an audit whose reader has had enough.
var errBrokenOff = errors.New("the reader stopped the audit")

func (m *machine[R]) audit(ctx context.Context, o *Options[R], run *inspect.CheckRun, yield func(inspect.Finding) bool) error {
	total, err := m.total(ctx)
	if err != nil {
		return err
	}
	run.Expect(total)
	var done int64
	report := func() {
		if o.Progress != nil {
			o.Progress(done, total)
		}
	}
	for row, err := range inspect.Rows(ctx, m.Table, driver.Query{}) {
		var found []inspect.Finding
		if err == nil {
			found, err = m.auditRecord(ctx, row.ID, o.Probes)
		}
		if err != nil {
			return err
		}
		quarantined := false
		for _, f := range found {
			quarantined = quarantined || f.Must && f.Check != CheckProbe
			if !yield(f) {
				return errBrokenOff
			}
		}
		run.Record(quarantined)
		if done++; done%inspect.PageSize == 0 {
			report()
		}
	}
	shared, err := m.auditUniques(ctx, yield)
	if err != nil {
		return err
	}
	if err := m.auditIndexes(ctx, shared, yield); err != nil {
		return err
	}
	if err := m.auditOrphans(ctx, yield); err != nil {
		return err
	}
	if err := m.auditProjection(ctx, cmp.Or(o.Groups, maxGroups), yield); err != nil {
		return err
	}
	report()
	return nil
}

// total counts the records.
func (m *machine[R]) total(ctx context.Context) (n int64, err error) {
	err = m.Table.View(ctx, func(r driver.Reader) (err error) {
		n, err = r.Count(driver.Query{})
		return err
	})
	return n, err
}

func (m *machine[R]) auditOrphans(ctx context.Context, yield func(inspect.Finding) bool) error {
	for after := ""; ; {
		var ids []string
		err := m.Table.View(ctx, func(r driver.Reader) (err error) {
			ids, err = r.Orphans(after, inspect.PageSize)
			return err
		})
		if err != nil {
			return err
		}
		for _, id := range ids {
			after = id
			if !yield(inspect.Finding{ID: id, Check: CheckOrphan, Must: true, Message: "the log has no record"}) {
				return errBrokenOff
			}
		}
		if len(ids) < inspect.PageSize {
			return nil
		}
	}
}

// auditRecord inspects one record.
func (m *machine[R]) auditRecord(ctx context.Context, id string, probes []fsmimpl.Probe[R]) ([]inspect.Finding, error) {
	x := m.inspection(id)
	var rec R
	decoded := false
	err := m.Table.View(ctx, func(r driver.Reader) error {
		x = m.inspection(id)
		decoded = false
		row, err := r.Row(id)
		if errors.Is(err, driver.ErrNotFound) {
			return nil // it was purged since its page was read
		}
		if err != nil {
			return err
		}
		if err := x.log(r); err != nil {
			return err
		}
		if rec, decoded = x.row(&row); decoded {
			x.found = append(x.found, m.far(&row)...)
		}
		return nil
	})
	if err != nil || !decoded {
		return x.found, err
	}
	for _, p := range probes {
		if !p.In(&rec) {
			continue
		}
		said := fsmimpl.Violation{Rule: p.Name, Must: true, Message: p.Message}
		ok, err := asked(ctx, &p, rec)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			said.Message = "the probe failed: " + err.Error()
		}
		if !ok || err != nil {
			x.found = append(x.found, inspect.Finding{ID: id, Check: CheckProbe, Must: true, Message: said.String()})
		}
	}
	return x.found, nil
}

// asked asks the probe and makes an error of a panic.
func asked[R any](ctx context.Context, p *fsmimpl.Probe[R], r R) (ok bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
		}
	}()
	return p.Ask(ctx, r)
}
