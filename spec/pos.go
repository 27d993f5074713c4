package spec

import "fmt"

// Pos is a place in a specification file. Line and Col are 1-based; Col counts
// characters (runes), as editors do. The zero Pos means "no place".
type Pos struct {
	Line, Col int
}

// IsZero reports whether p names no place.
func (p Pos) IsZero() bool { return p.Line == 0 }

// Before reports whether p stands before q in the file.
func (p Pos) Before(q Pos) bool {
	return p.Line < q.Line || p.Line == q.Line && p.Col < q.Col
}

// String returns "line:col".
func (p Pos) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Col) }
