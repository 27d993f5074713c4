package machines

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/fsmgen/fsmgen/examples/machines/paymentintent"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// A currency has three letters: so does a call, an import, and what stands where it was erased.
func TestLengths(t *testing.T) {
	t.Parallel()
	file, err := sqlite.Open(filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, store := range map[string]fsm.Store{"memory": memstore.New(), "sqlite": file} {
		if err := paymentintent.Migrate(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		m, err := paymentintent.Open(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		in := paymentintent.CreateInput{
			Amount: 1, Currency: "éuro",
			CaptureMethod: paymentintent.CaptureMethodManual, ConfirmationMethod: paymentintent.ConfirmationMethodManual,
		}
		if _, err := m.Create(t.Context(), "p1", in, fsm.Call{RequestID: "1"}); !errors.Is(err, fsm.ErrInvalidInput) {
			t.Errorf("%s: a currency of four letters: %v", name, err)
		}
		in.Currency = "eür"
		out, err := m.Create(t.Context(), "p1", in, fsm.Call{RequestID: "2"})
		if err != nil {
			t.Fatal(err)
		}
		other := out.Record
		other.ID, other.Currency = "p2", "eu"
		if _, err := m.Core().Import(t.Context(), other, fsm.Call{RequestID: "3", Actor: "root", Reason: "moved"}); !errors.Is(err,
			fsm.ErrInvariant) {
			t.Errorf("%s: a currency of two letters is imported: %v", name, err)
		}
		erased := audit.RedactOptions{Fields: []string{"currency"}, Actor: "root", Reason: "asked"}
		p, redacted, err := audit.Redact(t.Context(), m.Core(), "p1", erased)
		if err != nil || !redacted || p.Currency != "[re" {
			t.Errorf("%s: the currency is %q, redacted: %t, %v", name, p.Currency, redacted, err)
		}
	}
	for _, c := range []struct {
		least, most int
		want        string
	}{{1, 0, "añb"}, {1, 2, "añ"}, {5, 9, "añbbb"}} {
		if got := (&driver.Column{Least: c.least, Most: c.most}).Fit("añb"); got != c.want {
			t.Errorf("of %d to %d characters: %q, expected %q", c.least, c.most, got, c.want)
		}
	}
}
