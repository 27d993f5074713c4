package gen

// begin looks at how a line begins, and what may stand before it.
func (s *spacer) begin() bool {
	f := s.top()
	first := &s.line[0]
	for i := range s.frames {
		s.frames[i].line = true
	}
	if first.kind == closing && s.last != afterCode {
		return false
	}
	if s.last == afterComment && (first.text == "case" || first.text == "default") {
		return false
	}
	if s.goesOn {
		return first.kind != closing && first.kind != mark || first.text == "!"
	}
	if len(s.frames) == 1 && s.last == afterCode {
		return false // gofmt sets declarations apart
	}
	f.signature, f.head, f.parts = none, "", 0
	if s.last == afterEmpty {
		f.path = ""
	}
	return true
}

// end looks at how a line ends.
func (s *spacer) end() bool {
	n := len(s.line) - 1
	s.noted = s.line[n].kind == remark
	if s.noted {
		n--
	}
	f, t := s.top(), &s.line[n]
	begun := false
	for i := range s.frames[1:] {
		if x := &s.frames[i+1]; !x.line {
			within := &s.frames[i]
			if x.one || !begun && (within.holds == elements && within.parts > 0 || within.holds == fields) {
				return false
			}
			x.first, begun = !begun, true
		}
	}
	s.goesOn, s.last = false, afterCode
	if begun {
		s.last = afterOpening
		return !s.noted && t.kind == opening
	}
	if s.noted && f.holds != code && f.holds != fields && f.holds != declarations {
		return false
	}
	goesOn := t.text == "&&" || t.text == "||"
	switch {
	case f.holds == code && !goesOn && (f.head == "if" || f.head == "for" || f.head == "switch" || f.head == "else"):
		return false // its block stands on the line
	case goesOn:
		s.goesOn = true
		return !s.noted && f.holds == code && f.parts == 0
	case t.text == ",":
		return f.holds == elements || f.holds == arguments || f.holds == parameters
	case t.text == ":":
		s.last = afterOpening
		return !s.noted && f.holds == code
	case t.kind == mark && t.text != "++" && t.text != "--":
		return false
	case t.kind == keyword:
		return t.text == "return" || t.text == "break" || t.text == "continue" || t.text == "fallthrough"
	}
	switch f.holds {
	case fields:
		return s.field(f, n)
	case declarations:
		return s.declaration(f, n)
	}
	return f.holds == code || f.holds == methods
}

// field looks at a field, which may be aligned with its neighbours.
func (s *spacer) field(f *frame, n int) bool {
	tag := s.line[n].kind == literal
	if n == 0 || s.line[0].kind == mark || s.line[1].text == "." || s.line[1].role == joined { // embedded
		return !tag && !s.noted
	}
	f.tagged = f.tagged || tag
	f.noted = f.noted || s.noted && !tag
	return s.line[0].kind == word && !(n == 1 && tag) && !(f.tagged && f.noted) && (!tag || s.line[n].text[0] == '`')
}

// declaration looks at one of a group, which may be aligned with its neighbours.
func (s *spacer) declaration(f *frame, n int) bool {
	switch {
	case n <= 1 && s.line[n].kind == literal: // an import; gofmt sorts them
		sorted := f.path < s.line[n].text
		f.path = s.line[n].text
		return sorted && !s.noted
	case n == 0:
		return !s.noted
	case s.line[0].kind == closing:
		return true
	case s.line[1].text == "=":
		f.untyped = true
	default:
		f.typed = true
	}
	return !(f.typed && f.untyped) && s.assigned(n)
}
