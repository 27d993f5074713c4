// Package lsp is the language server of `fsmgen lsp`: it speaks the Language Server
// Protocol about specifications with an editor.
//
// What a file says comes from package spec, and what is wrong with it from package
// validate; this package has no opinion of its own. Each version of an open file is one
// value that never changes and is read once, when somebody asks. A request answers of the
// version that was there when it came. Findings are looked for in the background, of the
// newest version alone, after a short pause in typing.
//
// It guarantees that a request that fails, or panics, ends no session; that it reads and
// writes no file, for the editor sends texts and makes edits; and that a file that is no
// specification is left alone. A file that cannot be read for the moment keeps its last good
// reading, which completion and hover answer from.
//
// Columns are UTF-16 units, as the protocol has them by default.
package lsp
