// Package brute judges induction by trying all: it takes each record of a small domain that
// keeps what its state promises, makes each call of a small domain, and looks at what comes of
// it. It shares no code with the interpreter and the proof, which is held against it.
package brute
