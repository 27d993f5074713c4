package draft

import (
	"fmt"
	"time"
)

// tree is what a reader makes of a file: states within states, with their moves.
type tree struct {
	format string
	name   string // of the machine; "" where the file has none
	doc    string
	root   *node
	picked bool // several targets of one event are a choice of the caller; else the first one counts
	notes  []Note
	rows   int64 // of a log
	head   []string
}

// kind is what a node is.
type kind int

const (
	plain kind = iota
	final
	parallel
	history
	choice // a point at which moves part
)

// node is a state of the file, or what stands for one.
type node struct {
	name     string // as the file has it
	line     int
	kind     kind
	doc      string
	remarks  []string // comments of the draft
	parent   *node
	children []*node
	initial  *node
	entry    []action
	exit     []action
	moves    []*move
	gone     bool // in a region that is not carried over
	open     bool // of a final state: it may be left again
	owned    bool // who moves a record here is the one who moves it on
}

func (n *node) add(child *node) *node {
	child.parent = n
	n.children = append(n.children, child)
	return child
}

func (n *node) within(o *node) bool {
	for ; n != nil; n = n.parent {
		if n == o {
			return true
		}
	}
	return false
}

// when is what makes a move.
type when int

const (
	onEvent when = iota
	always       // at once
	after        // when a time is over
	done         // when the states inside are done
	creates      // it makes the record
)

// move leads from a node to another one.
type move struct {
	when    when
	event   string        // as the file has it
	own     bool          // event is a name of ours: "to_done"
	delay   time.Duration // of after; 0: the file only names it
	said    string        // the delay as the file has it
	guard   string
	actions []action
	target  *node // nil: it stays
	from    *node // of an arrow
	enters  bool  // a move to where it began leaves and enters
	blocks  bool  // the event is refused here, whatever a state around says
	by      string
	doc     string
	remarks []string
	line    int
	invoke  *action // it follows the end of this one
	failed  bool    // and its failure
	owner   bool    // the owner makes it
}

// action is work that the file names.
type action struct {
	name    string
	invoke  bool // it ends by itself
	private bool // it is work within the machine: a comment says more than an effect
	line    int
}

// Note is something that the reader of a draft should know.
type Note struct {
	Line int    `json:"line,omitempty"` // in the file that was read; 0: all of it
	Kind string `json:"kind"`           // one of the constants
	Text string `json:"text"`
}

// The kinds of notes.
const (
	Lost  = "not carried over"
	Guess = "guess"
	Odd   = "oddity"
)

func (t *tree) lost(line int, format string, args ...any) {
	t.notes = append(t.notes, Note{line, Lost, clean(fmt.Sprintf(format, args...))})
}

func (t *tree) note(line int, kind, format string, args ...any) {
	t.notes = append(t.notes, Note{line, kind, clean(fmt.Sprintf(format, args...))})
}

// Error is a place in a file that cannot be read.
type Error struct {
	Line, Col int // from 1; 0 when the file as a whole is meant
	Message   string
}

func (e *Error) Error() string { return e.Message }

func fail(line, col int, format string, args ...any) error {
	return &Error{line, col, clean(fmt.Sprintf(format, args...))}
}
