package audit

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// inspection returns the inspection of one record.
func (m *machine[R]) inspection(id string) *inspection[R] {
	return &inspection[R]{m: m.Engine, around: m, id: id}
}

// maxFindings bounds what is said of one record: a log that is wrong from end
// to end is not worth more.
const maxFindings = 100

// inspection is the audit of one record. What it keeps does not grow with the log.
type inspection[R any] struct {
	m        *inspect.Engine[R]
	around   *machine[R] // what it knows of the records before
	id       string
	folded   driver.Row
	foldErr  error  // of the fold; not looked at any more after one
	state    string // where the log is now
	rev, n   int64
	stepped  uint32 // Chain of the newest transition
	last     uint32 // Chain of the newest event
	chained  bool   // the store keeps chains
	requests requestFilter
	purged   bool          // the log says that the record was purged
	blurred  bool          // something of the log was erased, so that the fold does not say what there was
	erased   *driver.Event // the first event of which something was erased, until a redaction follows
	// What an event that cannot be read leaves unknown:
	noState, noStep, noLast bool // state; stepped; last
	found                   []inspect.Finding
}

func (x *inspection[R]) report(e *driver.Event, check, format string, args ...any) {
	f := inspect.Finding{ID: x.id, Check: check, Must: true, Message: fmt.Sprintf(format, args...)}
	if e != nil {
		f.Rev, f.N = e.Rev, e.N
	}
	x.add(f)
}

func (x *inspection[R]) add(f inspect.Finding) {
	switch len(x.found) {
	case maxFindings:
		f.Message = fmt.Sprintf("more is wrong with this record than the %d findings before this one; the next: %s", maxFindings, f.Message)
		fallthrough
	default:
		if len(x.found) <= maxFindings {
			x.found = append(x.found, f)
		}
	}
}

// log looks at all events.
func (x *inspection[R]) log(r driver.Reader) error {
	for e, err := range r.Events(x.id, 0) {
		var unreadable *driver.EventError
		switch {
		case errors.As(err, &unreadable):
			x.unreadable(unreadable)
			continue
		case err != nil:
			return err
		}
		if e.Operation == driver.OpPurge && e.RecordOnly() {
			x.purged = true
		}
		if err := x.event(r, &e); err != nil {
			return err
		}
	}
	if x.erased != nil && !x.purged {
		x.report(x.erased, CheckHistory, "something of the event was erased, and no redaction that says so follows it")
	}
	return nil
}

// unreadable looks at an event of which only its place is known. The fold ends,
// and what it would have told the next event is not asked of that one.
func (x *inspection[R]) unreadable(err *driver.EventError) {
	e := driver.Event{ID: err.ID, Rev: err.Rev, N: err.N}
	x.report(&e, CheckSum, "%v", err)
	x.noLast = true
	if x.n = e.N; e.RecordOnly() {
		return
	}
	x.rev, x.noState, x.noStep = e.Rev, true, true
	x.foldErr = inspect.ErrLogShort
}

// event looks at the next event of the log.
func (x *inspection[R]) event(r driver.Reader, e *driver.Event) error {
	if sum := driver.Checksum(e); sum != e.Sum {
		x.report(e, CheckSum, "the event's checksum is %08x, it says %08x", sum, e.Sum)
	}
	x.history(e)
	x.blurred = x.blurred || e.Redacted() || e.Operation == driver.OpRedact
	switch {
	case e.Operation == driver.OpRedact && e.Own(x.m.Schema):
		x.erased = nil
	case e.Redacted() && x.erased == nil:
		x.erased = &driver.Event{Rev: e.Rev, N: e.N}
	}
	if e.RecordOnly() {
		x.recorded(e)
	} else {
		x.step(e)
	}
	return x.request(r, e)
}

// history compares the chain with what the events up to here make of it. After
// a difference it goes on from what the event says, so that it is told once;
// after a gap nobody knows.
func (x *inspection[R]) history(e *driver.Event) {
	before, follows := x.stepped, e.Rev == x.rev+1 && !x.noStep
	if e.RecordOnly() {
		before, follows = x.last, e.Rev == x.rev && e.N == x.n+1 && !x.noLast
	}
	x.noLast, x.noStep = false, x.noStep && e.RecordOnly()
	x.chained = x.chained || e.Chain != 0
	if want := driver.Chained(before, e); x.chained && follows && e.Chain != want {
		x.report(e, CheckHistory, "the chain of checksums is %08x here, it says %08x: an event was altered and given a new checksum", want, e.Chain)
	}
	x.last = e.Chain
	if !e.RecordOnly() {
		x.stepped = e.Chain
	}
}

// recorded looks at an event that changed nothing but the log.
func (x *inspection[R]) recorded(e *driver.Event) {
	if e.Rev != x.rev || e.N != x.n+1 {
		x.report(e, CheckNumber, "record-only event %d.%d follows %d.%d", e.Rev, e.N, x.rev, x.n)
	}
	if x.noState {
		x.state, x.noState = e.From, false
	}
	switch {
	case e.From != x.state || e.To != x.state:
		x.report(e, CheckChain, "it was recorded in state %q, the record was in %q", e.From, x.state)
	default:
		x.edge(e)
	}
	x.n = e.N
}

// step looks at a transition. Where one is missing it is not known what the next
// one should have started from, and the fold ends.
func (x *inspection[R]) step(e *driver.Event) {
	if x.noState {
		x.state, x.noState = e.From, false
	}
	switch {
	case e.Rev != x.rev+1:
		x.report(e, CheckRevision, "revision %d follows %d", e.Rev, x.rev)
		if e.Image.IsZero() || x.rev > 0 {
			x.foldErr = inspect.ErrLogShort
		}
	case e.From != x.state:
		x.report(e, CheckChain, "it starts in state %q, the step before it ended in %q", e.From, x.state)
	default:
		x.edge(e)
	}
	x.rev, x.n, x.state = e.Rev, 0, e.To
	if x.foldErr == nil {
		before := x.folded
		before.Values = slices.Clone(before.Values)
		x.fold(e)
		x.moved(&before, e)
	}
}

// moved looks at the rules over a step. An event of another version is judged softly, or not at
// all, as in edge; what was erased is not known.
func (x *inspection[R]) moved(before *driver.Row, e *driver.Event) {
	s := x.m.Schema
	if x.m.Descriptor.Moved == nil || x.foldErr != nil || before.Rev == 0 || x.blurred || e.Version > s.Version || e.Own(s) {
		return
	}
	old, err := x.m.Descriptor.Decode(*before)
	if err != nil {
		return // the row tells what is wrong
	}
	rec, err := x.m.Descriptor.Decode(x.folded)
	if err != nil {
		return
	}
	if rule := x.m.Descriptor.Moved(&old, &rec); rule != "" {
		f := inspect.Finding{ID: x.id, Rev: e.Rev, Check: CheckRule, Must: e.Version == s.Version, Message: "the step breaks the rule " + rule}
		if !f.Must {
			f.Message += fmt.Sprintf("; version %d may have had none, this is version %d", e.Version, s.Version)
		}
		x.add(f)
	}
}

// edge looks whether the machine can take the step, or record the call. An event
// of an older version is judged only as far as its words are known, and softly,
// since that version may have allowed it; one of a later version is not judged.
func (x *inspection[R]) edge(e *driver.Event) {
	s := x.m.Schema
	if e.Version > s.Version || e.Own(s) {
		return
	}
	op := x.m.ByStored[e.Operation]
	known := op != nil && s.Knows(e.To) && (e.From == "" || s.Knows(e.From))
	if e.Version < s.Version && !known {
		return
	}
	problem := ""
	switch {
	case op == nil:
		problem = fmt.Sprintf("no operation is stored as %q", e.Operation)
	case e.Name != op.Event && e.Version == s.Version:
		problem = fmt.Sprintf("operation %s is logged as %q, this event says %q", op.Name, op.Event, e.Name)
	case e.RecordOnly() && !slices.Contains(op.Recorded, e.To):
		problem = fmt.Sprintf("operation %s is never recorded only in state %q", op.Name, e.To)
	case !e.RecordOnly() && !slices.Contains(op.Moves, fsmimpl.Move{From: e.From, To: e.To}):
		problem = fmt.Sprintf("operation %s makes no move from %q to %q", op.Name, e.From, e.To)
	}
	if problem == "" {
		return
	}
	f := inspect.Finding{ID: x.id, Rev: e.Rev, N: e.N, Check: CheckEdge, Must: e.Version == s.Version, Message: problem}
	if !f.Must {
		f.Message += fmt.Sprintf("; version %d may have known it, this is version %d", e.Version, s.Version)
	}
	x.add(f)
}

// fold applies the event; an image must say what the changes up to it say.
func (x *inspection[R]) fold(e *driver.Event) {
	s := x.m.Schema
	plain := *e
	if e.Rev == 1 || x.folded.Rev > 0 {
		plain.Image = driver.JSON{}
	}
	if x.foldErr = x.folded.Fold(s, &plain); x.foldErr != nil {
		x.report(e, CheckFold, "%v", x.foldErr)
		return
	}
	if e.Image.IsZero() {
		return
	}
	image := x.folded
	err := image.FoldImage(s, e)
	if e.Operation == driver.OpImport { // it tells since when the record was elsewhere
		x.folded.CreatedAt, x.folded.UpdatedAt = image.CreatedAt, image.UpdatedAt
	}
	if err != nil {
		x.report(e, CheckFold, "%v", err)
	} else if diff := differs(s, &image, &x.folded); diff != "" {
		x.report(e, CheckFold, "the image and the changes differ: %s", diff)
	}
}

// request looks whether the event's request id stands once in its scope: in the
// record, and where its scope is the machine, there.
func (x *inspection[R]) request(r driver.Reader, e *driver.Event) error {
	if e.RequestID == "" {
		return nil
	}
	if x.requests.met(e.RequestID) { // or seems so: the log knows
		events, err := r.Request(x.id, e.RequestID)
		if inspect.IsUnreadable(err) {
			return nil // which is told
		}
		if err != nil {
			return err
		}
		if len(events) > 0 && (events[0].Rev != e.Rev || events[0].N != e.N) {
			x.report(e, CheckRequest, "request id %q stands at revision %d too", e.RequestID, events[0].Rev)
			return nil
		}
	}
	if e.RequestN < 0 {
		return nil
	}
	_, known := x.around.under[e.RequestID] // of a call on many, whose other records come one after the other
	n, other := x.around.standing(e)
	if n != 1 || !known {
		events, err := r.Request("", e.RequestID)
		if inspect.IsUnreadable(err) {
			return nil
		}
		if err != nil {
			return err
		}
		x.around.noted(e.RequestID, events)
		n, other = x.around.standing(e)
	}
	if n != 1 {
		x.report(e, CheckRequest, "request id %q, number %d, stands %d times%s", e.RequestID, e.RequestN, n, other)
	}
	return nil
}

// noted keeps where the events of a request of the machine stand.
func (m *machine[R]) noted(request string, events []driver.Event) {
	if m.under == nil {
		m.under = map[string][]requestPlace{}
	}
	if _, known := m.under[request]; !known {
		if len(m.requests) == keptRequests {
			delete(m.under, m.requests[0])
			m.requests = m.requests[1:]
		}
		m.requests = append(m.requests, request)
	}
	list := make([]requestPlace, len(events))
	for i := range events {
		at := &events[i]
		list[i] = requestPlace{at.RequestN, at.ID, at.Rev, at.N}
	}
	m.under[request] = list
}

// standing counts how often the number of the event's request stands under it, and says where another event has it.
func (m *machine[R]) standing(e *driver.Event) (n int, other string) {
	list := m.under[e.RequestID]
	i, _ := slices.BinarySearchFunc(list, e.RequestN, func(at requestPlace, n int64) int { return cmp.Compare(at.number, n) })
	for ; i < len(list) && list[i].number == e.RequestN; i++ {
		n++
		if at := list[i]; at.id != e.ID || at.rev != e.Rev || at.n != e.N { // a store may know of one only
			n, other = max(n, 2), fmt.Sprintf(", at revision %d of %q too", at.rev, at.id)
		}
	}
	return n, other
}

// row compares the row with its log and its rules. A row that cannot be decoded
// or breaks a rule is not reported again for differing from its log.
func (x *inspection[R]) row(row *driver.Row) (rec R, decoded bool) {
	diff := ""
	if x.foldErr == nil && x.folded.Rev > 0 {
		diff = differs(x.m.Schema, row, &x.folded)
	}
	found, rec, decoded := inspect.OfRow(x.m, row, func(text string) string {
		if diff != "" {
			text += "; the log says otherwise: " + diff
		}
		return text
	})
	must := false
	for _, f := range found {
		x.add(f)
		must = must || f.Must
	}
	switch {
	case !decoded || x.foldErr != nil || must && diff != "":
	case x.folded.Rev == 0:
		x.report(nil, CheckFold, "the record has no log")
	case x.folded.Rev > row.Rev:
		x.report(nil, CheckBeyond, "the record is at revision %d, its log goes on to %d", row.Rev, x.folded.Rev)
	case diff != "":
		x.report(nil, CheckFold, "the record differs from the fold of its log: %s", diff)
	}
	return rec, decoded
}

// differs says in which column two rows differ; empty when in none.
func differs(s *driver.Schema, a, b *driver.Row) string {
	switch {
	case a.State != b.State:
		return fmt.Sprintf("state is %q, not %q", a.State, b.State)
	case a.Rev != b.Rev:
		return fmt.Sprintf("rev is %d, not %d", a.Rev, b.Rev)
	case !a.CreatedAt.Equal(b.CreatedAt):
		return fmt.Sprintf("created_at is %v, not %v", a.CreatedAt, b.CreatedAt)
	case !a.UpdatedAt.Equal(b.UpdatedAt):
		return fmt.Sprintf("updated_at is %v, not %v", a.UpdatedAt, b.UpdatedAt)
	}
	for i := range s.Columns {
		if !driver.Same(a.Values[i], b.Values[i]) {
			return fmt.Sprintf("%s is %v, not %v", s.Columns[i].Name, told(a.Values[i]), told(b.Values[i]))
		}
	}
	return ""
}

// told returns a value of a row as a finding tells it.
func told(v any) any {
	if v == nil {
		return "absent"
	}
	return v
}

// requestFilter knows which request ids a log has shown so far, in memory that
// is bounded: past a few it may take a new one for known, never the other way
// round.
type requestFilter struct {
	few  map[string]bool
	bits []uint64
}

const (
	filterFew  = 256
	filterBits = 1 << 19
)

// met notes an id and reports whether it seems to be there already.
func (f *requestFilter) met(id string) bool {
	if f.bits == nil {
		if f.few[id] {
			return true
		}
		if len(f.few) < filterFew {
			if f.few == nil {
				f.few = map[string]bool{}
			}
			f.few[id] = true
			return false
		}
		f.bits = make([]uint64, filterBits/64)
		for old := range f.few {
			f.set(old)
		}
		f.few = nil
	}
	return f.set(id)
}

// set sets the bits of an id and reports whether they were set.
func (f *requestFilter) set(id string) bool {
	h := fnv.New64a()
	h.Write([]byte(id)) // never fails
	sum := h.Sum64()
	known := true
	for _, bit := range [2]uint64{sum % filterBits, sum >> 32 % filterBits} {
		mask := uint64(1) << (bit % 64)
		known = known && f.bits[bit/64]&mask != 0
		f.bits[bit/64] |= mask
	}
	return known
}
