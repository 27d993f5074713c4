// Package draw makes pictures of a chart: SVG and PNG, without another program.
//
// It guarantees that the same chart gives the same bytes; that nothing lies on
// anything else (package layout); that text keeps the room that was measured
// for it, whatever font the viewer has; and that the SVG is legible on a light
// and on a dark page: it follows what the viewer prefers.
//
// A picture is made in three steps: compose turns the chart into boxes and
// sizes, layout places them, and what is then a list of shapes and texts with
// classes (scene) is written as SVG or painted. Colours are in theme.go alone.
package draw
