package gen

import "strings"

// space returns Go text with the blanks between tokens that gofmt sets, line by line,
// where the text is broken into lines as gofmt breaks it. It does not look at the
// blanks that are there. At a form that it does not know for certain it gives up.
func space(text string) (string, bool) {
	s := spacer{frames: make([]frame, 1, 16), line: make([]goToken, 0, 64), out: make([]byte, 0, len(text)), last: afterEmpty}
	for line := range strings.Lines(text) {
		if !s.add(strings.TrimSuffix(line, "\n")) {
			return "", false
		}
	}
	return string(s.out), len(s.frames) == 1 && !s.goesOn
}

// spacer spaces one line after the other.
type spacer struct {
	out    []byte
	frames []frame // the file, and the brackets that are open
	line   []goToken
	last   last
	goesOn bool // the line before ends within a condition
	noted  bool // it ends with a comment
	doc    int  // where the comments begin that stand before the next line
	sums   bool // there are operators on the line whose blanks depend on what stands around
}

// last is what the line before was.
type last uint8

const (
	afterCode    last = iota
	afterEmpty        // also the beginning of the file
	afterComment      // on a line of its own
	afterOpening      // it leaves a bracket open, or is the head of a case
)

// frame is what stands in a bracket, or in the file.
type frame struct {
	holds     holds
	line      bool   // it was opened on an earlier line
	generic   bool   // parameters of a type
	several   bool   // results: one alone stands without brackets
	first     bool   // it is the first bracket that its line left open
	at        int    // where it was opened on its line
	path      string // of the last import
	parts     int    // commas and semicolons
	one       bool   // a block on one line
	elem      bool   // an element type follows behind it
	signature phase  // of a function that stands in it
	head      string // the keyword that its statement begins with
	tagged    bool   // a struct with tags
	noted     bool   // a struct with comments at fields without tags
	typed     bool   // a group that has declarations with types
	untyped   bool   // and without
}

// holds says what stands in a bracket.
type holds uint8

const (
	code         holds = iota // statements; declarations of the file
	fields                    // of a struct
	methods                   // of an interface
	declarations              // of a group
	elements                  // of a composite literal
	arguments                 // of a call, or an expression in parentheses
	parameters                // and results
	index                     // and type arguments, lengths of arrays, keys of maps
)

// phase is how far a signature has come.
type phase uint8

const (
	none     phase = iota
	begun          // func stands there; parameters are expected
	received       // the receiver was the first
	results        // or the body are expected
	complete
)

func (s *spacer) top() *frame { return &s.frames[len(s.frames)-1] }

// add spaces a line.
func (s *spacer) add(text string) bool {
	text = strings.Trim(text, " \t")
	switch {
	case text == "":
		if s.last == afterOpening || s.goesOn {
			return false
		}
		s.last, s.noted = afterEmpty, false
		s.put("")
		return true
	case strings.HasPrefix(text, "//"):
		if s.goesOn || s.noted || len(s.frames) == 1 && s.last == afterCode {
			return false
		}
		if s.last != afterComment {
			s.doc = len(s.out)
		}
		s.last = afterComment
		s.put(text)
		return true
	}
	if s.last == afterComment && len(s.frames) == 1 {
		var ok bool
		if s.out, ok = documented(s.out, s.doc); !ok {
			return false
		}
	}
	line, ok := tokens(s.line[:0], text)
	s.line = line
	if !ok || !s.begin() {
		return false
	}
	base, before := s.top().holds, s.goesOn
	if !s.roles() || !s.end() || s.sums && !s.depths(base, before || s.goesOn) {
		return false
	}
	s.write()
	return true
}

func (s *spacer) put(text string) {
	s.out = append(s.out, text...)
	s.out = append(s.out, '\n')
}

// write writes a line.
func (s *spacer) write() {
	for i := range s.line {
		if i > 0 && gap(&s.line[i-1], &s.line[i]) {
			s.out = append(s.out, ' ')
		}
		s.out = append(s.out, s.line[i].text...)
	}
	s.out = append(s.out, '\n')
}

// gap reports whether a blank stands between two tokens.
func gap(p, t *goToken) bool {
	switch {
	case t.kind == remark, t.role == apart:
		return true
	case t.role == joined, t.role == tight, t.near, p.near:
		return false
	case t.kind == closing:
		return t.role == inner && p.text != "{"
	case t.text == ",", t.text == ";", t.text == ":", t.text == ".":
		return false
	case p.kind == opening:
		return p.role == apart && p.holds == code
	}
	return p.role != unary && p.role != elementType && p.role != tight && p.role != colon && p.text != "." && p.text != "..."
}

// roles gives each token of a line its role.
func (s *spacer) roles() bool {
	s.sums = false
	for i := range s.line {
		t, f := &s.line[i], s.top()
		ok := true
		switch t.kind {
		case keyword:
			ok = s.keyword(i, f)
		case opening:
			ok = s.open(i)
		case closing:
			ok = s.close(i)
		case mark:
			ok = s.mark(i, f)
		}
		if !ok {
			return false
		}
	}
	return true
}

// keyword looks at one, and mark gives an operator its role.
func (s *spacer) keyword(i int, f *frame) bool {
	switch text := s.line[i].text; text {
	case "goto", "select", "chan":
		return false
	case "func":
		if i > 0 && s.line[i-1].role == elementType {
			return false // a literal of functions would look like a body
		}
		f.signature = begun
	case "if", "for", "switch", "else", "case", "default":
		if f.holds != code || f.one || len(s.frames) == 1 {
			return false
		}
		f.head = text
	case "type", "var", "const", "import", "package":
		if i > 0 && text == "type" {
			return s.line[i-1].text == "(" && s.line[i-1].role == joined // of a switch
		}
		if i > 0 || f.holds != code {
			return false
		}
		f.head = text
	}
	return true
}

// operand reports whether the token before i ends an operand or a type.
func (s *spacer) operand(i int) bool {
	if i == 0 {
		return false
	}
	switch p := s.line[i-1]; p.kind {
	case word, literal:
		return true
	case closing:
		return p.role != elementType
	}
	return false
}

func (s *spacer) mark(i int, f *frame) bool {
	t := &s.line[i]
	switch t.text {
	case ",":
		f.signature = none
		f.parts++
		return f.holds != fields && f.holds != methods && (i+1 == len(s.line) || s.line[i+1].kind != closing)
	case ";":
		f.signature = none
		f.parts++
		return i > 0 && s.line[i-1].kind != keyword && i+1 < len(s.line) && s.line[i+1].kind != closing && (f.one && f.parts < 5 || f.head == "if" || f.head == "for" || f.head == "switch")
	case "++", "--":
		t.role = tight
		return f.holds == code && s.operand(i) && !s.sums
	case ".":
		return s.operand(i) && s.line[i-1].kind != literal
	case "...":
		if i > 0 && s.line[i-1].kind == literal {
			return false
		}
		switch {
		case i+1 < len(s.line) && s.line[i+1].kind == closing || i+1 == len(s.line) || s.line[i+1].text == ",":
			t.role = tight
		case s.operand(i):
			t.role = apart
		}
		return true
	case ":":
		switch f.holds {
		case index:
			t.role = colon
			return true
		case elements:
			return s.operand(i) && (!f.line || s.key(i))
		}
		return (f.head == "case" || f.head == "default") && i+1 == len(s.line)
	case "!", "~":
		t.role = unary
		return i == 0 || s.line[i-1].role != unary
	case "&", "-", "+", "*":
		if !s.operand(i) || t.text == "*" && s.typePlace(i, f) {
			t.role = unary
			return i == 0 || s.line[i-1].role != unary && !s.indexed(i) && (precedence(s.line[i-1].text) < 4 || s.line[i-1].role != binary)
		}
	case "|":
		return false
	}
	t.role = binary
	s.sums = s.sums || precedence(t.text) >= 4
	return s.operand(i) && (precedence(t.text) == 0 || i+1 == len(s.line) || s.line[i+1].kind != keyword)
}

// key reports whether the tokens before i are a key that is looked at when its value is
// aligned: a name or a text.
func (s *spacer) key(i int) bool {
	if i == 1 && s.line[0].kind == literal {
		return s.line[0].text[0] != '`' && s.line[0].text[0] != '\''
	}
	for _, t := range s.line[:i] {
		if t.kind != word && t.text != "." {
			return false
		}
	}
	return true
}

// typePlace reports whether a star behind an operand makes a pointer type.
func (s *spacer) typePlace(i int, f *frame) bool {
	switch {
	case f.holds == parameters, f.holds == fields, f.signature == results:
		return true
	case f.head == "var" || f.head == "const" || f.head == "type" || f.holds == declarations:
		return !s.assigned(i)
	}
	return false
}
