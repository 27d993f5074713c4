// Package layout places boxes in layers and leads edges between them, from top
// to bottom, after the scheme of Sugiyama: edges that close a cycle are turned
// around, nodes get layers so that edges are short, the layers are ordered so
// that few edges cross, and coordinates make edges straight.
//
// It guarantees, for every graph: no two boxes, labels or loops lie on each
// other; no edge runs through a box or a label; each label stands on its own
// edge, which is broken for it; equal graphs get equal places. It draws nothing
// and measures no text: sizes come in, coordinates go out, in one unit.
//
// The rules hold by construction. Every edge has a place in every layer that it
// passes, its label in one of those between two layers of boxes, and the
// curves run in the gaps between the layers, where nothing else is.
package layout
