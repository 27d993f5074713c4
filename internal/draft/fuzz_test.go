package draft

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// words are names that machines have, and names that make trouble.
var words = []string{"idle", "Busy", "inProgress", "Some State", "on", "off", "yes", "n", "event", "state", "Machine", "string", "error", "id", "rev",
	"type", "1st", "Öffnen", "x", "a_b", "aB", "a__b", "new", "ref", "equal", "can", "list", "open", "any", "same", "input", "HTTPError", "ns:x", "start",
	"created_at", "updated_at", "owner", "create", "outcome", "states", "ß", "日本", "with.dots", "do-it", "cart", "paid", "shipped"}

type randomState struct {
	name     string
	kids     []int
	final    bool
	parallel bool
	history  bool
	entry    []string
	exit     []string
	moves    []randomMove
}

type randomMove struct {
	event, guard, action string
	delay                int // 0: none, in ms
	to                   int // -1: it stays
	invoke               bool
}

// randomChart draws states; parents come before those within.
func randomChart(t *rapid.T) []randomState {
	n := rapid.IntRange(1, 9).Draw(t, "states")
	list := make([]randomState, n+1)
	word := func(label string) string { return rapid.SampledFrom(words).Draw(t, label) }
	for i := 1; i <= n; i++ {
		s := &list[i]
		s.name = fmt.Sprintf("%s%d", word("name"), i)
		if rapid.Bool().Draw(t, "short") {
			s.name = word("name")
		}
		parent := rapid.IntRange(0, i-1).Draw(t, "parent")
		if rapid.Bool().Draw(t, "flat") || list[parent].final || list[parent].history {
			parent = 0
		}
		list[parent].kids = append(list[parent].kids, i)
		s.final = rapid.IntRange(0, 4).Draw(t, "final") == 0
		s.history = !s.final && parent > 0 && rapid.IntRange(0, 6).Draw(t, "history") == 0
		s.parallel = rapid.IntRange(0, 5).Draw(t, "parallel") == 0
		for range rapid.IntRange(0, 2).Draw(t, "entries") {
			s.entry = append(s.entry, word("entry"))
		}
		for range rapid.IntRange(0, 1).Draw(t, "exits") {
			s.exit = append(s.exit, word("exit"))
		}
		for range rapid.IntRange(0, 4).Draw(t, "moves") {
			m := randomMove{to: rapid.IntRange(0, n).Draw(t, "to"), event: word("event")}
			if m.to == 0 {
				m.to = -1
			}
			if rapid.Bool().Draw(t, "guarded") {
				m.guard = rapid.SampledFrom([]string{"isValid", "!isValid", "n > 3", "not ready", "else", "a && b", "is_valid", "Valid"}).Draw(t, "guard")
			}
			if rapid.IntRange(0, 2).Draw(t, "acts") == 0 {
				m.action = word("action")
			}
			switch rapid.IntRange(0, 7).Draw(t, "kind") {
			case 0:
				m.event = ""
			case 1:
				m.delay = rapid.SampledFrom([]int{1, 500, 1000, 60000, 1 << 50}).Draw(t, "delay")
			case 2:
				m.invoke = true
			}
			s.moves = append(s.moves, m)
		}
	}
	return list
}

func asXState(list []randomState) []byte {
	var object func(i int) map[string]any
	object = func(i int) map[string]any {
		s := list[i]
		o := map[string]any{}
		if i > 0 {
			o["id"] = fmt.Sprint("s", i)
		}
		states := map[string]any{}
		for _, k := range s.kids {
			states[list[k].name] = object(k)
		}
		if len(states) > 0 {
			o["states"] = states
			o["initial"] = list[s.kids[0]].name
		}
		switch {
		case s.final:
			o["type"] = "final"
		case s.history:
			o["type"] = "history"
		case s.parallel && len(s.kids) > 0:
			o["type"] = "parallel"
		}
		o["entry"], o["exit"] = s.entry, s.exit
		on, after, always, invoke := map[string][]any{}, map[string][]any{}, []any{}, []any{}
		for _, m := range s.moves {
			v := map[string]any{}
			if m.to > 0 {
				v["target"] = fmt.Sprint("#s", m.to)
			}
			if m.guard != "" {
				v["guard"] = m.guard
			}
			if m.action != "" {
				v["actions"] = []any{map[string]any{"type": m.action}}
			}
			switch {
			case m.invoke:
				invoke = append(invoke, map[string]any{"src": m.event, "onDone": v, "onError": map[string]any{"target": fmt.Sprint("#s", m.to)}})
			case m.delay > 0:
				after[fmt.Sprint(m.delay)] = append(after[fmt.Sprint(m.delay)], v)
			case m.event == "":
				always = append(always, v)
			default:
				on[m.event] = append(on[m.event], v)
			}
		}
		o["on"], o["after"], o["always"], o["invoke"] = on, after, always, invoke
		return o
	}
	src, err := json.MarshalIndent(object(0), "", " ")
	if err != nil {
		panic(err)
	}
	return src
}

func asSCXML(list []randomState) []byte {
	var b bytes.Buffer
	b.WriteString(`<scxml xmlns="http://www.w3.org/2005/07/scxml" version="1.0">`)
	var write func(i int)
	write = func(i int) {
		s := list[i]
		tag := "state"
		switch {
		case s.final:
			tag = "final"
		case s.history:
			tag = "history"
		case s.parallel && len(s.kids) > 0:
			tag = "parallel"
		}
		fmt.Fprintf(&b, "<%s id=%q>\n", tag, fmt.Sprintf("%s.%d", html.EscapeString(s.name), i))
		for _, a := range s.entry {
			fmt.Fprintf(&b, "<onentry><send event=%q/><log expr='1'/></onentry>\n", html.EscapeString(a))
		}
		for _, a := range s.exit {
			fmt.Fprintf(&b, "<onexit><send event=%q/></onexit>\n", html.EscapeString(a))
		}
		for j, m := range s.moves {
			if m.delay > 0 {
				fmt.Fprintf(&b, "<onentry><send event='t%d' delay='%dms'/></onentry>", j, m.delay)
				m.event = fmt.Sprint("t", j)
			}
			b.WriteString("<transition")
			if m.to > 0 {
				fmt.Fprintf(&b, " target=%q", fmt.Sprintf("%s.%d", html.EscapeString(list[m.to].name), m.to))
			}
			if m.event != "" {
				fmt.Fprintf(&b, " event=%q", html.EscapeString(m.event))
			}
			if m.guard != "" {
				fmt.Fprintf(&b, " cond=%q", html.EscapeString(m.guard))
			}
			b.WriteString(">")
			if m.action != "" {
				fmt.Fprintf(&b, "<send event=%q/>", html.EscapeString(m.action))
			}
			b.WriteString("</transition>\n")
		}
		for _, k := range s.kids {
			write(k)
		}
		fmt.Fprintf(&b, "</%s>\n", tag)
	}
	for _, k := range list[0].kids {
		write(k)
	}
	b.WriteString("</scxml>")
	return b.Bytes()
}

// asPicture writes what Mermaid and PlantUML have in common.
func asPicture(list []randomState) string {
	var b strings.Builder
	var write func(i int)
	write = func(i int) {
		s := list[i]
		for n, k := range s.kids {
			if n == 0 {
				fmt.Fprintf(&b, "[*] --> q%d\n", k)
			}
			fmt.Fprintf(&b, "state \"%s\" as q%d\n", strings.ReplaceAll(list[k].name, `"`, ""), k)
			if len(list[k].kids) > 0 {
				fmt.Fprintf(&b, "state q%d {\n", k)
				write(k)
				b.WriteString("}\n")
			}
			for _, a := range list[k].entry {
				fmt.Fprintf(&b, "q%d : entry / %s\n", k, a)
			}
			if list[k].final {
				fmt.Fprintf(&b, "q%d --> [*]\n", k)
			}
			if s.parallel && n == 0 && len(s.kids) > 1 && i > 0 {
				b.WriteString("--\n")
			}
		}
	}
	write(0)
	for i, s := range list {
		for _, m := range s.moves {
			to := fmt.Sprint("q", m.to)
			if m.to < 0 {
				to = "[*]"
			}
			text := strings.ReplaceAll(m.event, ":", "")
			if m.delay > 0 {
				text = fmt.Sprintf("after %d ms", m.delay)
			}
			if m.guard != "" {
				text += " [" + m.guard + "]"
			}
			if m.action != "" {
				text += " / " + m.action
			}
			fmt.Fprintf(&b, "q%d --> %s : %s\n", i, to, text)
		}
	}
	return b.String()
}

// passes holds a draft to what From promises.
func passes(t interface{ Fatalf(string, ...any) }, src string, o Options) *Draft {
	d, err := From(strings.NewReader(src), o)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	if _, found := validate.Source("x.yaml", d.Text); found.HasErrors() {
		t.Fatalf("%v\n%s\n%s", found, d.Text, src)
	}
	if again, _ := spec.Format("x.yaml", d.Text); !bytes.Equal(again, d.Text) {
		t.Fatalf("fmt changes it:\n%s", d.Text)
	}
	return d
}

func TestRandomCharts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := randomChart(t)
		passes(t, string(asXState(list)), Options{File: "m.json"})
		passes(t, string(asSCXML(list)), Options{File: "m.scxml"})
		passes(t, "stateDiagram-v2\n"+asPicture(list), Options{File: "m.mmd"})
		passes(t, "@startuml\n"+asPicture(list)+"@enduml\n", Options{File: "m.puml"})
	})
}

func TestRandomLogs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString("id,at,from,to,actor,event\n")
		for range rapid.IntRange(1, 400).Draw(t, "rows") {
			fmt.Fprintf(&b, "%d,%d,%s,%s,%s,%s\n", rapid.IntRange(1, 30).Draw(t, "id"), 1700000000+rapid.IntRange(0, 900).Draw(t, "at"),
				rapid.SampledFrom(append([]string{""}, words[:6]...)).Draw(t, "from"), rapid.SampledFrom(words[:8]).Draw(t, "to"),
				rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "actor"), rapid.SampledFrom([]string{"", "go", "yes"}).Draw(t, "event"))
		}
		passes(t, b.String(), Options{File: "log.csv"})
	})
}

// Whatever is read, nothing panics, and what comes is a draft.
func FuzzFrom(f *testing.F) {
	for _, s := range []string{`{"states":{"a":{"on":{"x":"b"}},"b":{}}}`, `<scxml><state id="a"/></scxml>`, "stateDiagram\na --> b", "@startuml\na --> b\n@enduml", "id,to\n1,a\n"} {
		f.Add(s, uint8(0))
	}
	f.Fuzz(func(t *testing.T, src string, format uint8) {

		o := Options{File: "m", Format: Formats[int(format)%len(Formats)]}
		if d, err := From(strings.NewReader(src), o); err == nil {
			if _, found := validate.Source("x.yaml", d.Text); found.HasErrors() {
				t.Fatalf("%v\n%s", found, d.Text)
			}
		}
	})
}
