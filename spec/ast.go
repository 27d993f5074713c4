package spec

import "time"

// The syntax tree is the file as it was written: every leaf is a word with its
// place, no name is bound, no default is filled in.

// word is a piece of text of the file. The zero word means that the text is
// not there.
type word struct {
	pos   Pos
	text  string
	size  int // characters to mark
	shift int // column offset of the text from pos; -1 when places inside of it are not known

	quoted bool   // a word of an enum in single quotes
	group  *Group // that put this state in the list
}

func (w word) given() bool { return !w.pos.IsZero() }

// part returns the n characters of w that start at character i.
func (w word) part(i, n int, text string) word {
	if w.shift < 0 {
		return word{pos: w.pos, text: text, size: w.size, shift: -1}
	}
	return word{pos: Pos{w.pos.Line, w.pos.Col + w.shift + i}, text: text, size: n}
}

// list is a list of words at a key.
type list struct {
	pos   Pos // of the key
	words []word
}

func (l list) given() bool { return !l.pos.IsZero() }

// section says of a group of declarations whether it could be read: names of a
// broken section are not looked up, since each would be a follow-up.
type section struct {
	broken bool
}

type astMachine struct {
	pos                    Pos // of the root
	machine, entity, doc   word
	version                int
	requestID, expectedRev word
	otherwise              word
	allow                  []*Allow
	layers                 list
	requestsAt             Pos // of the key `requests`

	fieldsAt, statesAt, guardsAt, uniqueAt, operationsAt, probesAt, usesAt section

	fields     []*astField
	states     []*astState
	groups     []*astGroup
	removed    []*astRemoved
	uses       []*astUse
	invariant  []*astFact
	guards     []*astGuard
	unique     []*astUnique
	lookups    []*astLookup
	operations []*astOperation
	forbidden  []*astForbidden
	steps      []*astStep
	projection *astProjection
	probes     []*astProbe
}

// astWas is a former name: a word, or `{operation: old, event: old}` for an
// operation and `{field: old, values: {new: old}}` for a field.
type astWas struct {
	name   word
	event  word
	values []astRename
}

type astRename struct{ name, was word }

// astType is a type as written; kind 0 means that it could not be read.
type astType struct {
	text     word
	kind     Kind
	optional bool
	min, max *int64
	words    []word
}

type astField struct {
	name      word
	typ       astType
	doc       word
	def       *node // `default`; nil without one
	was       astWas
	per       list
	changedBy list
}

type astPresence struct{ present, absent list }

type astState struct {
	name            word
	doc             word
	was             word
	presence        astPresence
	should          astPresence
	invariant       []*astFact
	terminal, final bool
	finalPos        Pos
	otherwise       word
	kind            word
	probes          list
	enter, exit     []*astEffect
}

type astRemoved struct{ name, to word }

type astGroup struct {
	name, doc      word
	states, except list
	enter, exit    []*astEffect
}

type astGuard struct {
	name, doc, err, message word
	when                    []*astFact
	peers                   *astPeers
}

type astPeers struct {
	pos   Pos
	none  bool
	some  bool
	than  int64
	limit *astFact // that the field or the input is 1 at least, in the place of than
	same  list
	of    []*astFact // of each word of same, which value is meant; nil: the record's own
	in    list
}

type astUnique struct {
	name, err, message word
	fields, in         list
}

type astLookup struct {
	name, doc         word
	fields, in, order list
}

type astOperation struct {
	name         word
	keys         map[string]Pos // every key that is there
	doc, by      word
	was          astWas
	creates      list
	from         list
	to           word
	choose       []*astBranch
	inputs       []*astInput
	inputsBroken bool // some inputs could not be read: an unknown input may be one of them
	require      list
	onRefusal    word
	recordOnlyIn list
	effects      astEffects
	event        word
	dedupeBy     list
	next         *astNext
	each         *astEach
	triggers     []*astTrigger
	asks         []*astEffect
	then         word
}

func (o *astOperation) has(key string) bool { return !o.keys[key].IsZero() }

type astInput struct {
	name, doc word
	typ       astType
}

type astEffects struct {
	set       []astAssign
	clear     list
	increment list
	add       []astAssign
	reset     list
	decrement list
	remove    []astAssign
}

type astAssign struct {
	field word
	value astValue
}

// astValue is the right side of an assignment; kind 0 with a name is a field or
// an enum word, kind 0 without one could not be read.
type astValue struct {
	text  word
	kind  ValueKind
	name  string // the input, the field or the word; of ValueText the text without its quotes
	plus  time.Duration
	int   int64 // of ValueSpan: microseconds
	bool  bool
	named bool      // `input.x`: the input has a name of its own
	parts []astPart // of ValueSum
}

type astFact struct {
	text        word
	op          FactOp
	left, right astTerm
	any         [][]*astFact
}

// astTerm is one side of a fact; kind 0 is a name: a field or an enum word.
type astTerm struct {
	text word
	kind TermKind
	name string // of TermText: the text without its quotes
	int  int64
	bool bool

	parts   []astPart // of TermSum
	backoff []astTerm // of TermBackoff: from, to and the counter
}

type astPart struct {
	minus bool
	term  astTerm
}

type astBranch struct {
	pos        Pos
	keys       map[string]Pos
	from       list
	when       []*astFact
	to         word
	recordOnly bool
	reject     word
	effects    astEffects
	asks       []*astEffect
	then       word
}

func (b *astBranch) has(key string) bool { return !b.keys[key].IsZero() }

type astNext struct {
	pos   Pos
	where []*astFact
	order list
}

type astEach struct {
	pos   Pos
	where []*astFact
	most  int64
}

type astTrigger struct {
	text    word
	startup bool
	after   word
	plus    time.Duration
	by      word // the field in the place of plus
}

// astUse is another machine that the file names.
type astUse struct{ name, file, pkg word }

// astOther is what an effect asks of a record of another machine.
type astOther struct {
	pos        Pos
	of, do, id word
	inputs     []astPass
}

// astPass is an input of another machine's operation and the field that it gets.
type astPass struct{ input, field word }

type astEffect struct {
	pos    Pos
	name   word
	other  *astOther // nil: the program performs the effect
	key    list
	atomic bool
	then   word
	thenAt Pos
	more   []EffectKey

	attempts   int // 0: no limit
	attemptsAt Pos
	failed     word
	failedAt   Pos
}

type astForbidden struct {
	pos              Pos
	from, to, reason word
	after            bool // from is the word of `after`
}

type astProbe struct{ name, doc, message word }

type astProjection struct {
	pos         Pos
	entity      word
	key         list
	fields      []astAggregate
	rules       []*astRule
	reserved    list
	transitions []*astForbidden
	broken      bool // some rules could not be read
}

type astAggregate struct{ name, agg, field word }

type astRule struct {
	pos            Pos
	state          word
	any, all, none list
	atLeast        int64
	atLeastPos     Pos
}
