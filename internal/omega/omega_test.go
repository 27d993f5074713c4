package omega

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSolve(t *testing.T) {
	le := func(c int64, f ...int64) Row { return Row{Factor: f, Const: c} }
	eq := func(c int64, f ...int64) Row { return Row{Factor: f, Const: c, Equal: true} }
	for name, tt := range map[string]struct {
		rows []Row
		want Answer
	}{
		"nothing":                         {nil, Found},
		"a number between bounds":         {[]Row{le(-3, 1), le(3, -1)}, Found},
		"no number between bounds":        {[]Row{le(-3, 1), le(2, -1)}, Never},
		"no whole number between bounds":  {[]Row{le(-1, 2), le(1, -2)}, Never},
		"half of an odd number":           {[]Row{eq(-7, 2)}, Never},
		"a gap of both":                   {[]Row{eq(-1, 6, 10, 15)}, Found},
		"a factor that no sum can have":   {[]Row{eq(-1, 6, 10)}, Never},
		"refunded more than was paid":     {[]Row{le(0, 1, -1, 0), le(0, 1, -1, -1), le(-1, -1, 1, 1)}, Never},
		"majorities meet":                 {[]Row{le(-1, 2, 0, -1), le(-1, 0, 2, -1), le(0, -1, -1, 1)}, Never},
		"between the shadows":             {[]Row{le(-27, 11, 13), le(45, -11, -13), le(10, 7, -9), le(4, -7, 9)}, Never},
		"a constant that leaves int64":    {[]Row{le(math.MinInt64, 1), le(math.MinInt64, -1)}, Undecided},
		"numbers at the edge":             {[]Row{le(math.MinInt64+1, 1), le(math.MaxInt64, -1)}, Found},
		"more numbers than the limit":     {[]Row{{Factor: make([]int64, mostNumbers+1)}}, Undecided},
		"something that is never so":      {[]Row{le(-1)}, Never},
		"an equality without a number":    {[]Row{eq(1)}, Never},
		"an equality that always holds":   {[]Row{eq(0, 0, 0)}, Found},
		"two equalities that differ":      {[]Row{eq(1, 1, 1), eq(2, 1, 1)}, Never},
		"an equality and its opposite":    {[]Row{eq(1, 1, 1), eq(-1, -1, -1)}, Found},
		"an equality and a bound of it":   {[]Row{eq(1, 1, 1), le(-1, -1, -1)}, Found},
		"an equality beyond a bound":      {[]Row{eq(5, 1, 1), le(-6, -1, -1)}, Never},
		"a bound beyond an equality":      {[]Row{le(-6, -1, -1), eq(5, 1, 1)}, Never},
		"a bound below the same equality": {[]Row{le(4, 1, 1), eq(5, 1, 1)}, Never},
	} {
		t.Run(name, func(t *testing.T) {
			got, at := Solve(tt.rows, nil)
			if got != tt.want {
				t.Fatalf("%v: answer %d, want %d (%v)", tt.rows, got, tt.want, at)
			}
		})
	}
}

// Every answer is held against all numbers between two ends, which are rows as well. The
// ends lie around 0, around the limit of sums and at the edges of int64.
func TestSolveAgainstTrying(t *testing.T) {
	const least, most = -2, 4
	rounds := 40_000
	if testing.Short() {
		rounds = 4_000
	}
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[Answer]int{}
	beyond := 0 // undecided because a sum leaves int64
	for i := range rounds {
		n := 1 + r.IntN(4)
		off := []int64{0, 0, 0, 1 << 60, -1 << 60, math.MaxInt64 / 16, math.MinInt64 / 16}[r.IntN(7)]
		var rows []Row // over x - off
		for range 1 + r.IntN(5) {
			row := Row{Factor: make([]int64, n), Const: int64(r.IntN(21) - 10), Equal: r.IntN(6) == 0}
			for k := range row.Factor {
				row.Factor[k] = int64([]int{0, 0, 0, 1, -1, 1, -1, 1, -1, 2, -2, 3}[r.IntN(12)])
			}
			rows = append(rows, row)
		}
		for k := range n {
			low, high := make([]int64, n), make([]int64, n)
			low[k], high[k] = 1, -1
			rows = append(rows, Row{Factor: low, Const: -least}, Row{Factor: high, Const: most})
		}
		moved := make([]Row, len(rows))
		ok := true
		for k, row := range rows {
			moved[k] = row
			for _, f := range row.Factor {
				moved[k].Const, ok = mulAdd(-f, off, moved[k].Const, ok)
			}
		}
		if !ok {
			continue
		}
		want := Never
		at := make([]int64, n)
		for k := range at {
			at[k] = least
		}
		for k := 0; k < n && want == Never; {
			if holds(rows, at) {
				want = Found
			}
			for k = 0; k < n; k++ {
				if at[k]++; at[k] <= most {
					break
				}
				at[k] = least
			}
		}
		got, found := Solve(moved, nil)
		if got == Undecided && off != 0 {
			beyond++
			continue
		}
		seen[got]++
		switch {
		case got != Undecided && got != want:
			t.Fatalf("case %d, off %d: answer %d, want %d\n%v", i, off, got, want, rows)
		case got == Found && !holds(moved, found):
			t.Fatalf("case %d, off %d: %v does not hold\n%v", i, off, found, rows)
		}
	}
	t.Logf("never %d, found %d, undecided %d", seen[Never], seen[Found], seen[Undecided])
	t.Logf("beyond int64: %d", beyond)
	if seen[Never] < rounds/10 || seen[Found] < rounds/10 || seen[Undecided] > rounds/100 {
		t.Error("the questions are not what they should be")
	}
}

// What is found lies near to what was asked for.
func TestSolveNear(t *testing.T) {
	rows := []Row{{Factor: []int64{1, 1}, Const: -10, Equal: true}, {Factor: []int64{1}, Const: 0}, {Factor: []int64{0, 1}}}
	if _, at := Solve(rows, []int64{7, 3}); !cmp.Equal(at, []int64{7, 3}) {
		t.Errorf("found %v", at)
	}
}

func holds(rows []Row, at []int64) bool {
	for _, r := range rows {
		f := make([]int64, len(at))
		copy(f, r.Factor)
		v, ok := (row{f: f, c: r.Const}).value(at)
		if !ok || v < 0 || r.Equal && v != 0 {
			return false
		}
	}
	return true
}

func BenchmarkSolve(b *testing.B) {
	rows := []Row{ // a refund: refunded <= paid, refunded + amount <= paid, amount >= 1, and yet refunded + amount > paid
		{Factor: []int64{1, -1}}, {Factor: []int64{1, -1, -1}}, {Factor: []int64{0, 0, 1}, Const: -1},
		{Factor: []int64{0, 1}}, {Factor: []int64{-1, 1, 1}, Const: -1},
	}
	for b.Loop() {
		Solve(rows, nil)
	}
}
