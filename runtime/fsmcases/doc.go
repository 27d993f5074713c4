// Package fsmcases makes the calls of generated tests; nobody imports it by hand. A generated
// test file holds cases: a record, a call and what must come of it, found in the specification
// when the package was generated, and thin typed adapters to the package. This package makes
// each call by the pure method and over each store, and compares.
//
// It guarantees that what it expects stands in the test file: it imports neither the generator
// nor the specification, and knows of the machine what stands there. A reviewer who has read the
// cases has read everything that is expected.
//
// It compares whole records, whole events and every part of a refusal that a
// caller can act on. Over a store it looks at the log and at the effects too, asks again under
// the same request, and asks at a revision that is past.
//
// It judges a machine. It does not judge stores, schemas and the engine, crashes no
// process and does not measure: that is the work of internal/lab/storetest and
// internal/lab/enginetest in the repository of fsmgen.
package fsmcases
