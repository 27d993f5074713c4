// Package variants holds machines with planted errors, of the kind that people make, and what `fsmgen check` and the
// model checker find of them.
package variants
