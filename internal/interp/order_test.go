package interp_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
)

// The order of the checks, told by calls of which two things or more are wrong:
// the first one answers.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	s := enqueued(t)
	claim := s.call("claim_next", in{"lease": interp.Time(at(60))})
	s.does(claim)
	wrong := in{"result": interp.Int(1)}
	known := s.call("complete", wrong, rev(1))
	known.RequestID = claim.RequestID
	s.refuses(known, interp.CodeRequestReused)                                         // the request, before its inputs
	s.refuses(s.call("complete", wrong, record("b"), rev(1)), interp.CodeInvalidInput) // the inputs, before the record
	s.refuses(s.call("complete", wrong, rev(1)), interp.CodeInvalidInput)              // ... and its revision
	s.refuses(s.call("complete", in{"result": interp.JSON("1")}, rev(1)), interp.CodeStale)
	s.refuses(s.call("complete", in{"result": interp.JSON("1")}), interp.CodeWrongState) // the revision, before the cell
}

// A cell that only records does so whatever the revision is that the call names;
// a branch or a guard that records comes after it.
func TestRecordedWhateverTheRevision(t *testing.T) {
	t.Parallel()
	s := tell(t, shipped(t, "ingest"))
	s.does(s.call("enqueue", nil))
	s.does(s.call("start", nil))
	succeed := s.call("succeed", nil)
	s.does(succeed)
	for i, r := range []int64{2, 1, 99, 3} {
		out := s.does(s.call("succeed", nil, rev(r)))
		if !out.RecordOnly || out.Replayed || out.Record.Rev != 3 || out.Events[0].Rev != 3 || out.Events[0].N != int64(i+1) {
			t.Errorf("at revision %d: %+v", r, out)
		}
	}
	if out := s.does(succeed); !out.Replayed || out.RecordOnly {
		t.Errorf("the first call again: %+v", out)
	}
	s.refuses(s.call("start", nil, rev(1)), interp.CodeStale)
	s.folds()

	x := tell(t, shipped(t, "execution"))
	x.does(x.lease("a", "job"))
	x.does(x.call("start", nil))
	x.does(x.call("commit", nil))
	if out := x.does(x.call("commit", nil, rev(2))); !out.RecordOnly || len(out.Events) != 1 { // 000:179, and no second effect
		t.Errorf("a second commit at the old revision: %+v", out)
	}
}
