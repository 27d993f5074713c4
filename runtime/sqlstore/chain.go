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

// chainEvents returns the statement that fills the chains of a log that had none.
func chainEvents(events string) string {
	return fmt.Sprintf(`WITH RECURSIVE c ("id", "rev", "n", "chain") AS (
	SELECT e."id", e."rev", e."n", e."checksum" FROM %[1]s AS e WHERE e."n" = 0
		AND NOT EXISTS (SELECT 1 FROM %[1]s AS p WHERE p."id" = e."id" AND p."rev" = e."rev" - 1 AND p."n" = 0)
	UNION ALL
	SELECT e."id", e."rev", e."n", (c."chain" * 16777619 + e."checksum") %% 4294967296
	FROM c JOIN %[1]s AS e ON e."id" = c."id" AND e."rev" BETWEEN c."rev" AND c."rev" + 1
		AND (c."n" = 0 AND e."n" = 0 AND e."rev" = c."rev" + 1 OR e."rev" = c."rev" AND e."n" = c."n" + 1)
)
UPDATE %[1]s SET "chain" = c."chain" FROM c WHERE %[1]s."id" = c."id" AND %[1]s."rev" = c."rev" AND %[1]s."n" = c."n"`, events)
}

// byColumns and byChain say how the row is compared with what the write was decided on, if it is.
func byColumns(w *driver.Write) bool { return w.Old != nil && w.Old.Chain == 0 }
func byChain(w *driver.Write) bool   { return w.Old != nil && w.Old.Chain != 0 }
