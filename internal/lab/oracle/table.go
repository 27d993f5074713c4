package oracle

// Table is a specification in its own words, as far as a test must know it.
// Lists of names are written in one string, separated by commas.
type Table struct {
	Machine     string
	Spec        string // the file of the specification, as seen from the folder of the package
	Entity      string
	Version     int
	Hash        string // of the specification's meaning
	Enforce     string // how much a database refuses by itself
	RequestID   string // "required", "optional" or "none"
	ExpectedRev string // the same
	// Matrix says what each operation does in each state: one line for each
	// operation, one column for each state, and the column `(new)` for creations.
	//
	//	-> s          the record moves to s (or stays there)
	//	choose        one of the branches decides
	//	record only   the call is logged and changes nothing
	//	refused       nothing happens
	//	.             a creation has no states, another operation makes no record
	Matrix     string
	Fields     []Field
	States     []State
	Invariant  []string // facts that hold in every state
	Guards     []Guard
	Uniques    []Unique
	Operations []Operation
	Forbidden  []Move
	Projection *Projection
}

// Field is one datum of the record.
type Field struct {
	Name   string
	Type   string // as in the specification: "optional string", "int 0..10", "done|failed"
	Stored string // in rows and events, when it differs from Name
	Words  string // the stored words of an enum, when they differ from Type
	Per    string // of a sequence: the fields that make the group
}

// State is one state and what holds in it.
type State struct {
	Name          string
	Stored        string
	Terminal      bool
	Final         bool
	Present       string
	Absent        string
	ShouldPresent string
	ShouldAbsent  string
	Invariant     []string
	Probes        string    // what the audit asks about a record in the state
	Witnesses     []Witness // of records that break a fact of the invariants, or "sound": none
}

// Guard is a named precondition: facts, or a bound on the other records that
// have the same values in the fields Same and are in the states In.
type Guard struct {
	Name  string
	When  []string
	Fewer int64 // 0: the guard has facts; `none` is Fewer 1
	Same  string
	In    string
	Error string
	// Message is what the guard says beside its error, when another guard gave
	// the error its words.
	Message string
}

// Unique says that among the records in the states In the fields are unique.
type Unique struct {
	Name   string
	Fields string
	In     string
	Error  string
}

// Operation is one operation; its targets stand in the matrix.
type Operation struct {
	Name        string
	Stored      string
	Event       string // its audit name, when it differs from Name
	StoredEvent string
	By          string // "caller" when empty
	Inputs      []Input
	Require     string   // guards, in order
	Implied     string   // those of Require that refuse no record which keeps its promises: they follow from these and from the guards before
	OnRefusal   string   // "record only", or empty
	Set         []string // "lease: input"
	Clear       string
	Increment   string
	Add         []string
	Choose      []Branch
	Witnesses   []Witness
	Dedupe      string   // the fields by which a creation finds an existing record
	DedupeIn    string   // the states in which it is looked for; empty: all
	Where       []string // of `next`
	Order       string   // of `next`: "created_at, -priority"; empty with Picks: by id
	Picks       bool     // has `next`
	Triggers    []string // "startup", "after lease", "after updated_at + 600s"
	Effect      string
	EffectKey   string // fields, `id`, `rev`; empty: machine, id and revision
	Atomic      bool
	Then        string
}

// Witness is a case that the proof of the specification has found: a record and
// a call that an operation decides in one way, or a record that breaks a fact. It
// stands in the table where the cases that the tests make up could miss that way,
// or where there is no case. Values are JSON; times are written "now", "now+1h".
type Witness struct {
	Way     string // "guard g", "branch 2", "move", the fact, or "sound"
	In      string // the state of the record; empty for a creation
	Record  string // what is not absent in it
	Inputs  string // what is sent
	Actor   string
	Never   string // why this cannot happen
	Unknown string // why nobody knows whether it can
}

// Input is one datum of a call.
type Input struct {
	Name  string
	Type  string
	Words string // the stored words of an enum, when they differ from Type
	Loose bool   // left out when two requests are compared
}

// Branch is one line of `choose`; exactly one of To, RecordOnly and Reject is set.
type Branch struct {
	From       string // states; empty: all
	When       []string
	To         string // a state, or "same"
	RecordOnly bool
	Reject     string
	Set        []string
	Clear      string
	Increment  string
	Add        []string
}

// Move is a move that must never happen.
type Move struct {
	From, To string
	Reason   string
}

// Projection is a state derived from all records with the same key.
type Projection struct {
	Entity string
	Key    string
	Fields []string // "attempt: max attempt"
	Rules  []Rule
	Moves  []Move // the moves that a step of one record may lead to
}

// Rule gives the derived state when all its conditions hold; the first wins.
type Rule struct {
	State   string
	Any     string
	All     string
	None    string
	AtLeast int64
}
