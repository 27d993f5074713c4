package draw

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/gen/chart/layout"
)

// SVG returns the picture of c as an SVG document that needs nothing else.
func SVG(c *chart.Chart, t Theme) []byte {
	s := compose(c)
	var b bytes.Buffer
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"fsmgen\" width=%q height=%q viewBox=\"0 0 %s %s\" role=\"img\">\n",
		num(s.w), num(s.h), num(s.w), num(s.h))
	fmt.Fprintf(&b, "<!-- %s -->\n", chart.Header)
	fmt.Fprintf(&b, "<title>%s</title>\n<desc>%s</desc>\n", escape(s.title), escape(s.desc))
	used := make(map[string]bool)
	for _, sh := range s.shapes {
		used[sh.class] = true
	}
	b.WriteString("<style>\n")
	rules(&b, t, func(class string) bool { return used[class] })
	b.WriteString("</style>\n")
	for _, sh := range s.shapes {
		writeShape(&b, sh)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// fontStack begins with what texts are measured with. Every text says how wide
// it is, so that with another font the letters and not the places change.
const fontStack = `Go, "Helvetica Neue", Helvetica, Arial, "Liberation Sans", "DejaVu Sans", sans-serif`

// rules writes a style sheet for the classes that used holds of.
func rules(b *bytes.Buffer, t Theme, used func(class string) bool) {
	first := Light
	if t == Dark {
		first = Dark
	}
	fmt.Fprintf(b, ".fsmgen text { font-family: %s; text-anchor: middle; white-space: pre }\n.fsmgen .left { text-anchor: start }\n.fsmgen .b { font-weight: bold }\n", fontStack)
	css(b, paints(first), "", used)
	if t == Auto {
		b.WriteString("@media (prefers-color-scheme: dark) {\n")
		css(b, paints(Dark), "  ", used)
		b.WriteString("}\n")
	}
}

func css(b *bytes.Buffer, all map[string]paint, indent string, used func(class string) bool) {
	for _, class := range classes(all) {
		if !used(class) {
			continue
		}
		p := all[class]
		fill := p.fill
		if fill == "" {
			fill = "none"
		}
		fmt.Fprintf(b, "%s.fsmgen .%s { fill: %s", indent, class, fill)
		if p.stroke != "" {
			fmt.Fprintf(b, "; stroke: %s; stroke-width: %s", p.stroke, num(p.width))
		}
		if p.dash > 0 {
			fmt.Fprintf(b, "; stroke-dasharray: %s", num(p.dash))
		}
		b.WriteString(" }\n")
	}
}

func writeShape(b *bytes.Buffer, s shape) {
	body, tag := "", ""
	switch s.form {
	case formRect:
		tag = "rect"
		body = fmt.Sprintf("x=%q y=%q width=%q height=%q", num(s.rect.X), num(s.rect.Y), num(s.rect.W), num(s.rect.H))
		if s.round > 0 {
			body += fmt.Sprintf(" rx=%q", num(s.round))
		}
	case formCircle:
		tag = "circle"
		body = fmt.Sprintf("cx=%q cy=%q r=%q", num(s.rect.X+s.rect.W/2), num(s.rect.Y+s.rect.H/2), num(s.rect.W/2))
	case formCurve, formLines:
		tag = "path"
		body = fmt.Sprintf("d=%q", pathData(s))
		if s.width > 0 {
			body += fmt.Sprintf(" style=\"stroke-width: %s\"", num(s.width))
		}
	case formText:
		writeText(b, s)
		return
	}
	if s.tip == "" {
		fmt.Fprintf(b, "<%s class=%q %s/>\n", tag, s.class, body)
		return
	}
	fmt.Fprintf(b, "<%s class=%q %s><title>%s</title></%s>\n", tag, s.class, body, escape(s.tip), tag)
}

func writeText(b *bytes.Buffer, s shape) {
	class := s.class
	if s.kind.bold {
		class += " b"
	}
	if s.left {
		class += " left"
	}
	fmt.Fprintf(b, "<text class=%q x=%q y=%q font-size=%q textLength=%q lengthAdjust=\"spacingAndGlyphs\">%s</text>\n",
		class, num(s.at.X), num(s.at.Y), num(s.kind.size), num(s.kind.width(s.text)), escape(s.text))
}

func pathData(s shape) string {
	var d strings.Builder
	point := func(p layout.Point) string { return num(p.X) + " " + num(p.Y) }
	d.WriteString("M" + point(s.points[0]))
	if s.form == formLines {
		for _, p := range s.points[1:] {
			d.WriteString(" L" + point(p))
		}
	} else {
		for i := 3; i < len(s.points); i += 3 {
			d.WriteString(" C" + point(s.points[i-2]) + " " + point(s.points[i-1]) + " " + point(s.points[i]))
		}
	}
	if s.closed {
		d.WriteString(" Z")
	}
	return d.String()
}

// num writes a number with one decimal at most, so that it does not depend on
// the last bits of a calculation.
func num(x float64) string {
	return strconv.FormatFloat(math.Round(x*10)/10+0, 'f', -1, 64)
}

func escape(s string) string { return chart.Escape(s) }
