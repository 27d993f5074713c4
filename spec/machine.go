package spec

import (
	"slices"
	"time"
)

// Machine is a resolved specification: every name is bound to what it names,
// every type is known, and declarations stand in the order of the file.
type Machine struct {
	File    string // as given to Parse; used in findings only, never in generated output
	Source  []byte // the text of the file, for snippets
	Hash    string // hex SHA-256 over the canonical meaning (no comments, docs, messages): equal specifications have equal hashes
	Pos     Pos    // of the value of `machine`
	Name    string // Go package name
	Entity  string // Go type of the record
	Version int
	Doc     string

	RequestID   Demand // default Required
	ExpectedRev Demand // default Required
	Otherwise   Otherwise

	Fields     []*Field // declared fields, then none: the built-in ones are in Builtin
	Builtin    []*Field // created_at, updated_at: may stand in facts, triggers and orders
	ID, Rev    *Field   // id and rev, built in too: may stand in keys of effects only
	States     []*State
	Groups     []*Group
	Removed    []*Removed
	Uses       []*Use  // in the order of the file
	Invariant  []*Fact // MUST facts of every state
	Guards     []*Guard
	Unique     []*Unique
	Lookups    []*Lookup
	Operations []*Operation
	Forbidden  []*Forbidden
	Steps      []*StepRule
	Projection *Projection // nil when there is none
	Probes     []*Probe
	Allow      []*Allow // of the machine, its states and its operations

	Layers     []LayerRef // what is generated, where the file says so; nil: all
	RequestsAt Pos        // of the key `requests`; zero without one

	derived *derived // what was worked out of it; nil when it was not parsed
}

// Allow says that findings of a code are meant, in the whole file or within the
// declaration of a state or an operation.
type Allow struct {
	Pos          Pos // of the code
	Code, Reason string
	Begin, End   Pos // of the declaration; Begin is zero for the machine
}

// Covers reports whether a finding at a place is one that a speaks of.
func (a *Allow) Covers(at Pos) bool {
	return a.Begin.IsZero() || !at.Before(a.Begin) && !a.End.Before(at)
}

// Layer is a part of the generated package that a file or a caller of the
// generator chooses.
type Layer string

const (
	LayerPure    Layer = "pure"    // operations on values, without a store
	LayerDurable Layer = "durable" // the same over a store
	LayerHandles Layer = "handles" // types for what is held, over the durable layer
)

// Layers are all layers, each above the one before it.
var Layers = []Layer{LayerPure, LayerDurable, LayerHandles}

func layerNames() []string {
	names := make([]string, len(Layers))
	for i, l := range Layers {
		names[i] = string(l)
	}
	return names
}

// LayerRef is a layer named at a place.
type LayerRef struct {
	Pos   Pos
	Layer Layer
}

// Chosen returns the layers that the file asks for, or nil.
func (m *Machine) Chosen() []Layer {
	var list []Layer
	for _, l := range m.Layers {
		list = append(list, l.Layer)
	}
	return list
}

// Alone reports whether the file asks for the pure layer alone: there is no store.
func (m *Machine) Alone() bool { return slices.Equal(m.Chosen(), []Layer{LayerPure}) }

// Demand says whether a call must carry something.
type Demand uint8

const (
	Required Demand = iota + 1
	Optional
	None
)

// Otherwise is the class of the cells that nothing else classifies.
type Otherwise uint8

const (
	OtherwiseUnset Otherwise = iota
	OtherwiseReject
	OtherwiseRecordOnly
)

// Kind is the kind of a type.
type Kind uint8

const (
	KindString Kind = iota + 1
	KindInt
	KindBool
	KindTime
	KindJSON
	KindCounter
	KindSet
	KindSequence
	KindEnum
	KindDuration // a length of time in microseconds
)

// Type is the type of a field or an input.
type Type struct {
	Kind     Kind
	Optional bool
	Min, Max *int64       // the bounds of an int, of a text's length in characters, of a duration in microseconds; nil: none
	Values   []*EnumValue // KindEnum
}

// EnumValue is one word of an enum type.
type EnumValue struct {
	Pos  Pos
	Name string
	Was  string // its first name when it was renamed
}

// Stored returns the word that is written into rows and events.
func (v *EnumValue) Stored() string { return stored(v.Name, v.Was) }

// Field is one datum of the record.
type Field struct {
	Pos          Pos // of the name
	TypePos      Pos // of the type text
	Name         string
	Was          string
	Doc          string
	Type         Type
	Default      *Value          // what records hold that are older than the field, or whose creation sets nothing; nil without one
	Per          []*Field        // KindSequence: the group; empty means the whole machine
	ChangedBy    []*OperationRef // nil when the key is absent; an empty list means no operation
	HasChangedBy bool
	Builtin      bool // created_at or updated_at
}

// Stored returns the word that is written into rows and events.
func (f *Field) Stored() string { return stored(f.Name, f.Was) }

// Stamped reports whether every step gives the field another value.
func (f *Field) Stamped() bool { return f.Builtin && f.Name == "updated_at" }

// FieldRef is a field named at a place.
type FieldRef struct {
	Pos   Pos
	Field *Field
}

// StateRef is a state named at a place.
type StateRef struct {
	Pos   Pos
	State *State
	Group *Group // whose name stands at Pos; nil where the state itself is named
}

// OperationRef is an operation named at a place.
type OperationRef struct {
	Pos       Pos
	Operation *Operation
}

// State is one state.
type State struct {
	Pos           Pos
	Index         int // in Machine.States
	Name          string
	Was           string
	Doc           string
	Present       []FieldRef
	Absent        []FieldRef
	ShouldPresent []FieldRef
	ShouldAbsent  []FieldRef
	Invariant     []*Fact // of this state only; Machine.Invariant holds besides
	Terminal      bool
	Final         bool
	Otherwise     Otherwise // OtherwiseUnset: the machine's
	Kind          StateKind // for pictures alone: it is no part of the meaning
	Probes        []*Probe
	Enter         []*Effect // of each step that comes into the state from another one, creations included
	Exit          []*Effect // of each step that leaves it for another one
}

// StateKind says what a state means to a reader, for the colours of pictures; "" is
// nothing.
type StateKind string

// The kinds of states.
const (
	Success StateKind = "success" // what was wanted has happened
	Trouble StateKind = "trouble" // something went wrong
)

// Stored returns the word that is written into rows and events.
func (s *State) Stored() string { return stored(s.Name, s.Was) }

// Removed is a state that is gone; its rows are migrated to To.
type Removed struct {
	Pos  Pos
	Name string
	To   StateRef
}

// Guard is a named precondition: exactly one of When and Peers is set.
type Guard struct {
	Pos      Pos
	Name     string
	Doc      string
	When     []*Fact // inputs are named but not bound: see Requirement
	Peers    *Peers  // none, fewer or some
	Error    string  // name of the refusal; not_owner becomes ErrNotOwner
	ErrorPos Pos
	Message  string
}

// Requirement is a guard as one operation uses it: its facts are bound to the
// operation's inputs.
type Requirement struct {
	Pos   Pos // of the name in `require`
	Guard *Guard
	When  []*Fact // of Peers with a Limit: what must hold of it before the step
	Of    []*Fact // of its Peers
	Limit *Fact   // of its Peers; in a creation a field is read as it is being set
}

// Reads lists the facts that must hold, and those that tell a limit, or a group by other values
// than the record's own.
func (q *Requirement) Reads() []*Fact {
	same := func(f *Fact) bool { return f.Op == Eq && f.Left.Field != nil && f.Left.Field == f.Right.Field }
	reads := slices.DeleteFunc(slices.Concat(q.When, q.Of), same)
	if q.Limit != nil && !slices.Contains(reads, q.Limit) {
		reads = append(reads, q.Limit)
	}
	return reads
}

// Owners lists the fields that a fact of the guard compares with the actor by `==`.
func (q *Requirement) Owners() []*Field {
	var list []*Field
	for _, f := range q.When {
		a, b := f.Left, f.Right
		if a.Kind == TermActor {
			a, b = b, a
		}
		if f.Op == Eq && a.Kind == TermField && b.Kind == TermActor {
			list = append(list, a.Field)
		}
	}
	return list
}

// Unique says that among the records in the states In the fields are unique.
type Unique struct {
	Pos      Pos
	Name     string
	Fields   []FieldRef
	In       []StateRef
	Error    string
	ErrorPos Pos
	Message  string
}

// Lookup is a question of the application: the records with the same values in the fields.
type Lookup struct {
	Pos    Pos
	Name   string
	Doc    string
	Fields []FieldRef
	In     []StateRef // nil: in any state
	Order  []Order    // then by id
}

// Actor says who runs an operation.
type Actor uint8

const (
	ByCaller Actor = iota + 1
	BySystem
	ByOperator
)

// Operation is one operation: one Go method, one request, one event.
type Operation struct {
	Pos                 Pos
	Index               int // in Machine.Operations
	Name                string
	Was                 string
	Doc                 string
	By                  Actor
	Creates             []StateRef // a creation; more than one only with Choose
	From                []StateRef
	To                  *StateRef // nil with Same or Choose, and for a creation without Choose
	Same                bool      // to: same
	Choose              []*Branch
	branches            map[*State][]*Branch // Branches of each state under From
	places              map[*State]int       // of each state under From, where there are many
	Inputs              []*Input             // declared ones and implied ones, in the order of their first appearance
	Require             []*Requirement
	OnRefusalRecordOnly bool // on_refusal: record_only
	RecordOnlyIn        []StateRef
	Effects             Effects
	Event               string // canonical audit name; defaults to Name
	EventPos            Pos
	EventWas            string
	DedupeBy            *Dedupe
	Next                *Next
	Each                *Each
	Triggers            []Trigger
	Asks                []*Effect     // of each step, see Asked
	Places              []*Place      // what its steps may enter or leave, with effects
	Then                *OperationRef // follows in the same transaction, see Follower
}

// Stored returns the word that is written into events.
func (o *Operation) Stored() string { return stored(o.Name, o.Was) }

// StoredEvent returns the event name that is written into events.
func (o *Operation) StoredEvent() string { return stored(o.Event, o.EventWas) }

// Dedupe names the fields by which a creation finds an existing record.
type Dedupe struct {
	Pos    Pos
	Fields []FieldRef
	Unique *Unique // when a `unique` is named; its fields are in Fields
}

// Input is one datum of a call.
type Input struct {
	Pos      Pos
	Name     string
	Doc      string
	Type     Type   // Optional when it may be left out
	Declared bool   // in `input:`; else implied by `set: {f: input}`
	Field    *Field // the field it is implied by, else nil
}

// Effects are the changes of the record, all reading the old record.
type Effects struct {
	Set       []Assign
	Clear     []FieldRef
	Increment []FieldRef
	Add       []Assign
	Reset     []FieldRef
	Decrement []FieldRef
	Remove    []Assign // of a set a member, or all of an input that is a set; before Add
}

// Assign gives a field a value, or adds a value to a set.
type Assign struct {
	Pos   Pos // of the field name
	Field *Field
	Value Value
	// Default: the creation sets nothing, so the field becomes its default.
	Default bool
}

// ValueKind says where a value comes from.
type ValueKind uint8

const (
	ValueInput          ValueKind = iota + 1 // input, input.x
	ValueInputOrAbsent                       // the field becomes what came, absent included
	ValueInputOrSame                         // an input that is not sent keeps the old value
	ValueInputOrDefault                      // an input that is not sent gives the field its default
	ValueInputOrReject                       // a branch that is taken without the input refuses the call
	ValueField                               // the old value of another field
	ValueActor
	ValueNow // now + Plus
	ValueInt
	ValueBool
	ValueWord // an enum word
	ValueText // a string, a time or a JSON text, by the type of the field
	ValueSum  // of whole numbers, or of times and lengths, of the record before the step
	ValueSpan // a constant length in microseconds
)

// Value is the right side of an assignment.
type Value struct {
	Pos   Pos
	Kind  ValueKind
	Input *Input        // ValueInput and the kinds after it, up to ValueInputOrReject
	Field *Field        // ValueField
	Plus  time.Duration // ValueNow
	Int   int64         // ValueInt; ValueSpan: microseconds
	Bool  bool
	Word  *EnumValue
	Const string // ValueText: the string, the time in RFC 3339 and UTC, or the compact JSON
	Parts []Part // ValueSum: one to four
	Text  string // as written; ValueText in single quotes
}

// FactOp is the relation of a fact.
type FactOp uint8

const (
	Present FactOp = iota + 1
	Absent
	Eq
	Ne
	Lt
	Le
	Gt
	Ge
	In     // Left is a string, Right a set
	NotIn  // Left is a string, Right a set
	Covers // Left is a set that holds every member of the set Right
	AnyOf  // one of the lists under Any holds; Left and Right are zero
)

// Fact is one condition on a record and a call. A comparison with an absent
// term is false, so a comparison that holds implies presence.
type Fact struct {
	Pos   Pos
	Text  string // as written, spaces folded; AnyOf: "a or b and c"
	Op    FactOp
	Left  Term
	Right Term // zero with Present and Absent

	Any [][]*Fact // AnyOf: the lists of which one holds; nil with all others
}

// TermKind says what a term names.
type TermKind uint8

const (
	TermField TermKind = iota + 1
	TermInput
	TermActor
	TermNow
	TermOld     // a field of the record before the step; in the facts of a StepRule only
	TermSum     // of whole numbers, or of times and lengths
	TermBackoff // a length that grows with a counter; a part of a sum only
	TermInt
	TermBool
	TermWord
	TermText // a string of the file
	TermSpan // a length, as microseconds in Int
)

// Term is one side of a fact.
type Term struct {
	Pos     Pos
	Kind    TermKind
	Text    string // as written
	Name    string // TermInput: the name of the input
	Field   *Field // TermField and TermOld
	Input   *Input // nil in Guard.When, bound in Requirement.When, branches and next
	Int     int64
	Bool    bool
	Word    *EnumValue
	Const   string   // TermText: the string
	Parts   []Part   // TermSum: one to four; one alone is a TermBackoff
	Backoff *Backoff // TermBackoff
}

// IsConst reports whether the term is the same in each record and call.
func (t Term) IsConst() bool { return t.Kind >= TermInt }

// Branch is one line of `choose`.
type Branch struct {
	Pos        Pos
	From       []StateRef // nil: all source states of the operation
	When       []*Fact
	To         *StateRef
	Same       bool
	RecordOnly bool
	Reject     string // name of the refusal
	Effects    Effects
	Asks       []*Effect     // beside those of the operation
	Then       *OperationRef // follows in the same transaction
}

// Next lets the store pick the record.
type Next struct {
	Pos   Pos
	Where []*Fact
	Order []Order
}

// Each lets a call take the step with every record that the store finds.
type Each struct {
	Pos   Pos
	Where []*Fact // of the record that is stored
	Most  int64   // more records than so many refuse the call
}

// Chosen are the facts by which the store chooses records: those of `next`, or of `each`.
func (o *Operation) Chosen() []*Fact {
	switch {
	case o.Next != nil:
		return o.Next.Where
	case o.Each != nil:
		return o.Each.Where
	}
	return nil
}

// Order is one key of an order.
type Order struct {
	FieldRef
	Descending bool
}

// Trigger fires an operation without a caller.
type Trigger struct {
	Pos     Pos
	Startup bool
	After   *Field // nil with Startup
	Plus    time.Duration
	By      *Field // a length in the place of Plus, which is 0; else nil
	Text    string
}

// Forbidden is a move that must never become possible.
type Forbidden struct {
	Pos      Pos
	From, To StateRef
	After    bool // not one step alone: a record that has been in From never comes to To again
	Reason   string
}

// Probe is an external fact that only the audit asks.
type Probe struct {
	Pos     Pos
	Name    string
	Doc     string
	Message string
}
