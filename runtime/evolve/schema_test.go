package evolve

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSections(t *testing.T) {
	t.Parallel()
	got := Sections("-- head\n\n-- section: tables\nA;\n\n-- section: full\n-- why\nB;\n-- section: meta\nC;")
	want := map[string]string{"": "-- head\n\n", "tables": "A;\n\n", "full": "-- why\nB;\n", "meta": "C;"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sections (-want +got):\n%s", diff)
	}
}
