// Package cost holds families of machines of any size, and tests that count what
// checking and generating them takes.
//
// Nothing may grow faster than the cells of a machine: states and fields, times
// operations, and the text of the specification. Work is counted, never timed: in
// bytes that are allocated and written by every `make test`, and in executed
// statements of each line by `make campaigns`, which names the lines that grow.
package cost
