package spec

// Projection is a machine derived from all records with the same key.
type Projection struct {
	Pos         Pos
	Entity      string
	Key         []FieldRef
	Fields      []*ProjectionField
	Rules       []*ProjectionRule
	Reserved    []ProjectedState
	Transitions []*ProjectionMove
}

// ProjectionField is an aggregate over the group.
type ProjectionField struct {
	Pos   Pos
	Name  string
	Agg   string // "max", "min" or "count"
	Field *Field // nil with count
}

// ProjectedState is a state of the derived machine, named at a place.
type ProjectedState struct {
	Pos  Pos
	Name string
}

// ProjectionRule gives the derived state when all its conditions hold.
type ProjectionRule struct {
	Pos     Pos
	State   ProjectedState
	Any     []StateRef
	All     []StateRef // needs a non-empty group
	None    []StateRef
	AtLeast int64 // 0: no condition; counts the records in the states listed under any and all
}

// ProjectionMove is one allowed edge of the derived machine.
type ProjectionMove struct {
	Pos      Pos
	From, To ProjectedState
}
