// Package purekit is what a package of the pure layer brings along in the place of
// fsmgen's runtime, which it does not import: refusals, texts of words, optional values,
// sets, checks of inputs, and the player of its test cases.
//
// The generator copies out of these files the declarations that a package needs (gen/kit.go),
// with their comments. Nobody imports this package; it is here to be compiled and tested.
package purekit
