package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// documents say figures of a run, in these sentences; a group is called as its figure. A
// blank is any space.
var documents = map[string][]string{
	"docs/evidence.md": {`(?P<met>\d+) of (?P<bars>\d+) bars are met`},
	"docs/faq.md":      {`Among (?P<many>[\d ]+) records it takes (?P<grown>\S+) times as long`},
	"SCALING.md": {
		`(?P<cost>\S+) µs with 64 callers in one process, (?P<cost4>\S+) µs with 16 in each of four, (?P<alone>\S+) µs`,
		`costs (?P<one_cost1>\S+) µs on one core and (?P<one_cost2>\S+) on two`,
		`four processes (?P<four_cost1>\S+) and (?P<four_cost2>\S+)\.`,
		`\| 1 \| (?P<one_rate1>[^|]+) \| (?P<four_rate1>[^|]+) \|`,
		`\| 2 \| (?P<one_rate2>[^|]+) \| (?P<four_rate2>[^|]+) \|`,
		`\| 16, model \| (?P<one_rate16>[^|]+) \| (?P<four_rate16>[^|]+) \|`,
		`\| 64, model \| (?P<one_rate64>[^|]+) \| (?P<four_rate64>[^|]+) \|`,
	},
}

// fill writes the figures of a run into the documents. What was not measured stays.
func fill(root string, figures map[string]string) error {
	for doc, sentences := range documents {
		path := filepath.Join(root, doc)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, s := range sentences {
			if text, err = filled(text, s, figures); err != nil {
				return fmt.Errorf("%s: %w", doc, err)
			}
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func filled(text []byte, sentence string, figures map[string]string) ([]byte, error) {
	re := regexp.MustCompile(strings.ReplaceAll(sentence, " ", `\s`))
	at := re.FindSubmatchIndex(text)
	if at == nil {
		return nil, fmt.Errorf("nothing is like %q", sentence)
	}
	for i := re.NumSubexp(); i > 0; i-- {
		if value, ok := figures[re.SubexpNames()[i]]; ok {
			text = append(append(append([]byte{}, text[:at[2*i]]...), value...), text[at[2*i+1]:]...)
		}
	}
	return text, nil
}
