// Package layout places boxes in layers and leads edges between them, from top
// to bottom, after the scheme of Sugiyama: edges that close a cycle are turned
// around, nodes get layers so that edges are short, the layers are ordered so
// that few edges cross, and coordinates make edges straight.
//
// It guarantees, for every graph: no two boxes, labels or loops lie on each
// other; no edge runs through a box or a label; each label stands on its own
// edge, which is broken for it; no two edges cross more often than the order of the
// layers makes them; equal graphs get equal places. It draws nothing and measures
// no text: sizes come in, coordinates go out, in one unit.
//
// The rules hold by construction. Every edge has a place in every layer that it
// passes, its label in one of those between two layers of boxes. Edges run
// sideways in the corridors between the layers only, where nothing else is; those
// that would come too close to each other there get tracks of their own, in an
// order in which none crosses another that it need not.
package layout
