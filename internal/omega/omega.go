package omega

import (
	"math"
	"math/bits"
	"slices"
)

// Row is a sum over numbers that is at least 0, or equal to it.
type Row struct {
	Factor []int64 // of each number; what is missing at the end is 0
	Const  int64
	Equal  bool // the sum is 0
}

// Answer says whether rows can hold together.
type Answer uint8

// The answers.
const (
	Never     Answer = iota // no numbers exist
	Found                   // numbers exist
	Undecided               // a limit was met: nothing is said
)

// The limits of one question. Those of specifications stay far below.
const (
	mostNumbers = 16
	mostRounds  = 500
	mostRows    = 200    // in one round
	mostWork    = 10_000 // rows in all rounds
)

// Solve decides whether all rows can hold together. Found comes with numbers for which
// they do; each is as near to want as the numbers before it leave it. A nil want is 0.
func Solve(rows []Row, want []int64) (Answer, []int64) {
	n := 0
	for _, r := range rows {
		n = max(n, len(r.Factor))
	}
	if n > mostNumbers {
		return Undecided, nil
	}
	q := &question{}
	list := make([]row, 0, len(rows))
	for _, r := range rows {
		f := make([]int64, n)
		copy(f, r.Factor)
		list = append(list, row{f: f, c: r.Const, equal: r.Equal})
	}
	wish := make([]int64, n)
	copy(wish, want)
	at, answer := q.solve(list, wish)
	if answer != Found {
		return answer, nil
	}
	for _, r := range list {
		if v, ok := r.value(at); !ok || v < 0 || r.equal && v != 0 {
			return Undecided, nil // a number left int64 on the way
		}
	}
	return Found, at[:n]
}

// row is a row of the question. Rows share their factors and never change them.
type row struct {
	f     []int64
	c     int64
	equal bool
}

// value is the sum for these numbers; not ok says that it leaves int64.
func (r row) value(at []int64) (int64, bool) {
	sum, ok := r.c, true
	for i, f := range r.f {
		if f != 0 {
			sum, ok = mulAdd(f, at[i], sum, ok)
		}
	}
	return sum, ok
}

// question counts what one question costs.
type question struct {
	rounds, work int
}

// solve finds numbers for which the rows hold.
func (q *question) solve(rows []row, want []int64) ([]int64, Answer) {
	q.rounds++
	rows, answer := tidy(rows)
	if answer != Found {
		return nil, answer
	}
	q.work += len(rows)
	if q.rounds > mostRounds || len(rows) > mostRows || q.work > mostWork {
		return nil, Undecided
	}
	if i := slices.IndexFunc(rows, func(r row) bool { return r.equal }); i >= 0 {
		return q.substitute(rows, i, want)
	}
	x, exact := pick(rows, len(want))
	if x < 0 {
		return slices.Clone(want), Found
	}
	return q.eliminate(rows, x, exact, want)
}

// tidy divides each row by its factor, leaves out those that follow from another one or
// always hold, and makes one equality of two bounds that meet.
func tidy(rows []row) ([]row, Answer) {
	out := make([]row, 0, len(rows))
	for _, r := range rows {
		g := uint64(0)
		for _, f := range r.f {
			if f == math.MinInt64 {
				return nil, Undecided
			}
			g = gcd(g, uint64(max(f, -f))) //nolint:gosec // it is not negative
		}
		if g == 0 {
			if r.c < 0 || r.equal && r.c != 0 {
				return nil, Never
			}
			continue
		}
		if g > 1 {
			by := int64(g) //nolint:gosec // it divides an int64
			if r.equal && r.c%by != 0 {
				return nil, Never
			}
			f := make([]int64, len(r.f))
			for i := range f {
				f[i] = r.f[i] / by
			}
			r = row{f: f, c: floor(r.c, by), equal: r.equal}
		}
		out = append(out, r)
	}
	return merge(out)
}

// merge looks at each two rows with the same factors, or with opposite ones.
func merge(rows []row) ([]row, Answer) {
	out := rows[:0]
next:
	for _, r := range rows {
		for i := range out {
			o := &out[i]
			switch along(r.f, o.f) {
			case 1:
				switch {
				case r.equal && o.equal && r.c != o.c, o.equal && r.c < o.c, r.equal && o.c < r.c:
					return nil, Never
				case r.equal:
					*o = r
				case !o.equal:
					o.c = min(o.c, r.c)
				}
				continue next
			case -1:
				if r.c == math.MinInt64 || o.c == math.MinInt64 {
					return nil, Undecided
				}
				switch {
				case r.equal && o.equal && r.c != -o.c, !o.equal && o.c < -r.c, o.equal && r.c < -o.c:
					return nil, Never
				case o.equal:
					continue next
				case r.equal:
					*o = r
					continue next
				case o.c == -r.c:
					o.equal = true
					continue next
				}
			}
		}
		out = append(out, r)
	}
	return out, Found
}

// along is 1 for the same factors, -1 for opposite ones, 0 for others.
func along(a, b []int64) int {
	sign := 0
	for i := range a {
		switch {
		case a[i] == 0 && b[i] == 0:
		case a[i] == b[i] && sign >= 0:
			sign = 1
		case a[i] == -b[i] && sign <= 0:
			sign = -1
		default:
			return 0
		}
	}
	return sign
}

// substitute takes a number out of all rows by an equality.
func (q *question) substitute(rows []row, at int, want []int64) ([]int64, Answer) {
	eq, x := rows[at], -1
	for i, f := range eq.f {
		if f != 0 && (x < 0 || max(f, -f) < max(eq.f[x], -eq.f[x])) {
			x = i
		}
	}
	a := eq.f[x]
	// x = sum of f[i]*i + c
	f, c, ok := make([]int64, len(eq.f)), int64(0), true
	if a == 1 || a == -1 {
		for i := range f {
			if i != x {
				f[i], ok = mulAdd(-a, eq.f[i], 0, ok)
			}
		}
		c, ok = mulAdd(-a, eq.c, 0, ok)
	} else {
		// A new number y takes the place of x: the factors of the row get smaller, until one is 1.
		m, sign := max(a, -a)+1, a/max(a, -a)
		for i := range f {
			if i != x {
				f[i] = sign * near(eq.f[i], m)
			}
		}
		c = sign * near(eq.c, m)
		f = append(slices.Clip(f), -sign*m)
		want = append(slices.Clone(want), 0)
	}
	if !ok || len(f) > 2*mostNumbers {
		return nil, Undecided
	}
	rest := make([]row, 0, len(rows))
	for i, r := range rows {
		if i == at && len(f) == len(eq.f) {
			continue
		}
		if len(r.f) < len(f) {
			r.f = append(slices.Clone(r.f), 0)
		}
		if k := r.f[x]; k != 0 {
			n := row{f: make([]int64, len(f)), equal: r.equal}
			for j := range f {
				if j != x {
					n.f[j], ok = mulAdd(k, f[j], r.f[j], ok)
				}
			}
			n.c, ok = mulAdd(k, c, r.c, ok)
			r = n
		}
		rest = append(rest, r)
	}
	if !ok {
		return nil, Undecided
	}
	found, answer := q.solve(rest, want)
	if answer != Found {
		return nil, answer
	}
	found[x] = 0
	if found[x], ok = (row{f: f, c: c}).value(found); !ok {
		return nil, Undecided
	}
	return found[:len(eq.f)], Found
}

// near is the rest of v by m that lies nearest to 0.
func near(v, m int64) int64 {
	r := v - m*floor(v, m)
	if r > m/2 || 2*r == m {
		r -= m
	}
	return r
}

// pick chooses the number whose elimination makes the fewest rows, and says whether it
// loses nothing. It is negative where no row has a number.
func pick(rows []row, n int) (x int, exact bool) {
	x = -1
	best := math.MaxInt
	for i := range n {
		low, high, lowOne, highOne := 0, 0, true, true
		for _, r := range rows {
			switch f := r.f[i]; {
			case f > 0:
				low, lowOne = low+1, lowOne && f == 1
			case f < 0:
				high, highOne = high+1, highOne && f == -1
			}
		}
		if low+high == 0 {
			continue
		}
		e := lowOne || highOne
		if cost := low*high - low - high; x < 0 || e && !exact || e == exact && cost < best {
			x, exact, best = i, e, cost
		}
	}
	return x, exact
}

// eliminate decides rows without equalities by those that do not have x.
func (q *question) eliminate(rows []row, x int, exact bool, want []int64) ([]int64, Answer) {
	var low, high, rest []row
	for _, r := range rows {
		switch f := r.f[x]; {
		case f > 0:
			low = append(low, r)
		case f < 0:
			high = append(high, r)
		default:
			rest = append(rest, r)
		}
	}
	shadow := func(dark bool) ([]row, bool) {
		out, ok := slices.Clone(rest), true
		for _, l := range low {
			for _, h := range high {
				a, b := l.f[x], -h.f[x] // a*x >= -l, b*x <= h: b*l + a*h >= 0
				n := row{f: make([]int64, len(l.f))}
				for i := range n.f {
					if i != x {
						n.f[i], ok = mulAdd(b, l.f[i], 0, ok)
						n.f[i], ok = mulAdd(a, h.f[i], n.f[i], ok)
					}
				}
				n.c, ok = mulAdd(b, l.c, 0, ok)
				n.c, ok = mulAdd(a, h.c, n.c, ok)
				if dark {
					n.c, ok = mulAdd(-(a - 1), b-1, n.c, ok)
				}
				out = append(out, n)
			}
		}
		return out, ok
	}
	narrow, ok := shadow(true) // where the step is exact, it is the real one
	if !ok {
		return nil, Undecided
	}
	at, answer := q.solve(narrow, want)
	if answer == Found {
		return settle(at, low, high, x, want[x])
	}
	if exact || answer == Undecided {
		return nil, answer
	}
	wide, _ := shadow(false)
	if _, answer = q.solve(wide, want); answer != Found {
		return nil, answer
	}
	return q.splinters(rows, low, high, x, want)
}

// splinters looks between the real and the dark shadow: near to one of the low bounds.
func (q *question) splinters(rows, low, high []row, x int, want []int64) ([]int64, Answer) {
	b := int64(1)
	for _, h := range high {
		b = max(b, -h.f[x])
	}
	result := Never
	for _, l := range low {
		a := l.f[x]
		room, ok := mulAdd(a, b, -a-b, true)
		if !ok {
			return nil, Undecided
		}
		for i := range floor(room, b) + 1 {
			plane := row{f: l.f, c: l.c - i, equal: true}
			switch at, answer := q.solve(append(slices.Clone(rows), plane), want); answer {
			case Found:
				return at, Found
			case Undecided:
				if result = Undecided; q.rounds > mostRounds || q.work > mostWork {
					return nil, Undecided
				}
			}
		}
	}
	return nil, result
}

// settle gives x the number between its bounds that is nearest to the one asked for.
func settle(at []int64, low, high []row, x int, want int64) ([]int64, Answer) {
	at[x] = 0
	least, most := int64(math.MinInt64), int64(math.MaxInt64)
	for _, l := range low {
		v, ok := l.value(at)
		if !ok || v == math.MinInt64 {
			return nil, Undecided
		}
		least = max(least, -floor(v, l.f[x]))
	}
	for _, h := range high {
		v, ok := h.value(at)
		if !ok {
			return nil, Undecided
		}
		most = min(most, floor(v, -h.f[x]))
	}
	if least > most {
		return nil, Undecided
	}
	at[x] = min(max(want, least), most)
	return at, Found
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// floor divides and rounds down; by is positive.
func floor(v, by int64) int64 {
	q := v / by
	if v%by < 0 {
		q--
	}
	return q
}

// mulAdd is a*b + c; not ok when it, or something before it, leaves int64.
func mulAdd(a, b, c int64, ok bool) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b)) //nolint:gosec // two's complement, corrected below
	if a < 0 {
		hi -= uint64(b) //nolint:gosec // as above
	}
	if b < 0 {
		hi -= uint64(a) //nolint:gosec // as above
	}
	p := int64(lo)                 //nolint:gosec // as above
	if int64(hi) != p>>63 || !ok { //nolint:gosec // as above
		return 0, false
	}
	s := p + c
	return s, (p^s)&(c^s) >= 0
}
