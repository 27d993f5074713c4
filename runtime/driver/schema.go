package driver

// Kind is the kind of a column.
type Kind uint8

// The kinds of columns, as in the specification language.
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
)

// Demand says whether a call must carry something.
type Demand uint8

// The demands.
const (
	Required Demand = iota + 1
	Optionally
	Never
)

// SystemActor is the actor of every system operation.
const SystemActor = "system"

// Schema describes one machine to a store: tables, columns, states and the
// rules that hold across records. The generated package holds one; it is
// never changed.
type Schema struct {
	Machine     string
	Entity      string
	Version     int
	Hash        string   // of the specification's meaning
	Beside      []SpecID // earlier specifications whose programs may work on these tables meanwhile; see Table.Retire
	Table       string   // base name of the tables: T, T_events, T_outbox, T_groups
	Enforce     string   // "none", "checks" or "full"
	RequestID   Demand
	ExpectedRev Demand
	Columns     []Column
	States      []StateInfo
	Uniques     []UniqueRule
	Operations  []OperationInfo   // what a write of one may change; a store also takes writes of others
	NoOutbox    bool              // no operation asks for an effect
	Indexes     []Index           // what queries are made of often; SQL has them too
	Parkings    []Parking         // what picks park for; see ParkingTx
	Worked      []WorkedColumn    // columns of the stored row that indexes name and no query
	SQL         map[string]string // dialect ("sqlite", "postgres") -> the generated schema
}

// Column is one field of the record.
type Column struct {
	Name     string // in the specification
	Stored   string // in rows and events: the first name
	Kind     Kind
	Optional bool
	Default  any      // as in Row.Values: what a record holds that is older than the column; nil: nothing
	Words    []string // KindEnum: the stored words
	Least    int      // KindString: how many characters its texts have at least; 0: no bounds
	Most     int      // and at most; 0: no end
}

// StateInfo is one state.
type StateInfo struct {
	Name     string
	Stored   string
	Terminal bool
	Final    bool
}

// OperationInfo is what a store needs to know of an operation to make its statements before
// the first write.
type OperationInfo struct {
	Stored  string // as events have it
	Creates bool   // it may make a record
	Leaves  bool   // a record may leave its state
	Stays   bool   // a record may move and stay in its state
	Sets    []int  // the columns that it may change, ascending
}

// UniqueRule says that among the records in States the columns are unique;
// records in which one of them is absent never collide. A store refuses a
// write that breaks it with *ConflictError.
type UniqueRule struct {
	Name    string   // name of the `unique`; "dedupe_<operation>" and "sequence_<field>" for implied ones
	Columns []string // stored names; none: at most one record
	States  []string // stored words; nil: all
	Err     error    // the machine's own sentinel; nil for implied rules
	Message string   // more for whoever runs into it; may be empty
}

// Index names the columns of a query that the machine makes often: of the
// sweeper, of a `next`, of a group's guard or of the projection. A store may
// answer them without it, but slowly.
type Index struct {
	Name    string   // unique among the indexes of the machine
	Columns []string // stored names; the query compares each with one value
	Order   []Order  // and wants the rows in this order, or up to a value of the first
	States  []string // stored words of the states whose rows it holds; nil: all
}

// WorkedColumn is a column that a store may keep beside those of the record, worked out of one of
// them that changes more often: whether the record is in States or, where Minute is the stored name of a time, its
// minute in UTC. PostgreSQL writes no index when no column changes that one names.
type WorkedColumn struct {
	Name   string
	States []string // stored words
	Minute string
}

// Column returns the index in Columns of the column with that stored name, or -1.
func (s *Schema) Column(stored string) int {
	for i := range s.Columns {
		if s.Columns[i].Stored == stored {
			return i
		}
	}
	return -1
}

// StateName returns the specification's name of a stored state word, or the
// word itself when the machine does not know it.
func (s *Schema) StateName(stored string) string {
	for i := range s.States {
		if s.States[i].Stored == stored {
			return s.States[i].Name
		}
	}
	return stored
}
