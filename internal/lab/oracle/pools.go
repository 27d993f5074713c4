package oracle

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// pools says what is compared with what, directly or by way of a third.
type pools struct {
	parent map[string]string
	bounds map[string][]int64 // the numbers at the bounds of a field or an input
	up     map[string][]rise  // what can be asked for above something
	down   map[string][]rise
}

func newPools() *pools {
	return &pools{map[string]string{}, map[string][]int64{}, map[string][]rise{}, map[string][]rise{}}
}

// bound notes the numbers at the bounds of a field or an input, and next to them.
func (p *pools) bound(node string, y Typ) {
	p.join(node, "")
	switch y.Kind { // what an unbounded number has to come below
	case driver.KindCounter:
		p.bounds[node] = []int64{0, 1}
	case driver.KindSequence:
		p.bounds[node] = []int64{1, 2}
	}
	if y.Min != nil {
		p.bounds[node] = append(p.bounds[node], *y.Min, *y.Min+1)
	}
	if y.Max != nil {
		p.bounds[node] = append(p.bounds[node], *y.Max-1, *y.Max)
	}
}

func (p *pools) root(n string) string {
	for p.parent[n] != "" && p.parent[n] != n {
		n = p.parent[n]
	}
	return n
}

func (p *pools) join(a, b string) {
	for _, n := range []string{a, b} {
		if n != "" && p.parent[n] == "" {
			p.parent[n] = n
		}
	}
	if a != "" && b != "" && !strings.HasPrefix(a, "= ") && !strings.HasPrefix(b, "= ") {
		p.parent[p.root(a)] = p.root(b)
	} else if a != "" && b != "" { // a number joins without making strangers equal
		lit, other := a, b
		if strings.HasPrefix(b, "= ") {
			lit, other = b, a
		}
		p.parent[lit+" @"+other] = p.root(other)
	}
}

func (p *pools) group(n string) []string {
	var list []string
	for x := range p.parent {
		if p.root(x) == p.root(n) {
			list = append(list, x)
		}
	}
	slices.Sort(list)
	return list
}

// size counts the fields and inputs that n is compared with, itself included.
func (p *pools) size(n string) int {
	size := 0
	for _, x := range p.group(n) {
		if strings.HasPrefix(x, DimField) || strings.HasPrefix(x, dimInput) {
			size++
		}
	}
	return size
}

func (p *pools) has(n, word string) bool { return slices.Contains(p.group(n), word) }

func (p *pools) hasSet(m *Model, n string) bool {
	return slices.ContainsFunc(p.group(n), func(x string) bool {
		f := m.FieldByName[strings.TrimPrefix(x, DimField)]
		return f != nil && f.Kind == driver.KindSet
	})
}

func (p *pools) literals(n string) []int64 {
	var list []int64
	for _, x := range p.group(n) {
		if text, ok := strings.CutPrefix(x, "= "); ok {
			text, _, _ = strings.Cut(text, " @")
			if k, err := strconv.ParseInt(text, 10, 64); err == nil {
				list = append(list, k)
			}
		}
	}
	return list
}

// How many values in a row a pool has at most beyond what they are compared with.
const longestChain = 3

// rises notes that a fact can ask for b above a, by at least one step or by none.
func (p *pools) rises(a, b string, by int) {
	if a != "" && b != "" {
		p.up[a] = append(p.up[a], rise{b, by})
		p.down[b] = append(p.down[b], rise{a, by})
	}
}

type rise struct {
	to string
	by int
}

// order notes how a fact orders its two sides.
func (p *pools) order(op, left, right string) {
	by := 0
	if op == "<" || op == ">" || op == "!=" {
		by = 1
	}
	if slices.Contains([]string{"<", "<=", "==", "!="}, op) {
		p.rises(left, right, by)
	}
	if slices.Contains([]string{">", ">=", "==", "!="}, op) {
		p.rises(right, left, by)
	}
}

// opposite is the comparison that holds where another does not.
var opposite = map[string]string{"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}

// above returns how many different values can be asked for beyond that of n, one
// after the other: with `a > now` and `b > a`, two above now. It is at least one,
// so that both sides of each comparison are tried.
func (p *pools) above(n string) int { return min(max(longest(p.up, n, nil), 1), longestChain) }
func (p *pools) below(n string) int { return min(max(longest(p.down, n, nil), 1), longestChain) }

// chain is the longest of these in the group of n, from wherever it begins.
func (p *pools) chain(n string) int {
	most := 1
	for _, x := range p.group(n) {
		most = max(most, p.above(x))
	}
	return most
}

func longest(rises map[string][]rise, from string, been []string) int {
	most := 0
	if been = append(slices.Clone(been), from); len(been) > 2*longestChain {
		return 0
	}
	for _, r := range rises[from] {
		if !slices.Contains(been, r.to) {
			most = max(most, r.by+longest(rises, r.to, been))
		}
	}
	return most
}
