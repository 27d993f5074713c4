package prove

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

func le(x, y int, c int64) formula { return formula{op: atMost, x: x, y: y, c: c} }
func eq(x, y int, c int64) formula { return formula{op: equal, x: x, y: y, c: c} }
func is(v int) formula             { return formula{op: isTrue, v: v} }

func TestSolve(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		fs   []formula
		want verdict
	}{
		{"nothing", nil, possible},
		{"true and false", []formula{yes, no}, impossible},
		{"an atom and its negation", []formula{is(1), not(is(1))}, impossible},
		{"a cycle of smaller ones", []formula{le(1, 2, -1), le(2, 3, -1), le(3, 1, -1)}, impossible},
		{"a chain with room", []formula{le(1, 2, -1), le(2, 3, -1), le(3, 1, 1)}, impossible},
		{"a chain that closes", []formula{le(1, 2, -1), le(2, 3, -1), le(1, 3, -2), le(3, 1, 2)}, possible},
		{"no whole number between", []formula{le(0, 1, -1), le(1, 0, 1), not(eq(1, 0, 1))}, impossible},
		{"equal through another", []formula{eq(1, 2, 0), eq(2, 3, 5), not(eq(1, 3, 5))}, impossible},
		{"one of two, neither", []formula{anyOf(is(1), is(2)), not(is(1)), not(is(2))}, impossible},
		{"one of two, each with a contradiction", []formula{anyOf(le(1, 0, 3), le(1, 0, 1)), le(0, 1, -4)}, impossible},
		{"one of two, the second", []formula{anyOf(all(is(1), le(1, 0, 1)), all(is(2), le(1, 0, 9))), le(0, 1, -4)}, possible},
		{"the negation of a conjunction", []formula{not(all(is(1), eq(1, 0, 0))), is(1), eq(1, 0, 0)}, impossible},
		{"components by themselves", []formula{anyOf(is(1), is(2)), eq(5, 0, 1), eq(5, 0, 2)}, impossible},
		{"more pigeons than anybody counts", pigeons(9, 8), undecided},
		{"as many pigeons as holes", pigeons(6, 6), possible},
		{"four pigeons in three holes", pigeons(4, 3), impossible},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, sol := solve(tt.fs, func(int) int64 { return 0 }, newMeter(&spec.Machine{}))
			if got != tt.want {
				t.Fatalf("verdict %d, want %d", got, tt.want)
			}
			if got != possible {
				return
			}
			for i, f := range tt.fs {
				if !satisfied(f, sol) {
					t.Errorf("formula %d is false in the solution %v", i, sol)
				}
			}
		})
	}
}

// pigeons puts numbers into holes, no two into one.
func pigeons(n int, holes int64) []formula {
	var fs []formula
	for i := 1; i <= n; i++ {
		fs = append(fs, le(0, i, -1), le(i, 0, holes))
		for j := 1; j < i; j++ {
			fs = append(fs, not(eq(i, j, 0)))
		}
	}
	return fs
}

// satisfied evaluates a formula in a solution, by itself.
func satisfied(f formula, sol *solution) bool {
	switch f.op {
	case and:
		for _, k := range f.kids {
			if !satisfied(k, sol) {
				return false
			}
		}
		return true
	case or:
		for _, k := range f.kids {
			if satisfied(k, sol) {
				return true
			}
		}
		return false
	case isTrue:
		return sol.bools[f.v]
	case isFalse:
		return !sol.bools[f.v]
	case atMost:
		return sol.nums[f.x]-sol.nums[f.y] <= f.c
	case linear:
		total := f.c
		for _, a := range f.sum {
			total += a.factor * sol.nums[a.num]
		}
		return total >= 0
	}
	return sol.nums[f.x]-sol.nums[f.y] == f.c
}

// A question that nothing is left for is left open. A chain is decided however
// long it is.
func TestSolveIsMetered(t *testing.T) {
	t.Parallel()
	var chain []formula
	for i := range 5000 {
		chain = append(chain, le(i+1, i+2, -1))
	}
	m := newMeter(&spec.Machine{})
	if got, _ := solve(chain, func(int) int64 { return 0 }, m); got != possible {
		t.Errorf("verdict %d on a long chain, want possible", got)
	}
	if got, _ := solve(append(chain, le(5001, 1, 4999)), nil, m); got != impossible {
		t.Errorf("verdict %d on a long cycle, want impossible", got)
	}
	m.work = 1_000_000_000
	for range 4 {
		if got, _ := solve(pigeons(9, 8), func(int) int64 { return 0 }, m); got != undecided {
			t.Errorf("verdict %d on pigeons, want undecided", got)
		}
	}
	if m.cases > 60_000+1000 {
		t.Errorf("%d cases are left after four hard questions", m.cases)
	}
	m.work = 10
	if got, _ := solve(chain, func(int) int64 { return 0 }, m); got != undecided {
		t.Errorf("verdict %d with nothing left, want undecided", got)
	}
}

// A choice in one component does not multiply the cases of another: forty
// independent choices and a contradiction elsewhere are decided at once.
func TestSolveIsNotMultipliedByComponents(t *testing.T) {
	t.Parallel()
	var fs []formula
	for i := range 40 {
		fs = append(fs, anyOf(le(2*i+1, 2*i+2, -1), le(2*i+2, 2*i+1, -1)))
	}
	if got, _ := solve(fs, func(int) int64 { return 0 }, newMeter(&spec.Machine{})); got != possible {
		t.Errorf("verdict %d, want possible", got)
	}
	fs = append(fs, pigeons(4, 3)...)
	for i := range fs[:40] {
		for k := range fs[i].kids {
			fs[i].kids[k].x += 100
			fs[i].kids[k].y += 100
		}
	}
	if got, _ := solve(fs, func(int) int64 { return 0 }, newMeter(&spec.Machine{})); got != impossible {
		t.Errorf("verdict %d, want impossible", got)
	}
}

func sum(c int64, factors ...int64) formula {
	var list []addend
	for i, f := range factors {
		list = append(list, addend{i + 1, f})
	}
	return total(list, c)
}

// TestSolveSums holds questions with sums against all numbers from -3 to 3.
func TestSolveSums(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 7))
	const nums, low, high = 3, -3, 3
	answers := map[verdict]int{}
	for n := range 20_000 {
		var draw func(depth int) formula
		draw = func(depth int) formula {
			switch k := r.IntN(9); {
			case k == 0 && depth > 0:
				return anyOf(draw(depth-1), draw(depth-1))
			case k == 1 && depth > 0:
				return all(draw(depth-1), draw(depth-1))
			case k == 2:
				return not(eq(1+r.IntN(nums), r.IntN(nums+1), int64(r.IntN(5)-2)))
			case k == 3:
				return le(1+r.IntN(nums), r.IntN(nums+1), int64(r.IntN(7)-4))
			case k == 4:
				return is(1 + r.IntN(2))
			case k == 5:
				return not(is(1 + r.IntN(2)))
			}
			f := sum(int64(r.IntN(13)-8), int64(r.IntN(5)-2), int64(r.IntN(5)-2), int64(r.IntN(3)-1))
			if r.IntN(3) == 0 {
				return not(f)
			}
			return f
		}
		var fs []formula
		for i := range nums {
			fs = append(fs, le(i+1, 0, high), le(0, i+1, -low))
		}
		for range 2 + r.IntN(4) {
			fs = append(fs, draw(2))
		}
		want := impossible
		at := &solution{bools: map[int]bool{}, nums: map[int]int64{}}
		for k := range 7 * 7 * 7 * 4 {
			at.nums[1], at.nums[2], at.nums[3] = int64(k%7)+low, int64(k/7%7)+low, int64(k/49%7)+low
			at.bools[1], at.bools[2] = k/343%2 == 1, k/686 == 1
			if !slices.ContainsFunc(fs, func(f formula) bool { return !satisfied(f, at) }) {
				want = possible
				break
			}
		}
		got, sol := solve(fs, func(int) int64 { return 1 }, newMeter(&spec.Machine{}))
		answers[got]++
		if got != want {
			t.Fatalf("question %d: verdict %d, want %d: %+v", n, got, want, fs)
		}
		if got == possible {
			for i, f := range fs {
				if !satisfied(f, sol) {
					t.Fatalf("question %d: formula %d %+v is false in the solution %v", n, i, f, sol)
				}
			}
		}
		b := &base{state: &state{bools: map[int]bool{}, meter: newMeter(&spec.Machine{}), heap: &heap{}}}
		b.grow(1)
		half := len(fs) / 2
		b.add(fs[:half])
		for range 2 { // a question leaves nothing behind
			if v := b.ask(fs[half:]); v != undecided && v != want {
				t.Fatalf("question %d: the base says %d, want %d", n, v, want)
			}
		}
	}
	t.Log(answers)
}
