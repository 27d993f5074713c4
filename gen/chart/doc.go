// Package chart says what a picture of a machine shows, and writes it as text
// for the tools that draw: Mermaid and Graphviz.
//
// Of makes a Chart: where records begin and end, one arrow for each pair of
// states with every operation that leads this way, its guards, triggers and
// effect, the branches of `choose`, what is recorded without a change, the
// forbidden moves, and the projection. Focus and Only leave parts out, Weigh
// puts the traffic of an event log on the arrows.
//
// It guarantees that what it returns depends on the machine (and the counts)
// alone: equal machines give equal bytes. It does not show what operations set,
// nor the invariants of the states. It places nothing: that is what
// gen/chart/layout is for, and gen/chart/draw for SVG and PNG.
package chart
