package draw

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/gen/chart"
)

// Live returns the picture of c for a page that lets one point at it. It has no
// style of its own, which a strict page would refuse: the page takes
// [Stylesheet]. Over every state and every operation lies a rectangle of the
// class "hit" with the attribute data-state or data-operation, and the lines of
// an edge say in data-from, data-to and data-operations what they are ("" is a
// choice point or the start).
func Live(c *chart.Chart) []byte {
	s := compose(c)
	var b bytes.Buffer
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"fsmgen\" width=%q height=%q viewBox=\"0 0 %s %s\">\n",
		num(s.w), num(s.h), num(s.w), num(s.h))
	fmt.Fprintf(&b, "<desc>%s</desc>\n", escape(s.desc))
	for _, sh := range s.shapes {
		sh.tip = "" // the rectangle above it says it
		if sh.way == nil {
			writeShape(&b, sh)
			continue
		}
		fmt.Fprintf(&b, "<path class=%q data-from=%q data-to=%q data-operations=%q d=%q", sh.class,
			escape(sh.way.from), escape(sh.way.to), escape(strings.Join(sh.way.operations, " ")), pathData(sh))
		if sh.width > 0 {
			fmt.Fprintf(&b, " data-width=%q", num(sh.width))
		}
		b.WriteString("/>\n")
	}
	for _, h := range s.hits {
		kind, name := "state", h.state
		if h.operation != "" {
			kind, name = "operation", h.operation
		}
		fmt.Fprintf(&b, "<rect class=\"hit\" data-%s=%q x=%q y=%q width=%q height=%q rx=\"6\">", kind, escape(name),
			num(h.rect.X), num(h.rect.Y), num(h.rect.W), num(h.rect.H))
		if h.tip != "" {
			fmt.Fprintf(&b, "<title>%s</title>", escape(h.tip))
		}
		b.WriteString("</rect>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// Stylesheet returns the style of pictures, light or dark as the viewer prefers.
func Stylesheet() []byte {
	var b bytes.Buffer
	rules(&b, Auto, func(string) bool { return true })
	return b.Bytes()
}
