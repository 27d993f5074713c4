package driver

import (
	"testing"
	"time"
)

// A field that is gone is passed over in events of an older version, and is an
// error in those of the present one.
func TestFoldOfAFieldThatIsGone(t *testing.T) {
	t.Parallel()
	s := &Schema{Machine: "door", Version: 2, Columns: []Column{{Name: "key", Stored: "key", Kind: KindString, Optional: true}}}
	at := Time(time.UnixMicro(5))
	for _, tt := range []struct {
		name    string
		event   Event
		version int
		wrong   bool
	}{
		{"changes of the old version", Event{Changes: MustJSON(`{"key":"k","size":3}`)}, 1, false},
		{"image of the old version", Event{Image: MustJSON(`{"key":"k","size":3}`)}, 1, false},
		{"changes of this version", Event{Changes: MustJSON(`{"key":"k","size":3}`)}, 2, true},
		{"image of this version", Event{Image: MustJSON(`{"key":"k","size":3}`)}, 2, true},
	} {
		e := tt.event
		e.ID, e.Rev, e.To, e.At, e.Version = "x", 1, "open", at, tt.version
		row, err := FoldRow(s, []Event{e})
		switch {
		case tt.wrong && err == nil:
			t.Errorf("%s: folded to %+v, want an error", tt.name, row)
		case !tt.wrong && (err != nil || row.Values[0] != "k"):
			t.Errorf("%s: %+v, %v", tt.name, row, err)
		}
	}
}
