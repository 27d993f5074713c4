package validate

import "strings"

// enumerate joins names as a sentence does: "a", "a and b", "a, b and c".
func enumerate(names []string, last string) string {
	n := len(names)
	if n < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:n-1], ", ") + " " + last + " " + names[n-1]
}

// plural puts a noun before names: "state a", "states a and b".
func plural(noun string, names []string) string {
	if len(names) > 1 {
		noun += "s"
	}
	return noun + " " + enumerate(names, "and")
}

// commas joins names as a list of the language does: "a, b, c".
func commas(names []string) string { return strings.Join(names, ", ") }
