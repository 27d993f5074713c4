package spec_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/spec"
)

const small = `fsm: 1
machine: parcel
entity: Parcel
otherwise: reject
states:
  waiting: {}
  done: {terminal: true}
operations:
  make:
    creates: waiting
  finish:
    from: waiting
    to: done
`

// TestBytes covers what an editor or a tool does to a file beneath the text:
// each is read, or reported once at its place.
func TestBytes(t *testing.T) {
	t.Parallel()
	crlf := strings.ReplaceAll(small, "\n", "\r\n")
	tests := []struct {
		name string
		src  string
		want string // the findings; "" when the file works
	}{
		{"plain", small, ""},
		{"byte order mark", "\xef\xbb\xbf" + small, ""},
		{"byte order mark and mistake", "\xef\xbb\xbf" + strings.Replace(small, "fsm:", "fms:", 1), "FSM001 1:1"},
		{"crlf", crlf, ""},
		{"crlf and mistake", strings.Replace(crlf, "to: done", "to: gone", 1), "FSM010 13:9"},
		{"no line feed at the end", strings.TrimSuffix(small, "\n"), ""},
		{"blank lines at the end", small + "\n\n  \n", ""},
		{"document start", "---\n" + small, ""},
		{"document end", small + "...\n", ""},
		{"comment behind the end", small + "...\n# end\n", ""},
		{"tab before a comment", strings.Replace(small, "fsm: 1", "fsm: 1\t# one", 1), ""},
		{"tab behind a value", strings.Replace(small, "reject", "reject\t", 1), ""},
		{"tab in a text", strings.Replace(small, "Parcel", "Parcel\ndoc: 'a\tb'", 1), ""},
		{"tab as indentation", strings.ReplaceAll(small, "  waiting", "\twaiting"), "FSM007 6:1"},
		{"tab deeper", strings.ReplaceAll(small, "    to:", "  \tto:"), "FSM007 13:3"},
		{"wide characters", strings.Replace(small, "entity: Parcel", "doc: '小包' # 小包\nentity: 小包", 1), "FSM015 4:9"},
		{"combining characters", strings.Replace(small, "to: done", "{e\u0301: 1, to: gone}", 1), "FSM007 13:5"},
		{"empty", "", "FSM022 1:1"},
		{"only a comment", "# nothing\n", "FSM022 1:1"},
		{"only blank lines", "\n\n\n", "FSM022 1:1"},
		{"only a document start", "---\n", "FSM022 1:1"},
		{"only a byte order mark", "\xef\xbb\xbf", "FSM022 1:1"},
		{"null", "~\n", "FSM002 1:1"},
		{"three documents", small + "---\n" + small + "---\n", "FSM008 14:1"},
		{"empty second document", small + "---\n", "FSM008 14:1"},
		{"utf-16", "\xff\xfef\x00s\x00m\x00", "FSM009 1:1"},
		{"latin-1", strings.Replace(small, "Parcel", "Parcel # gr\xfcn", 1), "FSM009 3:20"},
		{"cut character", small + "# \xe2\x82", "FSM009 14:3"},
		{"surrogate", small + "# \xed\xa0\x80\n", "FSM009 14:3"},
		{"nul", strings.Replace(small, "Parcel", "Par\x00cel", 1), "FSM009 3:12"},
		{"escape character", strings.Replace(small, "Parcel", "Parcel # \x1b[31m", 1), "FSM009 3:18"},
		{"next line", strings.Replace(small, "Parcel", "Parcel # \u0085", 1), "FSM009 3:18"},
		{"line separator", strings.Replace(small, "Parcel", "Parcel # \u2028", 1), "FSM009 3:18"},
		{"carriage return alone", strings.Replace(small, "Parcel\n", "Parcel\r", 1), "FSM009 3:15"},
		{"mark in the middle", strings.Replace(small, "Parcel", "\ufeffParcel", 1), "FSM009 3:9"},
		{"largest size", small + "#" + strings.Repeat("x", 1<<20-len(small)-2) + "\n", ""},
		{"too large", small + "#" + strings.Repeat("x", 1<<20-len(small)) + "\n", "FSM009 1:1"},
		{"deep flow lists", "states: " + strings.Repeat("[", 10_000), "FSM009 1:520"},
		{"deep flow mappings", "states: " + strings.Repeat("{a: ", 10_000), "FSM009 1:2053"},
		{"deep and closed", "states: " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "\n", "FSM009 1:520"},
		{"deep lists on a line", "states: \n" + strings.Repeat("- ", 10_000) + "a\n", "FSM009 2:1025"},
		{"deep block", staircase(1_400), "FSM009 513:513"},
		{"deep, but not for the estimate", "states: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n", "FSM009 1:73"},
		{"deep behind quotes", "a: " + strings.Repeat(`["]", `, 5_000) + strings.Repeat("]", 5_000) + "\n", "FSM009 1:383"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, ds := parseTimed(t, "a.yaml", []byte(tt.src))
			var got []string
			for _, d := range ds {
				got = append(got, d.Code+" "+d.Pos.String())
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "; ")); diff != "" {
				t.Errorf("findings (-want +got):\n%s\n%.2000v", diff, ds)
			}
		})
	}
}

// staircase nests n block mappings.
func staircase(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// TestLargeFilesAreFast feeds files near the limit that are made to be slow.
// What they report does not matter here; parseTimed watches the clock.
func TestLargeFilesAreFast(t *testing.T) {
	size := 1 << 17
	if campaign.On() {
		size = 1 << 20
	}
	fill := func(head string, line func(i int) string) string {
		var b strings.Builder
		b.WriteString(head)
		for i := 0; b.Len() < size-200; i++ {
			b.WriteString(line(i))
		}
		return b.String()
	}
	same := func(s string) func(int) string { return func(int) string { return s } }
	files := map[string]string{
		"comments":          fill(small, same("# x\n")),
		"indented comments": fill(small, same("      # x\n")),
		"blank lines":       fill(small, same("\n")),
		"brackets":          fill("a: [", same("[],")),
		"colons":            fill("a: ", same(":")),
		"colon words":       fill("a", same(": a")),
		"quotes":            fill("a: ", same("'")),
		"open quote":        fill("a: \"", same("x ")),
		"dashes":            fill("", same("-\n")),
		"keys in flow":      fill("{", func(i int) string { return fmt.Sprintf("k%d: 1, ", i) }),
		"unknown keys":      fill(small, func(i int) string { return fmt.Sprintf("operation%d: 1\n", i) }),
		"duplicate keys":    fill(small, same("states: 1\n")),
		"states":            fill("fsm: 1\nmachine: m\nentity: M\noperations: {make: {creates: s1}}\nstates:\n", func(i int) string { return fmt.Sprintf("  s%d: {}\n", i) }),
		"operations": fill(small, func(i int) string {
			return fmt.Sprintf("  o%d: {from: waiting, to: dome, require: [g%d], clear: [x%d]}\n", i, i, i)
		}),
		"good operations":      fill(small, func(i int) string { return fmt.Sprintf("  o%d: {from: waiting, to: same}\n", i) }),
		"enum and facts":       fill(fill(small+"fields:\n  f: a", func(i int) string { return fmt.Sprintf("|w%d", i) })[:size/2]+"\ninvariant:\n", func(i int) string { return fmt.Sprintf("  - f == w%d\n", i) }),
		"enum and wrong facts": fill(fill(small+"fields:\n  f: a", func(i int) string { return fmt.Sprintf("|w%d", i) })[:size/2]+"\ninvariant:\n", func(i int) string { return fmt.Sprintf("  - f == v%d\n", i) }),
		"enum and fields":      fill(fill(small+"fields:\n  f: a", func(i int) string { return fmt.Sprintf("|w%d", i) })[:size/2]+"\n", func(i int) string { return fmt.Sprintf("  f%d: string\n", i) }),
		"two enums":            fill(fill(small+"invariant: [f == g]\nfields:\n  f: a", func(i int) string { return fmt.Sprintf("|v%d", i) })[:size/2]+"\n  g: b", func(i int) string { return fmt.Sprintf("|w%d", i) }) + "\n",
		"many inputs":          fill(fill(small+"  odd:\n    from: waiting\n    to: same\n    set: {", func(i int) string { return fmt.Sprintf("f%d: input, ", i) })[:size*2/5]+"g: now}\nfields:\n", func(i int) string { return fmt.Sprintf("  f%d: string\n", i) }),
		"wide operation":       fill(fill(small+"  odd:\n    to: same\n    from: [", func(i int) string { return fmt.Sprintf("s%d, ", i) })[:size/2]+"s]\n    record_only_in: [", func(i int) string { return fmt.Sprintf("s%d, ", i) }) + "]\n",
		"many branches":        fill(small+"  odd:\n    from: waiting\n    choose:\n", same("    - {from: waiting, to: same}\n")),
		"one long list":        fill(small+"  odd: {to: done, from: [", same("waiting, ")),
		"one long fact":        fill(small+"guards: {g: {error: e, when: a ", same("b ")) + "}}\n",
		"one long enum":        fill(small+"fields:\n  f: a", func(i int) string { return fmt.Sprintf("|w%d", i) }) + "\n",
		"one long word":        fill(small+"fields:\n  f: ", same("x")) + "\n",
		"tags":                 fill("a: ", same("! ")),
		"anchors":              fill("a:\n", func(i int) string { return fmt.Sprintf("- &a%d x\n", i) }),
		"aliases":              fill("a:\n- &a x\n", same("- *a\n")),
		"merge keys":           fill("a: &a {}\n", same("<<: *a\n")),
		"documents":            fill(small, same("---\n")),
		"late bracket":         fill("a: [\n", same("b,\n")) + ": :\n",
		"directives":           fill("", same("%YAML 1.1\n")),
		"folded text":          fill("doc: >\n", same("  x\n")),
		"question marks":       fill("", same("? a\n")),
	}
	for name, src := range files {
		t.Run(name, func(t *testing.T) { parseTimed(t, "a.yaml", []byte(src)) })
	}
}

// FuzzParse holds Parse to its contract on any text, and the printer to its
// own on every text that is a specification.
func FuzzParse(f *testing.F) {
	for _, file := range specFiles(f) {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	for _, text := range archiveTexts(f) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		m, _ := parseTimed(t, "a.yaml", src)
		if m != nil {
			checkFormat(t, src)
		}
	})
}

// checkFormat checks that the printed form means the same and does not change
// when it is printed again.
func checkFormat(t testing.TB, src []byte) []byte {
	t.Helper()
	m, _ := spec.Parse("a.yaml", src)
	out, ds := spec.Format("a.yaml", src)
	if len(ds) > 0 {
		t.Fatalf("format: %v", ds)
	}
	if !spec.PrintsExactly(src) {
		t.Errorf("the file is left as it is:\n%s", src)
	}
	again, ds := spec.Parse("a.yaml", out)
	if again == nil {
		t.Fatalf("the printed form is no specification:\n%v\n%s", ds, out)
	}
	if m.Hash != again.Hash {
		t.Fatalf("the printed form means something else (-source +printed):\n%s\n%s", cmp.Diff(spec.Meaning(m), spec.Meaning(again)), out)
	}
	twice, _ := spec.Format("a.yaml", out)
	if diff := cmp.Diff(string(out), string(twice)); diff != "" {
		t.Fatalf("printed again it changes (-first +second):\n%s", diff)
	}
	return out
}
