package fuzzmachines

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/internal/prove"
	"github.com/fsmgen/fsmgen/spec"
)

// stepped adds, sometimes, rules over a step: of those that fit the fields, some that each
// operation keeps.
func (m *machine) stepped(text string) string {
	r := beside("steps" + text)
	const file, most = "random.yaml", 3
	parsed, _ := spec.Parse(file, []byte(text))
	if r.IntN(3) > 0 || parsed == nil {
		return text
	}
	var rules []string
	for _, f := range parsed.Fields {
		rules = append(rules, stepRules(f)...)
	}
	r.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
	with := text + "steps:\n"
	kept := 0
	for _, rule := range rules[:min(len(rules), 12)] {
		next := fmt.Sprintf("%s  - {when: %s, reason: %s}\n", with, rule, quoted(texts[r.IntN(len(texts))]))
		p, _ := spec.Parse(file, []byte(next))
		broken := func(f prove.Finding) bool { return f.Code == "FSM305" || f.Code == "FSM306" }
		if p == nil || slices.ContainsFunc(prove.Machine(p).Findings, broken) {
			continue
		}
		if with = next; kept == most-1 {
			return with
		}
		kept++
	}
	if kept == 0 {
		return text
	}
	return with
}

// stepRules are rules that an operation may keep of a field.
func stepRules(f *spec.Field) []string {
	n := f.Name
	once := fmt.Sprintf("{any: ['old.%s is absent', '%[1]s == old.%[1]s']}", n)
	switch f.Type.Kind {
	case spec.KindCounter:
		return []string{
			fmt.Sprintf("['%s >= old.%[1]s', '%[1]s <= old.%[1]s + 1']", n),
			fmt.Sprintf("{any: ['%s >= old.%[1]s', '%[1]s == 0']}", n),
		}
	case spec.KindSet:
		return []string{fmt.Sprintf("'%s covers old.%[1]s'", n), fmt.Sprintf("{any: ['old.%s is absent', '%[1]s is present']}", n)}
	}
	rules := []string{fmt.Sprintf("'%s == old.%[1]s'", n)}
	if f.Type.Optional {
		rules = []string{once, fmt.Sprintf("{any: ['old.%s is absent', '%[1]s is present']}", n)}
	}
	switch f.Type.Kind {
	case spec.KindInt, spec.KindTime:
		rules = append(rules, fmt.Sprintf("{any: ['old.%s is absent', '%[1]s is absent', '%[1]s >= old.%[1]s']}", n))
		if !f.Type.Optional {
			rules[len(rules)-1] = fmt.Sprintf("'%s >= old.%[1]s'", n)
		}
	}
	return rules
}
