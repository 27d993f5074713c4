package draft

import (
	"regexp"
	"strings"
)

// plantuml reads state diagrams of PlantUML.
type plantuml struct {
	*picture
	note   string // of what the open note speaks
	block  string // ends what is passed over
	quoted map[string]string
}

var (
	puArrow = regexp.MustCompile(`^("[^"]+"|\[\*\]|\[H\*?\]|[\pL_][\pL\pN_.]*(?:\[H\*?\])?)\s*` +
		`(x?(?:[-.=]+(?:\[[^\]]*\])?(?:up|down|left|right|u|d|l|r|le|ri|do)?(?:\[[^\]]*\])?[-.=]*)(?:>{1,2}o?|\|>))\s*` +
		`("[^"]+"|\[\*\]|\[H\*?\]|[\pL_][\pL\pN_.]*(?:\[H\*?\])?)\s*(?:<<[^>]*>>)?\s*(?:#[\w#;:.-]*)?\s*(?::(.*))?$`)
	puBack = regexp.MustCompile(`^(\S+)\s*<(?:[-.=]+(?:\[[^\]]*\])?(?:up|down|left|right|u|d|l|r)?[-.=]*)\s*(\S+)\s*(?::(.*))?$`)
	puLong = regexp.MustCompile(`^state\s+"([^"]*)"\s+as\s+([\pL_][\pL\pN_.]*)(.*)$`)
	puTurn = regexp.MustCompile(`^state\s+([\pL_][\pL\pN_.]*)\s+as\s+"([^"]*)"(.*)$`)
	puShow = regexp.MustCompile(`^state\s+(?:"([^"]*)"|([\pL_][\pL\pN_.]*))(.*)$`)
	puRest = regexp.MustCompile(`^\s*(?:<<\s*(\w+\*?)\s*>>)?\s*(?:#[^\s{:]*)?\s*(?:##\[[^\]]*\]\w*)?\s*(?::([^{]*))?(\{)?$`)
	puText = regexp.MustCompile(`^("[^"]+"|[\pL_][\pL\pN_.]*)\s*:(.*)$`)
	puNote = regexp.MustCompile(`(?i)^note\s+(?:(?:left|right|top|bottom)(?:\s+of\s+([^\s:#]+))?|on\s+link|"([^"]*)"(?:\s+as\s+\w+)?)?[^:]*(?::(.*))?$`)
	puSkip = regexp.MustCompile(`(?i)^(@|!|skinparam|hide|show|scale|left to right|top to bottom|title|header|footer|caption|legend|center|` +
		`right footer|left header|allow_mixing|set |mainframe|remove|sprite|url )`)
	puMany = regexp.MustCompile(`(?i)^(skinparam\b.*\{|<style>|legend\b|header$|footer$|title$|sprite\b.*\{)`)
)

func readPlantUML(src []byte) (*tree, error) {
	p := &plantuml{picture: newPicture(), quoted: map[string]string{}}
	text := string(src)
	first := 1
	started := !strings.Contains(text, "@startuml")
	comment := false
	for i, raw := range strings.Split(text, "\n") {
		line := strings.TrimSpace(raw)
		at := first + i
		switch {
		case comment || strings.HasPrefix(line, "/'"):
			comment = !strings.Contains(line, "'/")
		case !started:
			if rest, ok := strings.CutPrefix(line, "@startuml"); ok {
				started = true
				p.name = strings.Trim(strings.TrimSpace(rest), `"`)
			}
		case strings.HasPrefix(line, "@enduml"):
			started = false
		case line == "" || strings.HasPrefix(line, "'"):
		default:
			if err := p.line(line, at); err != nil {
				return nil, inLine(err, raw)
			}
		}
		if !started && p.seen > 0 {
			break
		}
	}
	if p.now.parent != nil {
		return nil, fail(p.now.line, 1, "the block of the state %s is not closed; expected }", p.now.name)
	}
	return p.finish(), nil
}

// blockEnd says what ends the lines that a keyword begins.
func blockEnd(line string) string {
	switch word := strings.ToLower(line); {
	case strings.HasSuffix(word, "{"):
		return "}"
	case strings.HasPrefix(word, "<style>"):
		return "</style>"
	default:
		key, _, _ := strings.Cut(word, " ")
		return "end" + key
	}
}

func (p *plantuml) line(line string, at int) error {
	p.seen++
	if p.block != "" {
		if strings.EqualFold(strings.ReplaceAll(line, " ", ""), p.block) {
			p.block = ""
		}
		return nil
	}
	if p.note != "" {
		if end := strings.ToLower(strings.ReplaceAll(line, " ", "")); end == "endnote" {
			p.note = ""
		} else {
			p.lost(at, "the note of %s: %s", p.note, plainText(line))
		}
		return nil
	}
	switch {
	case puMany.MatchString(line):
		p.block = blockEnd(line)
		return nil
	case puSkip.MatchString(line):
		if title, ok := cut(line, "title "); ok {
			p.doc = plainText(title)
		}
		return nil
	case strings.HasPrefix(strings.ToLower(line), "note"):
		return p.startNote(line, at)
	case line == "--" || line == "||":
		p.beside(at)
		return nil
	case line == "}":
		if !p.shut() {
			return fail(at, 1, "nothing is open; expected no } here")
		}
		return nil
	}
	if m := puArrow.FindStringSubmatch(line); m != nil {
		p.move(p.id(m[1], at), p.id(m[3], at), plainText(m[4]), at)
		return nil
	}
	if m := puBack.FindStringSubmatch(line); m != nil {
		p.move(p.id(m[2], at), p.id(m[1], at), plainText(m[3]), at)
		return nil
	}
	if ok, err := p.declare(line, at); ok || err != nil {
		return err
	}
	if m := puText.FindStringSubmatch(line); m != nil {
		p.says(p.state(p.id(m[1], at), at), plainText(m[2]), at)
		return nil
	}
	return fail(at, 1, "%q is not understood; expected a state, an arrow (A --> B : event), A : text, or a note", line)
}

func (p *plantuml) startNote(line string, at int) error {
	m := puNote.FindStringSubmatch(line)
	if m == nil {
		return fail(at, 1, "%q is not understood; expected note right of A : text", line)
	}
	of := m[1]
	if of == "" {
		of = "the picture"
	}
	switch {
	case m[3] != "":
		p.lost(at, "the note of %s: %s", of, plainText(m[3]))
	case m[2] != "":
		p.lost(at, "the note %s", plainText(m[2]))
	default:
		p.note = of
	}
	return nil
}

// id makes an id of a name in quotes, and a state of a history.
func (p *plantuml) id(text string, at int) string {
	text = strings.Trim(text, `"`)
	base, isHistory := strings.CutSuffix(strings.Replace(text, "[H*]", "[H]", 1), "[H]")
	if !isHistory {
		if named := p.quoted[text]; named != "" {
			return named
		}
		return text
	}
	within := p.now
	if base != "" {
		within = p.state(base, at)
	}
	id := within.name + "[H]"
	if p.ids[id] == nil {
		p.ids[id] = within.add(&node{name: id, line: at, kind: history})
	}
	return id
}

// declare reads `state X`, in one of its forms.
func (p *plantuml) declare(line string, at int) (bool, error) {
	var id, title, rest string
	if m := puLong.FindStringSubmatch(line); m != nil {
		title, id, rest = m[1], m[2], m[3]
	} else if m := puTurn.FindStringSubmatch(line); m != nil {
		id, title, rest = m[1], m[2], m[3]
	} else if m := puShow.FindStringSubmatch(line); m != nil {
		id, title, rest = m[1]+m[2], "", m[3]
	} else {
		return false, nil
	}
	r := puRest.FindStringSubmatch(rest)
	if r == nil {
		return true, fail(at, 1, "%q is not understood; expected state X, state \"name\" as X, or state X {", line)
	}
	n := p.state(id, at)
	if title != "" {
		p.titles[n] = plainText(title)
		p.quoted[title] = id
	}
	switch kind := strings.ToLower(r[1]); kind {
	case "choice", "fork", "join", "entrypoint", "exitpoint", "inputpin", "outputpin", "expansioninput", "expansionoutput":
		n.kind, n.doc = choice, kind
	case "end":
		n.kind = final
	case "start":
		p.lost(at, "the start %s: it is a state here", id)
	case "history", "history*":
		n.kind = history
	}
	p.says(n, plainText(r[2]), at)
	if r[3] != "" {
		p.open(id, at)
	}
	return true, nil
}
