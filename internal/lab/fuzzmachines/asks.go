package fuzzmachines

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// ask is one effect of an operation or of a branch, before it is written.
type ask struct {
	body   string // without its braces
	atomic bool
}

// work draws an effect.
func (w *writer) work(name string) ask {
	key := ""
	if w.chance(2) { // of some fields, absent ones too
		names := []string{"id", "rev"}[:w.IntN(3)]
		for _, f := range some(w.machine, w.fields) {
			if f.kind != "json" {
				names = append(names, f.name)
			}
		}
		w.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		if len(names) > 0 {
			key = ", key: [" + strings.Join(names[:min(3, len(names))], ", ") + "]"
		}
	}
	a := ask{atomic: w.chance(2)}
	a.body = fmt.Sprintf("name: %s%s, atomic: %t", name, key, a.atomic)
	return a
}

// asked writes effects, and what follows a step or the delivery of one of them: nothing is asked
// for after a step that another one follows at once.
func asked(asks []ask, follows string) (keys []string) {
	var list []string
	for _, a := range asks {
		if follows != "" && !a.atomic {
			a.body += ", then: " + follows
			follows = ""
		}
		list = append(list, "{"+a.body+"}")
	}
	switch len(list) {
	case 0:
	case 1:
		keys = append(keys, "effect: "+list[0])
	default:
		keys = append(keys, "effect: ["+strings.Join(list, ", ")+"]")
	}
	if follows != "" {
		keys = append(keys, "then: "+follows)
	}
	return keys
}

// branchAsks draws what a branch asks for, and what follows it.
func (w *writer) branchAsks(word string, to *state) string {
	var asks []ask
	if w.chance(3) {
		asks = append(asks, w.work(w.name+"_"+word))
	}
	if len(asks) > 0 && w.chance(3) {
		asks = append(asks, w.work(w.name+"_also"))
	}
	follows := ""
	if w.chance(2) {
		follows = w.followed(to)
	}
	text := ""
	for _, key := range asked(asks, follows) {
		text += ", " + key
	}
	return text
}

// beside is a source that shifts no other draw: a machine is what it was without what is drawn
// from it, so that faults in it that were judged need no new judge.
func beside(text string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(text))
	return rand.New(rand.NewPCG(h.Sum64(), 0)) //nolint:gosec // the same in every run
}

// border draws effects of a state.
func (m *machine) border(s *state) {
	r := beside(m.text.String())
	for _, when := range []string{"enter", "exit"} {
		if r.IntN(7) > 0 || when == "exit" && s.terminal {
			continue
		}
		effect := func(name string) string {
			key := []string{"", ", key: id", ", key: [id, rev]"}[r.IntN(3)]
			return fmt.Sprintf("{name: %s%s, atomic: %t}", name, key, r.IntN(2) == 0)
		}
		text := effect("on_" + when + "_" + s.name)
		if r.IntN(3) == 0 {
			text = "[" + text + ", " + effect("also_"+when+"_"+s.name) + "]"
		}
		m.printf("    %s: %s\n", when, text)
	}
}
