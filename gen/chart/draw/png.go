//go:build !js

package draw

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"math"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/gen/chart/layout"
)

// Scale is how many pixels of a PNG a unit of the picture has.
const Scale = 2

// most is the number of pixels above which a picture is painted at a smaller
// scale, so that a large machine does not take gigabytes.
const most = 60_000_000

// PNG returns the picture of c as a PNG, on a page of its own colour.
func PNG(c *chart.Chart, t Theme) ([]byte, error) {
	s := compose(c)
	scale := math.Min(Scale, math.Sqrt(most/(s.w*s.h)))
	p := &painter{
		scale: scale, paints: paints(t), faces: make(map[kind]font.Face),
		img: image.NewRGBA(image.Rect(0, 0, int(math.Ceil(s.w*scale)), int(math.Ceil(s.h*scale)))),
	}
	for _, sh := range s.shapes {
		if err := p.shape(sh); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, p.img); err != nil {
		return nil, err
	}
	return marked(b.Bytes()), nil
}

// marked puts the header that marks files as ours into a comment of the PNG.
func marked(data []byte) []byte {
	const signature, header = 8, 25 // the header is a chunk of 13 bytes
	body := append([]byte("tEXtComment\x00\n"), chart.Header...)
	body = append(body, '\n')
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(body)-4))
	chunk = append(chunk, body...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(body))
	out := append([]byte(nil), data[:signature+header]...)
	return append(append(out, chunk...), data[signature+header:]...)
}

// painter paints shapes.
type painter struct {
	img    *image.RGBA
	scale  float64
	paints map[string]paint
	faces  map[kind]font.Face
}

func (p *painter) shape(s shape) error {
	look, ok := p.paints[s.class]
	if !ok {
		return fmt.Errorf("no colours for the class %q", s.class)
	}
	if s.form == formText {
		return p.text(s, look)
	}
	line, closed := outline(s)
	if look.fill != "" && closed {
		p.fill([][]layout.Point{line}, look.fill)
	}
	if look.stroke != "" {
		width := look.width
		if s.width > 0 {
			width = s.width
		}
		p.fill(stroke(line, closed, width, look.dash), look.stroke)
	}
	return nil
}

// fill fills polygons that turn the same way.
func (p *painter) fill(polygons [][]layout.Point, colour string) {
	if len(polygons) == 0 {
		return
	}
	b := bounds(polygons, p.scale).Intersect(p.img.Bounds())
	if b.Empty() {
		return
	}
	r := vector.NewRasterizer(b.Dx(), b.Dy())
	at := func(q layout.Point) (float32, float32) {
		return float32(q.X*p.scale - float64(b.Min.X)), float32(q.Y*p.scale - float64(b.Min.Y))
	}
	for _, polygon := range polygons {
		r.MoveTo(at(polygon[0]))
		for _, q := range polygon[1:] {
			r.LineTo(at(q))
		}
		r.ClosePath()
	}
	r.Draw(p.img, b, image.NewUniform(parse(colour)), image.Point{})
}

func bounds(polygons [][]layout.Point, scale float64) image.Rectangle {
	left, top, right, bottom := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, polygon := range polygons {
		for _, q := range polygon {
			left, right = min(left, q.X), max(right, q.X)
			top, bottom = min(top, q.Y), max(bottom, q.Y)
		}
	}
	return image.Rect(int(left*scale)-1, int(top*scale)-1, int(right*scale)+2, int(bottom*scale)+2)
}

// parse reads a colour as #rrggbb; all of them are in this program.
func parse(s string) color.RGBA {
	var r, g, b uint8
	if _, err := fmt.Sscanf(s, "#%02x%02x%02x", &r, &g, &b); err != nil {
		panic(fmt.Sprintf("%q is no colour", s))
	}
	return color.RGBA{r, g, b, 0xff}
}

func (p *painter) text(s shape, look paint) error {
	face := p.faces[s.kind]
	if face == nil {
		var err error
		face, err = opentype.NewFace(s.kind.font(), &opentype.FaceOptions{Size: s.kind.size * p.scale, DPI: 72, Hinting: font.HintingNone})
		if err != nil {
			return err
		}
		p.faces[s.kind] = face
	}
	x := s.at.X
	if !s.left {
		x -= s.kind.width(s.text) / 2
	}
	d := font.Drawer{
		Dst: p.img, Src: image.NewUniform(parse(look.fill)), Face: face,
		Dot: fixed.Point26_6{X: fixed.Int26_6(x * p.scale * 64), Y: fixed.Int26_6(s.at.Y * p.scale * 64)},
	}
	d.DrawString(s.text)
	return nil
}

// fonts are the fonts that texts are painted with; their widths are in advances.txt.
var fonts = sync.OnceValue(func() [2]*sfnt.Font {
	var fs [2]*sfnt.Font
	for i, ttf := range [][]byte{goregular.TTF, gobold.TTF} {
		f, err := sfnt.Parse(ttf)
		if err != nil {
			panic(err) // the fonts are a part of the program
		}
		fs[i] = f
	}
	return fs
})

func (k kind) font() *sfnt.Font {
	if k.bold {
		return fonts()[1]
	}
	return fonts()[0]
}
