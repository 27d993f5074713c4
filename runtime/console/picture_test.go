package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/console"
)

const box = `<svg class="fsmgen"><rect class="hit" data-state="held" x="1" y="20" width="30" height="40" rx="6"></rect></svg>`

// pictured is a machine as a generated package has it; renamed one beside an operation picture.
type (
	pictured struct{ *fsm.Machine[storetest.Parcel] }
	renamed  struct{ *fsm.Machine[storetest.Parcel] }
	tooLarge struct{ *fsm.Machine[storetest.Parcel] }
)

func (pictured) Picture() string      { return box }
func (renamed) Picture(int)           {}
func (renamed) EnginePicture() string { return box }
func (tooLarge) Picture() string      { return "" }

// The picture of a machine, whatever its method is called, has a link and a count on each state.
func TestPicture(t *testing.T) {
	t.Parallel()
	m := parcels(t)
	stock(t, m, "p1", "l1", "ann", "")
	here := console.Place{Name: "here"}
	for name, x := range map[string]console.Machine{
		"Picture": console.Of(here, pictured{m}), "EnginePicture": console.Of(here, renamed{m}), "": console.Of(here, tooLarge{m}),
	} {
		code, body := get(t, handler(t, console.Options{Machines: []console.Machine{x}}), "/here/parcel/")
		shown := strings.Contains(body, `<figure class="picture"><svg class="fsmgen"><a href="records?state=held" aria-label="held: 1">`)
		if code != http.StatusOK || shown != (name != "") || strings.Contains(body, "<figure") != shown {
			t.Errorf("%q: answered %d, the picture is shown: %v\n%s", name, code, shown, body)
		}
	}
}
