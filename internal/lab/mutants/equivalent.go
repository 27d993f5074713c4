package mutants

import (
	"bufio"
	"fmt"
	"os"
	"path"
	"strings"
)

// Equivalent is a line of the list of mutants that change nothing a test could
// see, with the reason why.
type Equivalent struct {
	Line    int
	Where   string // the group, where * stands for any run of characters without a slash
	Pattern string // the name of the mutant, where * stands for any text
	Reason  string
	Used    bool
}

// ReadEquivalents reads the list. A line names a group and a mutant; the line
// below it, indented, gives the reason.
func ReadEquivalents(file string) ([]*Equivalent, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	var list []*Equivalent
	scan := bufio.NewScanner(f)
	for n := 1; scan.Scan(); n++ {
		line := scan.Text()
		switch {
		case strings.TrimSpace(line) == "", strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, " "), strings.HasPrefix(line, "\t"):
			if len(list) == 0 {
				return nil, fmt.Errorf("%s:%d: a reason without a mutant above it", file, n)
			}
			last := list[len(list)-1]
			last.Reason = strings.TrimSpace(last.Reason + " " + strings.TrimSpace(line))
		default:
			where, pattern, ok := strings.Cut(line, ": ")
			if !ok {
				return nil, fmt.Errorf("%s:%d: expected `group: name of the mutant`", file, n)
			}
			if _, err := path.Match(where, ""); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, n, err)
			}
			list = append(list, &Equivalent{Line: n, Where: where, Pattern: pattern})
		}
	}
	if err := scan.Err(); err != nil {
		return nil, err
	}
	for _, e := range list {
		if e.Reason == "" {
			return nil, fmt.Errorf("%s:%d: no reason below it", file, e.Line)
		}
	}
	return list, nil
}

// Matches reports whether the line is about the mutant.
func (e *Equivalent) Matches(group, name string) bool {
	ok, _ := path.Match(e.Where, group)
	return ok && wild(e.Pattern, name)
}

// wild matches a text with * for any run of characters.
func wild(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(text, p)
		if i < 0 {
			return false
		}
		text = text[i+len(p):]
	}
	return strings.HasSuffix(text, parts[len(parts)-1])
}
