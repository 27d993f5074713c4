package gen

import "fmt"

// The engine moves the chain of a record with each revision, in the row and in the log.
// Who writes by hand leaves it as it is. So the triggers that look at every step of a
// hand stand aside for the engine, which has looked before: no setting says so, which
// could be lost or stay behind in a session.

const chainColumn = "_chain"

// The conditions of those triggers. They name columns without quotes, as PostgreSQL's
// catalog does.
const (
	chainStands    = "NEW._chain = OLD._chain OR NEW._chain = 0 OR NEW.rev <> OLD.rev + 1"
	chainBegins    = "NEW._chain = 0 OR NEW.rev <> 1"
	chainIdle      = "NEW._chain = OLD._chain AND NEW._chain <> 0"
	eventUnchained = "NEW.chain = 0 OR NEW.n > 0"
)

const engineAside = "The triggers of a move stand aside where the engine writes: it moves the chain with the revision."

// follows returns the condition that an event has no chain, so that the triggers have
// looked at it, or the one that its place in the log gives it: a copy of another event does not.
func (s *schemaText) follows(e string) string {
	return fmt.Sprintf(`(%[1]s."chain" = 0 OR %[1]s."chain" = (coalesce((SELECT p."chain" FROM %[2]s AS p WHERE p."id" = %[1]s."id" `+
		`AND p."rev" = %[1]s."rev" - 1 AND p."n" = 0), 0) * 16777619 + %[1]s."checksum") %% 4294967296)`, e, s.table("_events"))
}
