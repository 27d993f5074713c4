package sqlstore

import (
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// wording is what stands in a text instead of cells: what comes out of the
// specification, and what is nearly always the same. Each cell costs client and server.
type wording struct {
	operation, name string
	to              string
	version         int
	at              bool   // the event is of the row's updated_at
	born            bool   // a creation's created_at is its updated_at
	silent          bool   // no reason
	record          bool   // the request belongs to the record
	given           string // the names of the inputs, where all their values stand in the changes: see briefInputs
}

// wordingOf returns that of a write, of whose event the column of the inputs holds this.
func wordingOf(w *driver.Write, given string) wording {
	e := &w.Event
	if !strings.HasPrefix(given, "[") || strings.HasSuffix(given, "}]") {
		given = ""
	}
	return wording{
		operation: e.Operation, name: e.Name, to: w.Row.State, version: e.Version,
		at: e.At.Equal(w.Row.UpdatedAt), born: w.Prev.Rev == 0 && w.Row.CreatedAt.Equal(w.Row.UpdatedAt),
		silent: e.Reason == "", record: e.RequestN == -1, given: given,
	}
}

// meet keeps what is so of two writes, and returns what they differ in.
func (w *wording) meet(o *wording) (mixed uint8) {
	for bit, words := range [...][2]string{{w.operation, o.operation}, {w.name, o.name}, {w.to, o.to}} {
		if words[0] != words[1] {
			mixed |= 1 << bit
		}
	}
	if w.version != o.version {
		mixed |= mixedVersion
	}
	w.at, w.born, w.silent = w.at && o.at, w.born && o.born, w.silent && o.silent
	if w.record = w.record && o.record; w.given != o.given {
		w.given = ""
	}
	return mixed
}

// What writes differ in, so that it is sent; in the order of meet.
const (
	mixedOperation = 1 << iota
	mixedName
	mixedTo
	mixedVersion
	mixedAll = 1<<iota - 1
)
