package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Where tells the lines of the specification that say something about an operation, these
// guards and these states, for a person who looks for what is wrong. It is empty where the
// specification does not lie beside the package.
func (m *Model) Where(o *Op, guards, states []string) string {
	if m.Spec == "" {
		return ""
	}
	if m.spec == nil {
		text, err := os.ReadFile(filepath.FromSlash(m.Spec))
		if err != nil {
			return ""
		}
		m.spec = strings.Split(string(text), "\n")
	}
	var list []string
	add := func(section, name string) {
		if n := lineOf(m.spec, section, name); n > 0 && name != "" {
			list = append(list, fmt.Sprintf("%s:%d (%s)", m.Spec, n, name))
		}
	}
	if o != nil {
		add("operations", o.Name)
	}
	for _, g := range guards {
		add("guards", g)
	}
	for _, s := range states {
		add("states", s)
	}
	if list == nil {
		return ""
	}
	return "\n\tsee:    " + strings.Join(list, ", ")
}

// lineOf returns the number of the line on which a section of a specification begins to
// speak of a name; 0 where it is not found. Of lines that have the name as a key it is the
// first that stands in no other one.
func lineOf(lines []string, section, name string) int {
	key := regexp.MustCompile(`(^|[\s{,])["']?` + regexp.QuoteMeta(name) + `["']?\s*:`)
	in, found, depth := false, 0, 0
	for i, line := range lines {
		rest := strings.TrimLeft(line, " ")
		if rest == "" || rest[0] == '#' {
			continue
		}
		indent := len(line) - len(rest)
		if indent == 0 && rest[0] != '}' {
			if in {
				break
			}
			in = strings.HasPrefix(rest, section+":")
		}
		if in && (found == 0 || indent < depth) && key.MatchString(line) {
			found, depth = i+1, indent
		}
	}
	return found
}
