package prove

// formula is a condition in negation normal form. The literals are boolean
// atoms (a value is present, a member is in a set), differences of numbers
// (x - y <= c, x - y == c), where number 0 is the constant zero, and sums of
// numbers that no difference says.
type formula struct {
	op   formulaOp
	kids []formula // and, or
	v    int       // isTrue, isFalse: the boolean atom
	x, y int       // atMost, equal: the numbers
	c    int64     // atMost, equal, linear: the constant
	sum  []addend  // linear: the numbers, each one once, by their order
}

// addend is a number with its factor in a sum.
type addend struct {
	num    int
	factor int64
}

type formulaOp uint8

const (
	and formulaOp = iota // without kids: true
	or                   // without kids: false
	isTrue
	isFalse
	atMost // x - y <= c
	equal  // x - y == c
	linear // the sum plus c >= 0
)

// limit bounds every constant that the proof calculates with, so that no sum of
// differences overflows. A larger one is a number of its own: see
// problem.constant.
const limit = int64(1) << 56

var (
	yes = formula{op: and}
	no  = formula{op: or}
)

func all(fs ...formula) formula {
	if len(fs) == 1 {
		return fs[0]
	}
	return formula{op: and, kids: fs}
}

func anyOf(fs ...formula) formula {
	if len(fs) == 1 {
		return fs[0]
	}
	return formula{op: or, kids: fs}
}

// not returns the negation, again in normal form.
func not(f formula) formula {
	switch f.op {
	case and, or:
		kids := make([]formula, len(f.kids))
		for i, k := range f.kids {
			kids[i] = not(k)
		}
		return formula{op: or - f.op, kids: kids}
	case isTrue:
		return formula{op: isFalse, v: f.v}
	case isFalse:
		return formula{op: isTrue, v: f.v}
	case atMost: // x - y >= c + 1
		return formula{op: atMost, x: f.y, y: f.x, c: -f.c - 1}
	case linear: // minus the sum, minus c, minus 1 >= 0
		less := make([]addend, len(f.sum))
		for i, a := range f.sum {
			less[i] = addend{a.num, -a.factor}
		}
		return formula{op: linear, sum: less, c: -f.c - 1}
	}
	return anyOf(
		formula{op: atMost, x: f.x, y: f.y, c: f.c - 1},
		formula{op: atMost, x: f.y, y: f.x, c: -f.c - 1},
	)
}

// atoms calls visit with every boolean atom and number of the formula, each
// under a key of its own. The constant zero is in every component and so in
// none.
func (f *formula) atoms(visit func(key int)) {
	switch f.op {
	case and, or:
		for i := range f.kids {
			f.kids[i].atoms(visit)
		}
	case isTrue, isFalse:
		visit(2 * f.v)
	case linear:
		for _, a := range f.sum {
			visit(2*a.num + 1)
		}
	default:
		if f.x != 0 {
			visit(2*f.x + 1)
		}
		if f.y != 0 {
			visit(2*f.y + 1)
		}
	}
}
