package interp_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
)

func TestRefusalNamesItsCause(t *testing.T) {
	t.Parallel()
	tests := []struct {
		refusal interp.Refusal
		want    string
	}{
		{interp.Refusal{Code: interp.CodeNotFound, Operation: "start"}, "start: not_found"},
		{interp.Refusal{Code: interp.CodeGuard, Operation: "start", State: "claimed", Guard: "owner_only"}, "start: guard (owner_only) in state claimed"},
		{interp.Refusal{Code: interp.CodeStale, Operation: "start", Rev: 3, Expected: 2}, "start: stale: the record is at revision 3, the call expected 2"},
		{interp.Refusal{Code: interp.CodeInvalidInput, Operation: "start", Name: "lease", Message: "it is required and zero"}, "start: invalid_input (lease): it is required and zero"},
	}
	for _, tt := range tests {
		if got := tt.refusal.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// The codes are the runtime's words, each a code of its own.
func TestCodesDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	codes := []string{
		interp.CodeNotFound, interp.CodeExists, interp.CodeWrongState, interp.CodeTerminal, interp.CodeStale, interp.CodeNothingToDo,
		interp.CodeInvalidInput, interp.CodeActorMissing, interp.CodeReasonMissing, interp.CodeRequestMissing, interp.CodeRequestReused,
		interp.CodeGuard, interp.CodeNotUnique, interp.CodeInvariant, interp.CodeOverflow,
	}
	for _, c := range codes {
		if seen[c] {
			t.Errorf("%s is there twice", c)
		}
		seen[c] = true
	}
}
