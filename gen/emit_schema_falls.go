package gen

import (
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// lost is what an update may not take from a counter or a set: the words that
// refuse it, and the condition. Lacks is the SQL that finds a member which is gone;
// text is what compares the new set as text.
func (s *schemaText) lost(f *spec.Field, lacks, text string) (message, condition string) {
	resets := s.m.Resets(f)
	if f.Type.Kind == spec.KindCounter {
		message, condition = f.Name+" never falls", fmt.Sprintf("NEW.%[1]s < OLD.%[1]s", column(f))
		if s.m.Decrements(f) {
			message, condition = f.Name+" falls by one only", condition+" - 1"
		}
		if resets {
			message = strings.NewReplacer("never falls", "falls to 0 only", "by one only", "by one or to 0 only").Replace(message)
			condition += fmt.Sprintf(" AND NEW.%s <> 0", column(f))
		}
		return message, condition
	}
	if resets {
		return f.Name + " loses all members or none", text + " <> '[]' AND " + lacks
	}
	return f.Name + " never loses a member", lacks
}
