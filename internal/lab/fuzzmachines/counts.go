package fuzzmachines

import (
	"fmt"
	"slices"
	"strings"
)

// counts draws which counters and sets the operation changes.
func (w *writer) counts() {
	if w.still {
		return
	}
	for _, c := range sortedKeys(w.counters) {
		switch {
		case w.creates || w.never[c]:
		case w.must[c] || w.chance(3):
			w.count(c)
			w.increments = append(w.increments, c)
		case w.chance(5):
			w.ask(fmt.Sprintf("%s >= %d", c, w.least(c)))
			w.decrements = append(w.decrements, w.lowered(w.counters, c))
		case !w.floor[c] && w.chance(4):
			w.resets = append(w.resets, w.lowered(w.counters, c))
		}
	}
	for _, s := range sortedKeys(w.sets) {
		switch {
		case w.never[s]:
		case !w.creates && w.chance(5):
			w.resets = append(w.resets, w.lowered(w.sets, s))
		case !w.creates && !w.silent && w.chance(4):
			w.removes = append(w.removes, w.lowered(w.sets, s)+": input")
			if w.chance(2) && w.by == "caller" {
				w.adds = append(w.adds, s+": actor")
			}
		case w.chance(2) && !w.silent:
			w.sets[s] = append(w.sets[s], w.name)
			if w.creates {
				w.set = append(w.set, s+": input")
			} else {
				w.adds = append(w.adds, s+": input")
			}
		}
	}
}

// count notes that the operation counts, and requires that there is room.
func (w *writer) count(counter string) {
	if !slices.Contains(w.counters[counter], w.name) {
		w.counters[counter] = append(w.counters[counter], w.name)
	}
	if guard, ok := w.capped[counter]; ok {
		w.require = append(w.require, guard)
	}
}

// lowered notes that the operation takes something from a counter or a set.
func (w *writer) lowered(of map[string][]string, name string) string {
	if !slices.Contains(of[name], w.name) {
		of[name] = append(of[name], w.name)
	}
	return name
}

// keepsCounted notes which counters are to stay counted, because states that the operation leads to say so.
func (w *writer) keepsCounted(states ...*state) {
	for _, s := range states {
		for c, counted := range s.counted {
			w.floor[c] = w.floor[c] || counted
		}
	}
}

// least is what a counter must be before one is taken off.
func (w *writer) least(c string) int {
	if w.floor[c] {
		return 2
	}
	return 1
}

// resetsOf draws what a branch of an operation resets: no counter that its target
// wants counted, and nothing that the operation changes itself.
func (w *writer) resetsOf(op *writer) (resets []string) {
	for _, c := range sortedKeys(w.counters) {
		if !w.floor[c] && w.chance(5) {
			resets = append(resets, w.lowered(w.counters, c))
			op.never[c] = true
		}
	}
	for _, s := range sortedKeys(w.sets) {
		if w.chance(5) {
			resets = append(resets, w.lowered(w.sets, s))
			op.never[s] = true
		}
	}
	return resets
}

// lowers writes what takes from counters and sets.
func (w *writer) lowers() {
	if len(w.removes) > 0 {
		w.line("remove: {%s}", strings.Join(w.removes, ", "))
	}
	if len(w.decrements) > 0 {
		w.line("decrement: [%s]", strings.Join(w.decrements, ", "))
	}
	if len(w.resets) > 0 {
		w.line("reset: [%s]", strings.Join(w.resets, ", "))
	}
}
