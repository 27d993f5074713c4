package gen

import "strings"

// push opens a bracket.
func (s *spacer) push(i int, h holds, r role) *frame {
	s.line[i].role, s.line[i].holds, s.line[i].end = r, h, len(s.line)
	s.frames = append(s.frames, frame{holds: h, at: i})
	return s.top()
}

// open gives an opening bracket its role.
func (s *spacer) open(i int) bool {
	f := s.top()
	next := ""
	if i+1 < len(s.line) {
		next = s.line[i+1].text
	}
	before := ""
	if i > 0 {
		before = s.line[i-1].text
	}
	switch s.line[i].text {
	case "(":
		return s.paren(i, f, before)
	case "[":
		return s.bracket(i, f, before, next)
	}
	return s.brace(i, f, before, next)
}

// paren is open for a parenthesis, bracket for one of an index or a type, brace for one
// of a block or a literal.
func (s *spacer) paren(i int, f *frame, before string) bool {
	switch {
	case f.holds == methods && i == 1:
		f.signature = results
		s.push(i, parameters, joined)
	case f.signature == begun && i == 1 && before == "func" && len(s.frames) == 1:
		f.signature = received
		s.push(i, parameters, apart)
	case f.signature == begun, f.signature == received:
		f.signature = results
		s.push(i, parameters, joined)
	case f.signature == results:
		f.signature = complete
		s.push(i, parameters, apart).several = true
	case before == "var", before == "const", before == "import":
		s.push(i, declarations, apart)
		return i+1 == len(s.line)
	case f.holds == fields, f.holds == parameters, (f.holds == declarations || f.head == "var" || f.head == "const" || f.head == "type") && !s.assigned(i):
		return false
	case before == ".", s.operand(i):
		s.push(i, arguments, joined)
	default:
		s.push(i, arguments, usual)
	}
	return true
}

// indexed reports whether an index ends before i. Before a type it would be the length
// of an array.
func (s *spacer) indexed(i int) bool {
	return s.line[i-1].text == "]" && s.line[i-1].role != elementType
}

// bracketed reports whether what stands before i is all in parentheses, which gofmt
// takes away.
func (s *spacer) bracketed(i int) bool {
	for k := range s.line[:i] {
		if t := &s.line[k]; t.kind == opening && t.end == i-1 && t.role == usual {
			return k > 0 && (s.line[k-1].kind == keyword || s.line[k-1].text == ";")
		}
	}
	return false
}

// assigned reports whether the token i stands behind an equals sign.
func (s *spacer) assigned(i int) bool {
	for _, t := range s.line[:i] {
		if t.text == "=" {
			return true
		}
	}
	return false
}

func (s *spacer) bracket(i int, f *frame, before, next string) bool {
	switch {
	case before == "map":
		s.push(i, index, joined).elem = true
	case next == "]" || next == "...":
		r := usual
		if s.operand(i) {
			r = apart
			if s.indexed(i) {
				return false
			}
		}
		s.push(i, index, r).elem = true
	case f.head == "type" && i == 2:
		s.push(i, index, joined).generic = true
		return i+2 < len(s.line) && s.line[i+1].kind == word && s.line[i+2].kind != closing // parameters, not the length of an array
	case s.operand(i):
		s.push(i, index, joined)
	default:
		return false // the length of an array
	}
	return true
}

func (s *spacer) brace(i int, f *frame, before, next string) bool {
	last := i+1 == len(s.line)
	switch {
	case before == "struct", before == "interface":
		h := fields
		if before == "interface" {
			h = methods
		}
		if next == "}" {
			s.push(i, h, joined)
			return true
		}
		s.push(i, h, apart)
		return last
	case f.holds == parameters, f.holds == index, f.holds == fields, f.holds == methods:
		return false
	case f.signature == results, f.signature == complete:
		f.signature = none
		s.push(i, code, apart).one = !last
		return last || next == "}" || len(s.frames) > 2 && s.alone(i)
	case (f.head == "if" || f.head == "for" || f.head == "switch" || f.head == "else") && last:
		if i > 1 && s.line[i-2].role == elementType || s.bracketed(i) {
			return false
		}
		f.head = ""
		s.push(i, code, apart)
	case s.operand(i):
		s.push(i, elements, joined)
	case f.holds == elements || f.holds == arguments && i == 0:
		s.push(i, elements, usual)
	default:
		return false
	}
	return true
}

// alone reports whether a function is the first that stands with its body on the line,
// and not within another one. A function of the file on one line may be aligned.
func (s *spacer) alone(i int) bool {
	found := false
	for _, t := range s.line[:i] {
		if t.role == inner || t.kind == opening && t.holds == code {
			return false
		}
		if !found && strings.Contains(t.text, "func") {
			if t.kind != keyword {
				return false
			}
			found = true
		}
	}
	return found
}

// matches are the brackets that belong to each kind of frame.
func (f *frame) matches(bracket string) bool {
	switch f.holds {
	case arguments, parameters, declarations:
		return bracket == ")"
	case index:
		return bracket == "]"
	}
	return bracket == "}"
}

// close gives a closing bracket its role.
func (s *spacer) close(i int) bool {
	f := *s.top()
	if len(s.frames) == 1 || !f.matches(s.line[i].text) || f.several && f.parts == 0 {
		return false
	}
	if f.line { // it is closed where a line begins, together with all that its line left open
		for _, t := range s.line[:i] {
			if t.kind != closing {
				return false
			}
		}
		more := i+1 < len(s.line) && s.line[i+1].kind == closing
		if f.first == more {
			return false
		}
	} else {
		s.line[f.at].end = i
	}
	s.frames = s.frames[:len(s.frames)-1]
	switch {
	case f.one:
		s.line[i].role = inner
	case f.elem:
		s.line[i].role = elementType
	case f.holds == index && i+1 < len(s.line) && !f.generic:
		next := s.line[i+1].kind
		return next != word && next != keyword
	}
	return true
}
