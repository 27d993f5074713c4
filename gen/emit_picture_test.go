package gen

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

// circle is a machine of some states, each of which leads to some others.
func circle(t *testing.T, states, ways int) *spec.Machine {
	t.Helper()
	var b strings.Builder
	b.WriteString("fsm: 1\nmachine: ring\nentity: Ring\notherwise: reject\nstates:\n")
	for i := range states {
		fmt.Fprintf(&b, "  state_%d: {doc: The place number %d of a long way around}\n", i, i)
	}
	b.WriteString("operations:\n  make: {creates: state_0}\n")
	for i := range states {
		for j := range ways {
			fmt.Fprintf(&b, "  go_%d_%d: {from: state_%d, to: state_%d}\n", i, j, i, (i+j*j+1)%states)
		}
	}
	m, found := spec.Parse("ring.yaml", []byte(b.String()))
	if found.HasErrors() {
		t.Fatal(found)
	}
	return m
}

// filesOf are the files of a package by what stands behind the machine's name.
func filesOf(t *testing.T, m *spec.Machine, opt Options) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, f := range generate(t, m, opt) {
		files[strings.TrimPrefix(f.Name, m.Name)] = string(f.Data)
	}
	return files
}

// A machine that people can read has a picture, marked as ours and without a style of its own.
// A larger one says that it has none, so that growing breaks no program.
func TestPicture(t *testing.T) {
	t.Parallel()
	const method, embed = "func (m *Machine) Picture() string {\n\treturn %s\n}", "//go:embed ring.svg\nvar pictureSVG string\n"
	for _, c := range []struct {
		states, ways int
		want         bool
	}{{3, 1, true}, {pictureStates, 3, true}, {pictureStates + 1, 1, false}, {pictureStates, 4, false}} {
		files := filesOf(t, circle(t, c.states, c.ways), Options{})
		picture, value := files[".svg"], `""`
		if c.want {
			value = "pictureSVG"
		}
		embeds := strings.Contains(files["_store.go"], embed)
		if c.want != (picture != "") || c.want != embeds || !strings.Contains(files["_store.go"], fmt.Sprintf(method, value)) {
			t.Errorf("%d states with %d ways each: a picture of %d bytes, want one: %v", c.states, c.ways, len(picture), c.want)
		}
		if len(picture) > 200_000 {
			t.Errorf("%d states with %d ways each: a picture of %d bytes", c.states, c.ways, len(picture))
		}
		if c.want && (!strings.HasPrefix(picture, "<svg ") || !strings.HasSuffix(picture, "</svg>\n") || strings.Contains(picture, "<style") ||
			strings.Count(picture, `data-state="state_`) != c.states || bytes.Count([]byte(picture), []byte(header)) != 1) {
			t.Errorf("%d states: %.2000s", c.states, picture)
		}
	}
	if alone := filesOf(t, circle(t, 3, 1), Options{Layers: []spec.Layer{spec.LayerPure}}); alone[".svg"] != "" {
		t.Error("a package of the pure layer alone has a picture")
	}
}

// An operation that is called picture keeps its name.
func TestOperationPicture(t *testing.T) {
	t.Parallel()
	m, found := spec.Parse("door.yaml", []byte(`
fsm: 1
machine: door
entity: Door
otherwise: reject
states: {open: {}, locked: {terminal: true}}
operations:
  build: {creates: open}
  picture: {from: open, to: locked}
`))
	if found.HasErrors() {
		t.Fatal(found)
	}
	store := filesOf(t, m, Options{})["_store.go"]
	for _, want := range []string{"func (m *Machine) EnginePicture() string {", "func (m *Machine) Picture(ctx context.Context, "} {
		if !strings.Contains(store, want) {
			t.Errorf("there is no %q", want)
		}
	}
}
