package draft

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

func cut(text, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(text, prefix)
	return strings.TrimSpace(rest), ok
}

var oneWord = regexp.MustCompile(`^[\pL_$][\pL\pN_.$-]*(\(\))?$`)

// plainWord reports whether a text is one name.
func plainWord(text string) bool { return oneWord.MatchString(text) }

var lengthForm = regexp.MustCompile(`(?i)^([0-9]+(?:\.[0-9]+)?)\s*(ms|msecs?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)\.?$`)

// length reads a length of time as people write it: 5s, 10 min, 1.5 hours.
func length(text string) (time.Duration, bool) {
	m := lengthForm.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, false
	}
	unit := strings.ToLower(m[2])
	switch {
	case strings.HasPrefix(unit, "ms"), strings.HasPrefix(unit, "mil"):
		n /= 1000
	case unit[0] == 'm':
		n *= 60
	case unit[0] == 'h':
		n *= 3600
	case unit[0] == 'd':
		n *= 86400
	}
	return limited(n), true
}

var (
	labelForm = regexp.MustCompile(`^([^\[/]*)(?:\[([^\]]*)\])?\s*(?:/(.*))?$`)
	afterForm = regexp.MustCompile(`(?i)^(?:after|timeout|tm|wait)\b[\s:(]*([^)]*)\)?$`)
)

// label reads the label of an arrow: event [guard] / action.
func label(text string, m *move) {
	text = strings.TrimSpace(text)
	event, guard, act := text, "", ""
	if p := labelForm.FindStringSubmatch(text); p != nil {
		event, guard, act = strings.TrimSpace(p[1]), strings.TrimSpace(p[2]), strings.TrimSpace(p[3])
	}
	m.guard = guard
	if act != "" {
		m.actions = append(m.actions, splitActions(act, m.line)...)
	}
	m.event = event
	if p := afterForm.FindStringSubmatch(event); p != nil && m.when == onEvent {
		if d, ok := length(p[1]); ok {
			m.when, m.delay, m.said, m.event, m.enters = after, d, event, "", true
		}
	} else if d, ok := length(event); ok && m.when == onEvent {
		m.when, m.delay, m.said, m.event, m.enters = after, d, event, "", true
	}
}

// splitActions parts actions at commas and semicolons outside of brackets.
func splitActions(text string, line int) (list []action) {
	depth, start := 0, 0
	put := func(part string) {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, action{name: part, line: line})
		}
	}
	for i, r := range text {
		switch {
		case strings.ContainsRune("([{", r):
			depth++
		case strings.ContainsRune(")]}", r):
			depth--
		case (r == ',' || r == ';') && depth <= 0:
			put(text[start:i])
			start = i + 1
		}
	}
	put(text[start:])
	return list
}
