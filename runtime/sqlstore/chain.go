package sqlstore

import (
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// chained returns the value of an event's chain in SQL: see fsm.Chained. id, rev
// and n name the event before it.
func chained(events, id, rev, n, sum string) string {
	return fmt.Sprintf(`(coalesce((SELECT p."chain" FROM %s AS p WHERE p."id" = %s AND p."rev" = %s AND p."n" = %s), 0) * 16777619 + %s) %% 4294967296`,
		events, id, rev, n, sum)
}

// linked returns the chain of a row's next event: the row has that of its last one,
// or the log where others than the engine have written the row.
func linked(events, row, sum string) string {
	return fmt.Sprintf(`(CASE WHEN %[2]s."_chain" <> 0 THEN %[2]s."_chain" ELSE coalesce((SELECT p."chain" FROM %[1]s AS p WHERE p."id" = %[2]s."id" `+
		`AND p."rev" = %[2]s."rev" AND p."n" = 0), 0) END * 16777619 + %[3]s) %% 4294967296`, events, row, sum)
}

// chainedTo returns revision and number of the event before e in the chain.
func chainedTo(e *driver.Event) (rev, n int64) {
	if e.RecordOnly() {
		return e.Rev, e.N - 1
	}
	return e.Rev - 1, 0
}

// byColumns and byChain say how the row is compared with what the write was decided on, if it is.
func byColumns(w *driver.Write) bool { return w.Old != nil && w.Old.Chain == 0 }
func byChain(w *driver.Write) bool   { return w.Old != nil && w.Old.Chain != 0 }
