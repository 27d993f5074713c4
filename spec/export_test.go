package spec

// Meaning is the canonical text that the hash is taken over.
var Meaning = meaning
