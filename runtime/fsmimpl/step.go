package fsmimpl

// Step is what a pure method decided, in stored words.
type Step struct {
	From, To   string
	RecordOnly bool
	Guard      string // with RecordOnly by `on_refusal`: the guard that failed
	Branch     int    // the number of the branch that was taken, of those that ask for something; 0: none
}

// Violation is a rule that a record breaks.
type Violation struct {
	Rule    string // as the specification writes it: "owner is present"
	Must    bool   // false: a SHOULD
	Message string
}

// String returns the rule and its weight.
func (v Violation) String() string {
	w := "must"
	if !v.Must {
		w = "should"
	}
	if v.Message != "" {
		return v.Rule + " (" + w + "): " + v.Message
	}
	return v.Rule + " (" + w + ")"
}
