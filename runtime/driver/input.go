package driver

// Input is one datum of a call, as it goes into event and fingerprint.
type Input struct {
	Name  string
	Value any  // as in Row.Values
	Kind  Kind // how it is written as JSON
	Loose bool // not part of the fingerprint: a retry may compute it anew
}
