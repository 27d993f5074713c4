package sqlstore

import (
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// byChain reports whether the row is compared by its chain with what the write was decided on, and
// lacksChain whether it has to be compared by its columns.
func byChain(w *driver.Write) bool    { return w.Old != nil && w.Old.Chain != 0 }
func lacksChain(w *driver.Write) bool { return w.Old != nil && w.Old.Chain == 0 && w.Prev.Rev > 0 }
