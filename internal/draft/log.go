package draft

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/spec"
)

// What a log must show before something is guessed.
const (
	maxStates   = 300  // more words are no states
	rareOf      = 100  // a move is an oddity when one of so many that come to its state makes it
	leastOf     = 100  // and so many came
	leastDwells = 10   // a constant time is seen so often
	sampled     = 1000 // times that are kept for each move
	leastOwners = 20   // an owner is seen so often
)

// traffic is what is known of a log.
type traffic struct {
	words   []string // states, in the order of their appearance
	index   map[string]int
	records map[string]*life
	moves   map[edge]*flow
	starts  map[int]*flow
	entered []int64
	actors  map[string]int
	events  map[string]bool
	rows    int64
	first   time.Time
	last    time.Time
	seed    uint64

	gaps, back, atOnce, repeats, broken, badTimes some
}

// life is one record as the rows so far left it.
type life struct {
	state int
	actor int // who moved it there; 0 is nobody
	at    time.Time
}

// edge is a move between states, under the name of an event.
type edge struct {
	from, to int
	event    string
}

// flow counts one edge.
type flow struct {
	some
	dwells int64
	mine   int64 // by who moved the record to where it was
	others int64 // and by somebody else
	kept   []time.Duration
}

// readLog makes a tree of a log.
func readLog(in *bufio.Reader, format string, given map[string]string) (*tree, error) {
	from, err := openRows(in, format, given)
	if err != nil {
		return nil, err
	}
	t := &traffic{index: map[string]int{}, records: map[string]*life{}, moves: map[edge]*flow{}, starts: map[int]*flow{}, actors: map[string]int{}, events: map[string]bool{}}
	for {
		r, err := from.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = t.add(r)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(t.words) == 0 {
		return nil, fail(1, 0, "there is no row; expected rows of status changes below the header")
	}
	return t.tree(from), nil
}

func (t *traffic) state(word string, line int) (int, error) {
	i, ok := t.index[word]
	if !ok {
		if i = len(t.words); i == maxStates {
			return 0, fail(line, 0, "there are more than %d different statuses, the last one %q; is this the column of the status? --columns to=NAME says another", maxStates, word)
		}
		t.index[word] = i
		t.words = append(t.words, word)
		t.entered = append(t.entered, 0)
	}
	return i, nil
}

// add counts one row.
func (t *traffic) add(r row) error {
	t.rows++
	if r.lateWord != "" {
		if t.rows == 1 {
			return fail(r.line, 0, "%q is no time; expected one such as 2026-01-31T12:00:00Z, 2026-01-31 12:00:00 or a Unix time; --columns at=NAME says another column", r.lateWord)
		}
		t.badTimes.add(r.line)
	}
	if r.wrong != "" {
		t.broken.add(r.line)
		return nil
	}
	if t.seed = t.seed*6364136223846793005 + 1442695040888963407; r.timed {
		if t.first.IsZero() || r.at.Before(t.first) {
			t.first = r.at
		}
		if r.at.After(t.last) {
			t.last = r.at
		}
	}
	known := t.records[r.id]
	said := -1
	if r.from != "" {
		var err error
		if said, err = t.state(r.from, r.line); err != nil {
			return err
		}
	}
	to, err := t.state(r.to, r.line)
	if err != nil {
		return err
	}
	actor := 0
	if r.actor != "" {
		if actor = t.actors[r.actor]; actor == 0 {
			actor = len(t.actors) + 1
			t.actors[r.actor] = actor
		}
	}
	if r.event != "" {
		t.events[r.event] = true
	}
	if known == nil {
		known = &life{state: -1}
		t.records[r.id] = known
		if said < 0 {
			t.begins(to, r.line)
		} else { // the log begins in the middle of its life
			t.begins(said, r.line)
			known.state = said
			t.step(r, known, said, to, actor)
		}
	} else {
		from := known.state
		if r.timed && !known.at.IsZero() {
			switch {
			case r.at.Before(known.at):
				t.back.add(r.line)
			case r.at.Equal(known.at):
				t.atOnce.add(r.line)
			}
		}
		if said >= 0 && said != from || said < 0 && r.hasFrom {
			t.gaps.add(r.line)
			from, known.at, known.actor = said, time.Time{}, 0
			if said < 0 {
				t.begins(to, r.line)
			}
		}
		if from >= 0 {
			t.step(r, known, from, to, actor)
		}
	}
	t.entered[to]++
	known.state, known.actor, known.at = to, actor, r.at
	return nil
}

func (t *traffic) begins(state, line int) {
	f := t.starts[state]
	if f == nil {
		f = &flow{}
		t.starts[state] = f
	}
	f.add(line)
}

// step counts a move of a record.
func (t *traffic) step(r row, l *life, from, to, actor int) {
	if from == to {
		t.repeats.add(r.line)
	}
	e := edge{from, to, r.event}
	f := t.moves[e]
	if f == nil {
		f = &flow{}
		t.moves[e] = f
	}
	f.add(r.line)
	if !l.at.IsZero() && r.timed && !r.at.Before(l.at) {
		f.dwells++
		switch dwell := r.at.Sub(l.at); {
		case len(f.kept) < sampled:
			f.kept = append(f.kept, dwell)
		default: // each has the same chance to be kept
			if i := (t.seed >> 33) % uint64(f.dwells); i < sampled {
				f.kept[i] = dwell
			}
		}
	}
	if l.actor != 0 && actor != 0 && from != to {
		if l.actor == actor {
			f.mine++
		} else {
			f.others++
		}
	}
}

// constant returns the time after which a move always comes.
func (f *flow) constant() (time.Duration, bool) {
	if len(f.kept) < leastDwells {
		return 0, false
	}
	sorted := slices.Clone(f.kept)
	slices.Sort(sorted)
	middle := sorted[len(sorted)/2]
	near := 0
	for _, d := range sorted {
		if off := d - middle; off <= middle/50 && -off <= middle/50 {
			near++
		}
	}
	return rounded(middle), middle >= time.Second && near*10 >= len(sorted)*9
}

// rounded returns a length as people would have said it.
func rounded(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{24 * time.Hour, time.Hour, 15 * time.Minute, time.Minute, 5 * time.Second, time.Second} {
		if r := d.Round(unit); r > 0 && (d-r).Abs() <= r/50 {
			return r
		}
	}
	return d.Round(time.Millisecond)
}

// late returns the time within which 95 of 100 moves came.
func (f *flow) late() time.Duration {
	if len(f.kept) == 0 {
		return 0
	}
	sorted := slices.Clone(f.kept)
	slices.Sort(sorted)
	return sorted[len(sorted)*95/100]
}

func (t *traffic) rare(e edge) bool {
	var all int64
	for o, f := range t.moves {
		if o.from == e.from && o.to == e.to {
			all += f.count
		}
	}
	return t.entered[e.from] >= leastOf && all*rareOf < t.entered[e.from]
}

// tree makes states and moves of what was counted.
func (t *traffic) tree(of *rows) *tree {
	out := &tree{picked: true, root: &node{}, rows: t.rows}
	nodes := make([]*node, len(t.words))
	for i, word := range t.words {
		nodes[i] = out.root.add(&node{name: word, line: 0})
	}
	t.ends(nodes)
	edges := slices.SortedFunc(maps.Keys(t.moves), func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(t.moves[b].count, t.moves[a].count), cmp.Compare(a.to, b.to), cmp.Compare(a.event, b.event))
	})
	t.owners(nodes, edges)
	t.begun(out, nodes)
	for _, e := range edges {
		t.move(out, nodes, e, edges)
	}
	t.tell(out, of)
	return out
}

// ends finds the states that are left never, or almost never.
func (t *traffic) ends(nodes []*node) {
	var slow time.Duration
	left := make([]int64, len(nodes))
	for e, f := range t.moves {
		if e.from != e.to {
			left[e.from] += f.count
			slow = max(slow, f.late())
		}
	}
	here, old := make([]int64, len(nodes)), make([]int64, len(nodes))
	for _, l := range t.records {
		if here[l.state]++; !l.at.IsZero() && t.last.Sub(l.at) > slow {
			old[l.state]++
		}
	}
	for i, n := range nodes {
		n.remarks = append(n.remarks, fmt.Sprintf("%s times entered; %s of %s records are here at the end", number(t.entered[i]), number(here[i]), number(int64(len(t.records)))))
		seldom := left[i] > 0 && t.entered[i] >= leastOf && left[i]*rareOf < t.entered[i]
		switch {
		case left[i] == 0 && old[i] > 0:
			n.kind = final
			n.remarks = append(n.remarks, "guess: an end, since nothing leaves it, and records are here for longer than any other state takes")
		case left[i] == 0:
			n.kind, n.open = final, true
			n.remarks = append(n.remarks, "guess: an end, since nothing leaves it; yet the log is too short to be sure")
		case seldom:
			n.kind, n.open = final, true
			n.remarks = append(n.remarks, fmt.Sprintf("guess: an end, since only %s of %s leave it", number(left[i]), number(t.entered[i])))
		}
	}
}

// owners finds the states that only who entered them leaves.
func (t *traffic) owners(nodes []*node, edges []edge) {
	if len(t.actors) < 3 {
		return
	}
	for i, n := range nodes {
		var mine, all int64
		entered := false // by the system
		for _, e := range edges {
			f := t.moves[e]
			_, timed := f.constant()
			entered = entered || timed && e.to == i
			if e.from == i && e.to != i && !timed && !t.rare(e) {
				mine, all = mine+f.mine, all+f.mine+f.others
			}
		}
		if n.owned = !entered && mine >= leastOwners && mine*100 >= all*95; n.owned {
			n.remarks = append(n.remarks, fmt.Sprintf("guess: it has an owner, since who enters it leaves it: %s of %s", number(mine), number(all)))
		}
	}
}

// begun makes creations.
func (t *traffic) begun(out *tree, nodes []*node) {
	states := slices.SortedFunc(maps.Keys(t.starts), func(a, b int) int {
		return cmp.Or(cmp.Compare(t.starts[b].count, t.starts[a].count), cmp.Compare(a, b))
	})
	for i, s := range states {
		f := t.starts[s]
		m := &move{when: creates, target: nodes[s], line: f.lines[0],
			remarks: []string{fmt.Sprintf("begins as %s: %s of %s", t.words[s], number(f.count), number(int64(len(t.records))))}}
		if i > 0 {
			m.event, m.own = "create_"+t.words[s], true
		}
		if len(t.records) >= leastOf && f.count*rareOf < int64(len(t.records)) {
			m.by = "operator"
			m.remarks = append(m.remarks, "oddity: records seldom begin so; "+f.where())
			out.note(f.lines[0], Odd, "a record begins as %s: %s of %s", t.words[s], number(f.count), number(int64(len(t.records))))
		}
		out.root.moves = append(out.root.moves, m)
	}
}

// move makes a move of an edge.
func (t *traffic) move(out *tree, nodes []*node, e edge, all []edge) {
	f, n := t.moves[e], nodes[e.from]
	said := fmt.Sprintf("%s -> %s: %s of %s", t.words[e.from], t.words[e.to], number(f.count), number(t.rows))
	m := &move{when: onEvent, target: nodes[e.to], enters: true, line: f.lines[0]}
	length, timed := f.constant()
	switch {
	case t.rare(e):
		m.event, m.own, m.by = t.words[e.from]+"_to_"+t.words[e.to], true, "operator"
		said += "; an oddity, less than one in " + number(rareOf) + " that were there: " + f.where()
		out.note(f.lines[0], Odd, "%s -> %s: %s of %s that were there; kept as an operation of operators", t.words[e.from], t.words[e.to], number(f.count), number(t.entered[e.from]))
	case timed && e.from != e.to:
		span := spec.SpanText(length.Microseconds())
		m.when, m.delay, m.said = after, length, "guess: "+t.words[e.from]+" -> "+t.words[e.to]+" always comes after "+span
		said += ", always after " + span + ": a lease, or another deadline?"
	case len(t.events) > 1 && e.event != "":
		m.event = e.event
	default:
		m.event, m.own = "to_"+t.words[e.to], true
	}
	if m.when == onEvent && m.by == "" && n.owned {
		m.owner = true
		for _, o := range all { // what others do is another operation
			alike := o.to == e.to || m.event == o.event
			if alike && !nodes[o.from].owned && !t.rare(o) {
				m.event += "_by_owner"
				m.own = true
				break
			}
		}
	}
	m.remarks = []string{said}
	if len(n.moves) > 0 && n.moves[len(n.moves)-1].same(m) { // under another event, with the same outcome
		last := n.moves[len(n.moves)-1]
		last.remarks = append(last.remarks, m.remarks...)
		return
	}
	n.moves = append(n.moves, m)
}

func (m *move) same(o *move) bool {
	return m.when == o.when && m.event == o.event && m.own == o.own && m.target == o.target && m.said == o.said && m.by == o.by
}

// tell says what is odd about the log.
func (t *traffic) tell(out *tree, of *rows) {
	head := fmt.Sprintf("The log has %s rows of %s records", number(t.rows), number(int64(len(t.records))))
	if !t.first.IsZero() {
		head += fmt.Sprintf(", from %s to %s", t.first.Format(time.DateTime), t.last.Format(time.DateTime))
	}
	out.head = append(out.head, head+". `fsmgen replay --changes` tells how many of them a specification explains.")
	for _, o := range []struct {
		what string
		seen some
	}{
		{"rows whose old status is not the new one of the row before", t.gaps},
		{"rows that are earlier than the row before of the same record", t.back},
		{"rows at the same time as the row before of the same record", t.atOnce},
		{"rows that change nothing", t.repeats},
		{"rows without an id or a new status, which are not counted", t.broken},
		{"rows whose time cannot be read", t.badTimes},
	} {
		if o.seen.count > 0 {
			text := fmt.Sprintf("%s %s: %s", number(o.seen.count), o.what, o.seen.where())
			out.note(o.seen.lines[0], Odd, "%s", text)
			out.head = append(out.head, "oddity: "+text)
		}
	}
	if len(of.extra) > 0 {
		out.lost(1, "the columns %s: declare fields for what the machine keeps", strings.Join(of.extra, ", "))
	}
	if !of.timed {
		out.note(0, Guess, "no column has a time, so nothing is said about deadlines and ends")
	}
}
