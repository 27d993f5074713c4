package gen

import "math/bits"

// depths takes the blanks away from the operators that gofmt writes without, such as the
// plus in a+1 < b: those of sums and products that are operands of something themselves.
// The line stands in a bracket that holds base; goesOn tells that it is only a part of a
// condition.
func (s *spacer) depths(base holds, goesOn bool) bool {
	depth := 1
	if goesOn {
		depth = 2
	}
	if base != code && base != elements && base != declarations || s.line[0].kind == closing {
		return false
	}
	return s.list(0, len(s.line), depth, goesOn)
}

// list looks at the expressions between the tokens from i to j.
func (s *spacer) list(i, j, depth int, goesOn bool) bool {
	begin, deeper := i, 0
	for k := i; k <= j; k++ {
		if k < j {
			t := &s.line[k]
			if t.kind == opening {
				k = min(t.end, j-1)
				continue
			}
			if splits := t.kind == keyword || t.kind == mark && precedence(t.text) == 0 && t.text != "." && t.role != unary; !splits {
				continue
			}
		}
		if !s.expression(begin, k, depth+deeper, goesOn) {
			return false
		}
		begin = k + 1
		switch {
		case k == j || s.line[k].kind == keyword || s.line[k].text == ":" || s.line[k].text == ",":
		case s.line[k].text == ";":
			i, deeper = begin, 0
		case s.many(i, k) && s.sum(i, k):
			return false
		case s.many(i, k) && s.many(begin, j): // an assignment of several values to several variables
			deeper = 1
		}
	}
	return true
}

// many reports whether a comma stands between the tokens from i to j.
func (s *spacer) many(i, j int) bool {
	for k := i; k < j; k++ {
		switch t := &s.line[k]; {
		case t.kind == opening:
			k = t.end
		case t.text == ",":
			return true
		}
	}
	return false
}

// sum reports whether an operator of the kind in question stands between the tokens
// from i to j.
func (s *spacer) sum(i, j int) bool {
	for _, t := range s.line[i:min(j, len(s.line))] {
		if t.role == binary && precedence(t.text) >= 4 {
			return true
		}
	}
	return false
}

// expression looks at one that stands at a depth.
func (s *spacer) expression(i, j, depth int, goesOn bool) bool {
	for k := i; k < j; k++ {
		t := &s.line[k]
		if t.kind != opening {
			if p := precedence(t.text); p >= 4 && t.role == binary && depth+s.above(i, j, k, p) > 1 {
				t.near = true
			}
			continue
		}
		if s.sum(k, t.end) && !s.within(i, j, k, depth+s.above(i, j, k, 6), goesOn) {
			return false
		}
		k = t.end
	}
	return true
}

// within looks at what stands in a bracket.
func (s *spacer) within(i, j, k, depth int, goesOn bool) bool {
	t := &s.line[k]
	for next := t.end + 1; next < j && s.line[next].role != binary; next++ {
		if s.line[next].kind == opening && s.line[next].holds != code { // what follows in the operand may change the depth
			return false
		}
	}
	switch t.holds {
	case code, elements:
		depth = 1
	case arguments:
		switch {
		case t.role != joined:
			if goesOn {
				return false
			}
			depth = max(depth-1, 1)
		case s.many(k+1, t.end):
			depth++
		}
	case index:
		if t.role != joined {
			return false
		}
		for _, x := range s.line[k+1 : t.end] {
			if x.role == colon {
				return false
			}
		}
		depth++
	default:
		return false
	}
	return s.list(k+1, t.end, depth, false)
}

// above counts the operators that the token k of an expression is an operand of, those
// of one precedence once. p is its own precedence, or more than any.
func (s *spacer) above(i, j, k, p int) int {
	var found uint8
	least := p
	see := func(t *goToken) {
		if q := precedence(t.text); q > 0 && q < least && t.role == binary {
			least = q
			found |= 1 << q
		}
	}
	depth := 0
	for x := k - 1; x >= i; x-- {
		switch t := &s.line[x]; {
		case t.kind == closing:
			depth++
		case t.kind == opening:
			depth--
		case depth == 0:
			see(t)
		}
	}
	least = p
	if s.line[k].kind == opening {
		k = s.line[k].end
	}
	for x := k + 1; x < j; x++ {
		if t := &s.line[x]; t.kind == opening {
			x = t.end
		} else {
			see(t)
		}
	}
	return bits.OnesCount8(found)
}
