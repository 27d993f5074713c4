package fuzzmachines

import (
	"fmt"
	"regexp"
	"strings"
)

// delivered finds the effects that a step follows.
var delivered = regexp.MustCompile(`atomic: false, then: ([a-z_]+)\}`)

// givesUp lets some effects that a step follows give up: by a limit or by their handler, with
// the same step or with one that takes the error.
func (m *machine) givesUp(text string) string {
	told := map[string]bool{}
	var steps []string
	next := delivered.ReplaceAllStringFunc(text, func(found string) string {
		then := delivered.FindStringSubmatch(found)[1]
		r := beside(text + then)
		if told[then] || r.IntN(2) == 0 {
			return found
		}
		told[then] = true
		limit := []string{", attempts: 1", ", attempts: 2", ", attempts: 3", ""}[r.IntN(4)]
		failed := then
		from := regexp.MustCompile(`(?m)^  ` + then + `:\n(?:    .*\n)*?    from: ([a-z_]+)\n`).FindStringSubmatch(text)
		if from != nil && r.IntN(2) == 0 {
			failed = then + "_ended"
			steps = append(steps, fmt.Sprintf("  %s: {by: system, from: %s, to: same, input: {error: string}, set: {ended_why: input.error}}\n",
				failed, from[1]))
		}
		return strings.TrimSuffix(found, "}") + limit + ", failed: " + failed + "}"
	})
	if len(steps) > 0 {
		next = strings.Replace(next, "\nfields:\n", "\nfields:\n  ended_why: optional string\n", 1)
		next = strings.Replace(next, "\noperations:\n", "\noperations:\n"+strings.Join(steps, ""), 1)
	}
	return next
}
