package fuzzmachines

import (
	"fmt"
	"math/rand/v2"
)

// spells: work that has a time of its own, which lapses after a length of the record, and waits
// longer after each failure. Its names are its own, and it draws from a source of its own.
func (m *machine) spells(r *rand.Rand) {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	m.extras = append(m.extras, "  spell: "+pick("{type: duration 1s..1h, default: 30s}", "{type: duration, default: 2s}", "optional duration 1ms..")+"\n",
		"  pause: "+pick("duration", "duration 100ms..2h")+"\n", "  began: optional time\n", "  resumes: optional time\n",
		"  spent: optional duration\n", "  failures: {type: counter, changed_by: [miss]}\n")
	m.initial = append(m.initial, "spell: input or "+map[bool]string{true: "absent", false: "default"}[m.extras[len(m.extras)-6][9] == 'o'], "pause: input")
	m.places = append(m.places, "  resting: {absent: [began]}\n", "  spelling: {present: [began]}\n")
	m.own = append(m.own,
		"  in_spell: {when: now < began + "+pick("spell", "pause", "5m", "spell + 1s")+", error: spell_over}\n",
		"  rested: {when: "+pick("now >= resumes", "resumes - now <= 1m", "{any: [resumes is absent, resumes <= now + 1s]}")+", error: not_rested}\n",
		"  clock_goes_on: {when: now >= began, error: clock_stood}\n",
		"  fits: {when: "+pick("input.grant <= pause + 5m", "input.grant - pause < 10m", "pause >= input.grant", "input.grant > 2s")+", error: too_long}\n")
	length := pick("pause", "backoff 1s to 1h by failures", "backoff 500ms to pause by failures", "pause + 1s", "1m")
	from := stateNames(append(m.open(len(m.states))[:1:1], &state{name: "resting"}))
	m.ops = append(m.ops,
		"  begin_spell: {from: "+from+", to: spelling, require: ["+pick("rested, fits", "fits", "fits, rested")+
			"], input: {grant: "+pick("duration 1s..1h", "duration")+"}, set: {began: now, resumes: now + "+pick("input.grant", "pause", "input.grant + 1s")+"}}\n",
		"  beat_spell: {from: spelling, to: same, require: [in_spell], set: {began: now}}\n",
		"  miss: {by: system, from: spelling, to: resting, increment: [failures], clear: [began], require: [clock_goes_on], "+
			"set: {spent: now - began, resumes: now + "+length+"}, trigger: [after began + "+pick("spell", "pause", "90s")+"]}\n",
		fmt.Sprintf("  wait_on: {from: resting, choose: [{when: resumes < now + %s, to: same, set: {resumes: now + %s}}, {to: same}]}\n",
			pick("pause", "5m"), pick("pause", "5m")))
}
