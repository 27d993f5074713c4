package storetest

import (
	"slices"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// The operations of the suite's machine.
var (
	opRegister = &fsmimpl.Operation[Parcel]{Name: "register", Stored: "register", Event: "register", By: fsmimpl.ByCaller, Creates: true, Dedupe: "dedupe_register"}
	opHold     = &fsmimpl.Operation[Parcel]{Name: "hold", Stored: "hold", Event: "hold", By: fsmimpl.ByCaller, From: []string{"waiting"}, NeedActor: true,
		Picks: true, Order: []driver.Order{{Column: "weight", Descending: true}}}
	opTouch    = &fsmimpl.Operation[Parcel]{Name: "touch", Stored: "touch", Event: "touch", By: fsmimpl.ByCaller, From: []string{"held"}, NeedActor: true}
	opAnnotate = &fsmimpl.Operation[Parcel]{Name: "annotate", Stored: "annotate", Event: "annotate", By: fsmimpl.ByCaller, From: []string{"waiting", "held", "shelved"}, Each: 60}
	opShelve   = &fsmimpl.Operation[Parcel]{Name: "shelve", Stored: "shelve", Event: "shelve", By: fsmimpl.ByCaller, From: []string{"held", "shelved"}, Each: 5}
	opWeigh    = &fsmimpl.Operation[Parcel]{Name: "weigh", Stored: "weigh", Event: "weigh", By: fsmimpl.ByCaller, From: []string{"waiting", "held", "shelved"}}
	opVerify   = &fsmimpl.Operation[Parcel]{Name: "verify", Stored: "verify", Event: "verify", By: fsmimpl.ByCaller, From: []string{"waiting", "held", "shelved"}, Each: 5}
	opRelease  = &fsmimpl.Operation[Parcel]{Name: "release", Stored: "release", Event: "release", By: fsmimpl.BySystem, From: []string{"held"},
		Triggers: []fsmimpl.Trigger{{Startup: true}, {After: "due"}}}
	opBill = &fsmimpl.Operation[Parcel]{Name: "bill", Stored: "bill", Event: "bill", By: fsmimpl.ByCaller, From: []string{"waiting", "held"}, Each: 3,
		Asks: []*fsmimpl.EffectInfo[Parcel]{{Name: "charge", Atomic: true, Key: func(p *Parcel) string { return p.Lane }}}}
	opExpel   = &fsmimpl.Operation[Parcel]{Name: "expel", Stored: "expel", Event: "expel", By: fsmimpl.ByOperator, From: []string{"held"}, NeedActor: true, Then: "discard", Each: 5}
	opDiscard = &fsmimpl.Operation[Parcel]{Name: "discard", Stored: "discard", Event: "discard", By: fsmimpl.BySystem, From: []string{"waiting"}}

	opDispatch = &fsmimpl.Operation[Parcel]{Name: "dispatch", Stored: "dispatch", Event: "dispatch", By: fsmimpl.ByCaller, From: []string{"shelved"},
		Asks: []*fsmimpl.EffectInfo[Parcel]{{Name: "carry", Then: "arrive"}}}
	opArrive = &fsmimpl.Operation[Parcel]{Name: "arrive", Stored: "arrive", Event: "arrive", By: fsmimpl.BySystem, From: []string{"shelved"}}
	opSend   = &fsmimpl.Operation[Parcel]{Name: "send", Stored: "send", Event: "send", By: fsmimpl.ByCaller, From: []string{"shelved"},
		Asks: []*fsmimpl.EffectInfo[Parcel]{{Name: "notify"}}}
)

// The calls name their operations, so the operations get to know their calls late.
func init() {
	for op, call := range map[*fsmimpl.Operation[Parcel]]func() fsmimpl.Call[Parcel]{
		opRelease: Release, opDiscard: Discard, opArrive: Arrive,
	} {
		op.System = func(*Parcel, time.Time) (fsmimpl.Call[Parcel], error) { return call(), nil }
	}
	opRegister.Moves = []fsmimpl.Move{{To: "waiting"}}
	for op, to := range map[*fsmimpl.Operation[Parcel]]string{
		opHold: "held", opTouch: "", opAnnotate: "", opWeigh: "", opVerify: "", opShelve: "shelved", opRelease: "waiting", opBill: "",
		opExpel: "waiting", opDiscard: "sent", opDispatch: "", opArrive: "sent", opSend: "sent",
	} {
		for _, from := range op.From {
			mv := fsmimpl.Move{From: from, To: to}
			if to == "" { // it stays
				mv.To = from
			}
			op.Moves = append(op.Moves, mv)
		}
	}
	opTouch.Recorded = []string{"held", "sent"}
	opWeigh.Recorded = []string{"sent"}
	opVerify.Recorded = opVerify.From
	opRegister.Feeds = []fsmimpl.Feed{{Input: "label", Column: "label"}, {Input: "lane", Column: "lane"}, {Input: "weight", Column: "weight"}, {Input: "tags", Column: "tags"}}
	opHold.Feeds = []fsmimpl.Feed{{Input: "lane", Column: "lane"}, {Input: "due", Column: "due"}}
	opTouch.Feeds = []fsmimpl.Feed{{Input: "due", Column: "due"}}
	opAnnotate.Feeds = []fsmimpl.Feed{{Input: "note", Column: "note"}, {Input: "size", Column: "size"}, {Input: "fragile", Column: "fragile"}}
	opShelve.Feeds = []fsmimpl.Feed{{Input: "tag", Column: "tags"}, {Input: "slot", Column: "slot"}}
	opWeigh.Feeds = []fsmimpl.Feed{{Input: "grams", Column: "weight"}}
	opVerify.Feeds = []fsmimpl.Feed{{Input: "seen", Column: "weight"}}
}

// Descriptor returns the descriptor of the suite's machine over schema.
func Descriptor(schema *driver.Schema) *fsmimpl.Descriptor[Parcel] {
	return &fsmimpl.Descriptor[Parcel]{
		Schema: schema, Encode: Encode, Decode: Decode, Check: Check,
		Operations: []*fsmimpl.Operation[Parcel]{
			opRegister, opHold, opTouch, opAnnotate, opShelve, opWeigh, opVerify, opRelease,
			opBill, opExpel, opDiscard, opDispatch, opArrive, opSend,
		},
	}
}

// Meta is what every call of a caller carries.
type Meta struct {
	RequestID string
	Actor     string
	Reason    string
	At        time.Time
	Labels    map[string]string
}

func (m Meta) call(op *fsmimpl.Operation[Parcel], inputs ...driver.Input) fsmimpl.Call[Parcel] {
	return fsmimpl.Call[Parcel]{
		Operation: op, Caller: fsmimpl.Caller{RequestID: m.RequestID, Actor: m.Actor, Reason: m.Reason, At: m.At, Labels: m.Labels}, Inputs: inputs,
	}
}

// RegisterInput holds the inputs of Register.
type RegisterInput struct {
	ID     string
	Label  fsm.Optional[string]
	Lane   string
	Weight fsm.Optional[int64]
	Tags   fsm.Set
}

// Register makes a parcel.
func Register(m Meta, in RegisterInput) fsmimpl.Call[Parcel] {
	tags, _ := in.Tags.MarshalJSON()
	c := m.call(opRegister,
		driver.Input{Name: "label", Value: column(in.Label), Kind: driver.KindString},
		driver.Input{Name: "lane", Value: in.Lane, Kind: driver.KindString},
		driver.Input{Name: "weight", Value: column(in.Weight), Kind: driver.KindInt},
		driver.Input{Name: "tags", Value: string(tags), Kind: driver.KindSet})
	c.ID = in.ID
	if label, ok := in.Label.Get(); ok {
		c.Dedupe = []any{label}
	}
	c.Decide = func(p *Parcel, id string, _ []int64, now time.Time) (fsmimpl.Step, error) {
		if in.Lane == "" {
			return fsmimpl.Step{}, p.refuse(opRegister, fsm.ErrInvalidInput, "lane")
		}
		*p = Parcel{
			ID: id, State: "waiting", Rev: 1, CreatedAt: now, UpdatedAt: now,
			Label: in.Label, Lane: in.Lane, Weight: in.Weight, Tags: in.Tags,
		}
		return fsmimpl.Step{To: "waiting"}, nil
	}
	return c
}

// Hold takes a waiting parcel of a lane until due.
func Hold(m Meta, lane string, due time.Time) fsmimpl.Call[Parcel] {
	c := m.call(opHold,
		driver.Input{Name: "lane", Value: lane, Kind: driver.KindString},
		driver.Input{Name: "due", Value: driver.Time(due), Kind: driver.KindTime, Loose: true})
	c.Where = []driver.Cond{{Column: "lane", Op: driver.OpEq, Value: lane}}
	c.Fits = func(p *Parcel, _ time.Time) bool { return p.Lane == lane }
	c.Decide = func(p *Parcel, _ string, _ []int64, now time.Time) (fsmimpl.Step, error) {
		return p.move(opHold, "held", now, func() {
			p.Holder, p.Due = fsm.Some(m.Actor), fsm.Some(driver.Time(due))
		})
	}
	return c
}

// Touch moves the end of a hold. The wrong holder is recorded only.
func Touch(m Meta, due time.Time) fsmimpl.Call[Parcel] {
	c := m.call(opTouch, driver.Input{Name: "due", Value: driver.Time(due), Kind: driver.KindTime, Loose: true})
	c.Decide = func(p *Parcel, _ string, _ []int64, now time.Time) (fsmimpl.Step, error) {
		if p.State == "sent" {
			return fsmimpl.Step{From: p.State, To: p.State, RecordOnly: true}, nil
		}
		if p.State == "held" && p.Holder != fsm.Some(m.Actor) {
			return fsmimpl.Step{From: p.State, To: p.State, RecordOnly: true, Guard: "right_holder"}, nil
		}
		return p.move(opTouch, "held", now, func() { p.Due = fsm.Some(driver.Time(due)) })
	}
	return c
}

// Annotate sets note, size and fragile; what is absent becomes absent.
func Annotate(m Meta, note fsm.Optional[fsm.JSON], size fsm.Optional[string], fragile fsm.Optional[bool]) fsmimpl.Call[Parcel] {
	var text any
	if j, ok := note.Get(); ok {
		text = j.String()
	}
	c := m.call(opAnnotate,
		driver.Input{Name: "note", Value: text, Kind: driver.KindJSON},
		driver.Input{Name: "size", Value: column(size), Kind: driver.KindEnum},
		driver.Input{Name: "fragile", Value: column(fragile), Kind: driver.KindBool})
	c.Decide = func(p *Parcel, _ string, _ []int64, now time.Time) (fsmimpl.Step, error) {
		return p.move(opAnnotate, p.State, now, func() { p.Note, p.Size, p.Fragile = note, size, fragile })
	}
	return c
}

// Weigh notes the weight of a parcel; of one that was sent it is recorded only.
func Weigh(m Meta, grams int64) fsmimpl.Call[Parcel] {
	c := m.call(opWeigh, driver.Input{Name: "grams", Value: grams, Kind: driver.KindInt})
	c.Decide = func(p *Parcel, _ string, _ []int64, now time.Time) (fsmimpl.Step, error) {
		if p.State == "sent" {
			return fsmimpl.Step{From: p.State, To: p.State, RecordOnly: true}, nil
		}
		return p.move(opWeigh, p.State, now, func() { p.Weight = fsm.Some(grams) })
	}
	return c
}

// Verify says which weight somebody saw. Another one is recorded only.
func Verify(m Meta, seen, count int64) fsmimpl.Call[Parcel] {
	c := m.call(opVerify, driver.Input{Name: "seen", Value: seen, Kind: driver.KindInt}, driver.Input{Name: "count", Value: count, Kind: driver.KindInt})
	c.Decide = func(p *Parcel, _ string, _ []int64, now time.Time) (fsmimpl.Step, error) {
		if slices.Contains(opVerify.From, p.State) && p.Weight != fsm.Some(seen) {
			return fsmimpl.Step{From: p.State, To: p.State, RecordOnly: true, Guard: "same_weight"}, nil
		}
		return p.move(opVerify, p.State, now, func() {})
	}
	return c
}

// Shelve puts a parcel into a slot of its lane, which has three.
func Shelve(m Meta, slot, tag string) fsmimpl.Call[Parcel] {
	c := m.call(opShelve,
		driver.Input{Name: "slot", Value: slot, Kind: driver.KindString},
		driver.Input{Name: "tag", Value: tag, Kind: driver.KindString})
	c.Peers = func(p *Parcel, id string) []driver.PeerQuery {
		return []driver.PeerQuery{{Name: "lane_open", Columns: []string{"lane"}, Values: []any{p.Lane}, States: []string{"shelved"}, Except: id}}
	}
	c.Decide = func(p *Parcel, _ string, peers []int64, now time.Time) (fsmimpl.Step, error) {
		if slices.Contains(opShelve.From, p.State) && peers[0] >= 3 {
			r := p.refuse(opShelve, fsm.ErrGuard, "")
			r.Guard, r.Cause = "lane_open", ErrLaneFull
			return fsmimpl.Step{}, r
		}
		return p.move(opShelve, "shelved", now, func() {
			p.Slot, p.Holder, p.Due = fsm.Some(slot), fsm.Optional[string]{}, fsm.Optional[time.Time]{}
			p.Tags = p.Tags.With(tag)
			p.Moves++
		})
	}
	return c
}

// Release gives a held parcel back; the sweeper and the recovery do.
func Release() fsmimpl.Call[Parcel] {
	return plain(Meta{}, opRelease, "waiting")
}

// Bill charges for a parcel, in the transaction.
func Bill(m Meta) fsmimpl.Call[Parcel] {
	c := m.call(opBill)
	c.Decide = func(p *Parcel, _ string, _ []int64, now time.Time) (fsmimpl.Step, error) {
		return p.move(opBill, p.State, now, func() { p.Moves++ })
	}
	return c
}

// Expel takes a parcel out of its holder's hands and discards it.
func Expel(m Meta) fsmimpl.Call[Parcel] { return plain(m, opExpel, "waiting") }

// Discard is the step that follows Expel; it refuses what has a weight.
func Discard() fsmimpl.Call[Parcel] {
	c := plain(Meta{}, opDiscard, "sent")
	decide := c.Decide
	c.Decide = func(p *Parcel, id string, peers []int64, now time.Time) (fsmimpl.Step, error) {
		if p.State == "waiting" && p.Weight.Present() {
			r := p.refuse(opDiscard, fsm.ErrGuard, "")
			r.Guard, r.Cause = "unweighed", ErrTooHeavy
			return fsmimpl.Step{}, r
		}
		return decide(p, id, peers, now)
	}
	return c
}

// Dispatch has a parcel carried away, after the commit; Arrive follows.
func Dispatch(m Meta) fsmimpl.Call[Parcel] {
	c := m.call(opDispatch)
	c.Decide = func(p *Parcel, _ string, _ []int64, now time.Time) (fsmimpl.Step, error) {
		return p.move(opDispatch, "shelved", now, func() {})
	}
	return c
}

// Arrive is the step that follows Dispatch once its effect is performed.
func Arrive() fsmimpl.Call[Parcel] { return plain(Meta{}, opArrive, "sent") }

// Send sends a parcel; its receiver is notified after the commit.
func Send(m Meta) fsmimpl.Call[Parcel] { return plain(m, opSend, "sent") }

// plain is a call that clears what belongs to holding and shelving.
func plain(m Meta, op *fsmimpl.Operation[Parcel], to string) fsmimpl.Call[Parcel] {
	c := m.call(op)
	c.Decide = func(p *Parcel, _ string, _ []int64, now time.Time) (fsmimpl.Step, error) {
		return p.move(op, to, now, func() {
			p.Slot, p.Holder = fsm.Optional[string]{}, fsm.Optional[string]{}
			if op == opRelease || op == opExpel {
				p.Due = fsm.Optional[time.Time]{}
			}
		})
	}
	return c
}

// move is the transition of an operation, when it has one from here.
func (p *Parcel) move(op *fsmimpl.Operation[Parcel], to string, now time.Time, change func()) (fsmimpl.Step, error) {
	if !slices.Contains(op.From, p.State) {
		code := fsm.ErrWrongState
		if p.State == "sent" {
			code = fsm.ErrTerminal
		}
		r := p.refuse(op, code, "")
		r.Allowed = strings.Join(op.From, ", ")
		return fsmimpl.Step{}, r
	}
	from := p.State
	change()
	p.State = to
	p.Rev++
	if now.After(p.UpdatedAt) {
		p.UpdatedAt = now
	}
	return fsmimpl.Step{From: from, To: to}, nil
}

func (p *Parcel) refuse(op *fsmimpl.Operation[Parcel], code fsm.Code, name string) *fsm.Refusal {
	return &fsm.Refusal{Code: code, Machine: "parcel", Operation: op.Name, Name: name, ID: p.ID, State: p.State}
}
