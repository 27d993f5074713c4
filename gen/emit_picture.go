package gen

import (
	"bytes"
	"fmt"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/gen/chart/draw"
	"github.com/fsmgen/fsmgen/spec"
)

// A larger machine has no picture: nobody could read it, it would be some hundred kB of every
// program, and drawing it takes seconds.
const (
	pictureStates = 40
	pictureMoves  = 160
)

// pictured reports whether a machine has a picture.
func pictured(m *spec.Machine) bool {
	moves := 0
	for _, o := range m.Operations {
		moves += len(o.Moves())
	}
	return len(m.States) <= pictureStates && moves <= pictureMoves
}

// pictureFile returns the picture that the code embeds, marked as ours; nothing where there is none.
func pictureFile(m *spec.Machine, _ *names, _ Options) ([]byte, error) {
	if !pictured(m) {
		return nil, nil
	}
	head, rest, _ := bytes.Cut(draw.Live(chart.At(m, chart.Brief)), []byte("\n"))
	const about = "For pages with a style for it, such as the console. fsmgen diagram draws pictures for documents."
	return fmt.Appendf(nil, "%s\n<!-- %s -->\n<!-- %s -->\n%s", head, header, about, rest), nil
}

// picture adds the method that returns the picture.
func (s *store) picture(f *jen.File) {
	name := s.method("Picture")
	text, value := " returns the picture of the machine as an SVG, which package console shows: "+
		"it has no style of its own, and data attributes name what its boxes and lines are.", "pictureSVG"
	if !pictured(s.m) {
		text, value = " returns an empty text: the machine is too large for a picture that could be read.", `""`
	}
	f.Line()
	f.Add(doc(name + text)).
		Func().Params(raw("m *Machine")).Id(name).Params().String().Block(jen.Return(raw(value)))
}
