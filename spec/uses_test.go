package spec_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

const loadFile = `fsm: 1
machine: load
entity: Load
otherwise: reject
fields: {boxes: {type: counter, changed_by: [box_added]}, note: optional string}
states: {open: {}, shut: {terminal: true}}
operations:
  begin: {creates: open}
  box_added:
    by: system
    from: open
    to: same
    input: {kilos: int 1..100, tag: optional string, late: optional bool}
    increment: [boxes]
  shut: {from: open, to: shut}
  next: {by: system, from: open, to: shut, next: {}}
  late: {by: system, from: open, to: shut, require: [one], on_refusal: record_only}
guards: {one: {when: boxes >= 1, error: no_box}}
`

// boxFile has a step of another machine in the place of EFFECT.
const boxFile = `fsm: 1
machine: box
entity: Box
otherwise: reject
uses:
  load: {file: ../load.yaml, package: example.com/load}
fields: {load_id: string, kilos: int 1..50, many: int 1.., tries: counter, size: small|large, tag: optional string, note: string}
states: {packed: {}, sent: {terminal: true}}
operations:
  pack: {creates: packed, set: {load_id: input, kilos: input, many: input, size: input, note: input, tag: input or absent}}
  send: {from: packed, to: sent, increment: [tries], effect: EFFECT}
`

// linked links a file of a small tree and returns what is found.
func linked(t *testing.T, files map[string]string, file string) (*spec.Machine, spec.Diagnostics) {
	t.Helper()
	m, found := spec.Parse(file, []byte(files[file]))
	if m == nil {
		t.Fatalf("%s: %v", file, found)
	}
	return m, spec.Link(m, func(name string) ([]byte, error) {
		if text, is := files[name]; is {
			return []byte(text), nil
		}
		return nil, fmt.Errorf("open %s: %w", name, os.ErrNotExist)
	})
}

func TestLink(t *testing.T) {
	t.Parallel()
	for effect, want := range map[string]string{
		"{of: load, do: box_added, id: load_id, input: {kilos: kilos}}":               "",
		"{of: load, do: box_added, id: load_id, input: {kilos: kilos, tag: tag}}":     "",
		"{of: load, do: box_added, id: id, input: {kilos: kilos, tag: note}}":         "",
		"{of: load, do: box_added, id: load_id}":                                      "FSM022 needs input kilos",
		"{of: load, do: box_added, id: load_id, input: {kilos: many}}":                "FSM015 field many is `int 1..`, and input kilos of box_added takes `int 1..100` only",
		"{of: load, do: box_added, id: load_id, input: {kilos: tries}}":               "FSM015 field tries is `counter`",
		"{of: load, do: box_added, id: load_id, input: {kilos: size}}":                "FSM015 field size is an enum, and input kilos of box_added is an int",
		"{of: load, do: box_added, id: load_id, input: {kilos: kilos, late: note}}":   "FSM015 field note is a string, and input late of box_added is a bool",
		"{of: load, do: box_added, id: load_id, input: {kilos: kilos, weight: note}}": "FSM010 box_added of machine load has no input \"weight\"",
		"{of: load, do: box_add, id: load_id, input: {kilos: kilos}}":                 "FSM010 machine load has no operation \"box_add\"",
		"{of: load, do: shut, id: load_id}":                                           "FSM021 shut of machine load is not the system's",
		"{of: load, do: late, id: load_id}":                                           "FSM021 late of machine load records a refusal",
		"{of: load, do: next, id: load_id}":                                           "FSM021 next of machine load picks its record itself",
	} {
		files := map[string]string{"load.yaml": loadFile, "shop/box.yaml": strings.Replace(boxFile, "EFFECT", effect, 1)}
		m, found := linked(t, files, "shop/box.yaml")
		text := ""
		for _, d := range found {
			text += d.Code + " " + d.Message + "\n"
			if d.File != "shop/box.yaml" || d.Pos.IsZero() || d.Hint == "" {
				t.Errorf("%s: a finding without a place or a hint: %+v", effect, d)
			}
		}
		code, says, _ := strings.Cut(want, " ")
		if want == "" && text != "" || !strings.Contains(text, code) || !strings.Contains(text, says) {
			t.Errorf("%s: got %q, want %q", effect, text, want)
		}
		if m.Uses[0].Machine == nil || m.Height() != 1 {
			t.Errorf("%s: the machine is not linked", effect)
		}
	}
}

// TestLinkFiles: what is wrong with the files themselves.
func TestLinkFiles(t *testing.T) {
	t.Parallel()
	pureLoad, _, _ := strings.Cut(loadFile, "  next:")
	good := strings.Replace(boxFile, "EFFECT", "{of: load, do: box_added, id: load_id, input: {kilos: kilos}}", 1)
	uses := func(name, file, do string) string {
		return fmt.Sprintf("fsm: 1\nmachine: %s\nentity: X\notherwise: reject\nuses: {%s: {file: %[2]s.yaml, package: example.com/%[2]s}}\n"+
			"states: {a: {}, z: {terminal: true}}\noperations:\n  make: {creates: a}\n  heard: {by: system, from: a, to: z, effect: {of: %[2]s, do: %[3]s, id: id}}\n",
			name, file, do)
	}
	for _, tt := range []struct {
		what, want string
		files      map[string]string
		first      string
	}{
		{"there is none", "FSM009 ../load.yaml cannot be read: open load.yaml: file does not exist", map[string]string{"shop/box.yaml": good}, "shop/box.yaml"},
		{"it is broken", "FSM009 ../load.yaml has errors; the first: ", map[string]string{"shop/box.yaml": good, "load.yaml": "fsm: 1\n"}, "shop/box.yaml"},
		{
			"it holds another", "FSM015 ../load.yaml holds machine van, not load",
			map[string]string{"shop/box.yaml": good, "load.yaml": strings.Replace(loadFile, "machine: load", "machine: van", 1)}, "shop/box.yaml",
		},
		{
			"it has no store", "FSM021 machine load has the pure layer alone",
			map[string]string{"shop/box.yaml": good, "load.yaml": "layers: [pure]\n" + pureLoad}, "shop/box.yaml",
		},
		{"a circle of two", "FSM026 b.yaml: a uses b uses a: they use each other in a circle", map[string]string{"a.yaml": uses("a", "b", "heard"), "b.yaml": uses("b", "a", "heard")}, "a.yaml"},
		{
			"a circle below", "FSM026 b.yaml: c.yaml: a uses b uses c uses b",
			map[string]string{"a.yaml": uses("a", "b", "heard"), "b.yaml": uses("b", "c", "heard"), "c.yaml": uses("c", "b", "heard")}, "a.yaml",
		},
		{
			"an error below", "FSM010 b.yaml: machine c has no operation \"hear\"",
			map[string]string{
				"a.yaml": uses("a", "b", "heard"), "b.yaml": uses("b", "c", "hear"),
				"c.yaml": strings.Replace(loadFile, "machine: load", "machine: c", 1),
			}, "a.yaml",
		},
	} {
		_, found := linked(t, tt.files, tt.first)
		text := ""
		for _, d := range found {
			text += d.Code + " " + d.Message + "\n"
		}
		if !strings.Contains(text, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.what, text, tt.want)
		}
	}
}
