package driver

import (
	"strings"
	"testing"
	"time"
)

var foldSchema = &Schema{Machine: "door", Version: 1, Columns: []Column{
	{Name: "keys", Stored: "keys", Kind: KindSet},
	{Name: "turns", Stored: "turns", Kind: KindCounter},
	{Name: "note", Stored: "note", Kind: KindString, Optional: true},
}}

// A log may begin at any event that holds the whole record, whose times are
// those of the image.
func TestFoldFromAnImage(t *testing.T) {
	t.Parallel()
	at := Time(time.UnixMicro(7))
	events := []Event{
		{
			ID: "x", Rev: 64, From: "shut", To: "open", At: at, Version: 1,
			Image: MustJSON(`{"created_at":"2026-01-02T03:04:05.000006Z","updated_at":"2026-02-02T03:04:05.000006Z","keys":["a"],"turns":3,"note":null}`),
		},
		{ID: "x", Rev: 65, From: "open", To: "shut", At: at, Version: 1, Changes: MustJSON(`{"keys":["b"],"turns":4}`)},
	}
	row, err := FoldRow(foldSchema, events)
	if err != nil {
		t.Fatal(err)
	}
	created, updated := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), time.Date(2026, 2, 2, 3, 4, 5, 6000, time.UTC)
	if row.Rev != 65 || row.State != "shut" || !row.CreatedAt.Equal(created) || !row.UpdatedAt.Equal(updated) {
		t.Errorf("folded to %+v, want revision 65 and the times of the image", row)
	}
	if row.Values[0] != `["a","b"]` || row.Values[1] != int64(4) || row.Values[2] != nil {
		t.Errorf("folded to %v", row.Values)
	}
	first, err := FoldRow(foldSchema, events[:1])
	if err != nil || first.Values[0] != `["a"]` || first.Values[1] != int64(3) {
		t.Errorf("the image alone folds to %v (%v)", first.Values, err)
	}
}

// An image of an older version leaves as they are the fields that it lacks; one of
// this version, or of a later one, is the whole record.
func TestFoldOfImagesThatLackFields(t *testing.T) {
	t.Parallel()
	const whole = `{"created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05Z","keys":["b"],"turns":7,"note":null}`
	const lacks = `{"created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05Z","keys":["b"],"turns":7}`
	s := *foldSchema
	s.Version = 2
	for _, tt := range []struct {
		name, image string
		version     int
		note        any
		partial     bool
	}{
		{"an older one that lacks a field", lacks, 1, "n", true},
		{"an older one that holds all", whole, 1, nil, false},
		{"one of this version that lacks a field", lacks, 2, nil, false},
		{"one of this version", whole, 2, nil, false},
		{"a later one that lacks a field", lacks, 3, nil, false},
	} {
		second := Event{ID: "x", Rev: 2, From: "open", To: "shut", At: Time(time.UnixMicro(6)), Version: tt.version, Image: MustJSON(tt.image)}
		row, err := FoldRow(&s, []Event{
			{ID: "x", Rev: 1, To: "open", At: Time(time.UnixMicro(5)), Version: 2, Changes: MustJSON(`{"keys":["a"],"turns":1,"note":"n"}`)},
			second,
		})
		if err != nil || row.Values[0] != `["b"]` || row.Values[1] != int64(7) || row.Values[2] != tt.note {
			t.Errorf("%s: folded to %v, %v; want the note %v", tt.name, row.Values, err, tt.note)
		}
		if got := second.Partial(&s); got != tt.partial {
			t.Errorf("%s: partial is %t", tt.name, got)
		}
	}
}

// What an event cannot mean is an error that names it.
func TestFoldOfBrokenEvents(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, want     string
		image, changes string
	}{
		{"an image without a creation", "created_at is absent", `{"created_at":null}`, ""},
		{"an image without a counter", "turns cannot be absent", `{"turns":null}`, ""},
		{"an image that is no object", "image", `[]`, ""},
		{"an absent counter", "turns: it cannot be absent", "", `{"turns":null}`},
		{"a set of numbers", "keys", "", `{"keys":[1]}`},
		{"a counter of words", "turns", "", `{"turns":"many"}`},
		{"changes that are no object", "changes", "", `[]`},
	} {
		e := Event{ID: "x", Rev: 1, To: "open", At: Time(time.UnixMicro(5)), Version: 1}
		if tt.image != "" {
			e.Image = MustJSON(tt.image)
		}
		if tt.changes != "" {
			e.Changes = MustJSON(tt.changes)
		}
		if row, err := FoldRow(foldSchema, []Event{e}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: folded to %+v, %v; want an error with %q", tt.name, row, err, tt.want)
		}
	}
}

// An event holds what is new: of a set, the members that were added, and null where it is empty.
func TestChangesOf(t *testing.T) {
	t.Parallel()
	old := []any{`["a"]`, int64(1), "n"}
	changed, changes, err := foldSchema.Changes(old, []any{`["a","b"]`, int64(1), nil})
	if err != nil || len(changed) != 2 || changed[0] != 0 || changed[1] != 2 || changes.String() != `{"keys":["b"],"note":null}` {
		t.Errorf("got %v, %s, %v", changed, changes, err)
	}
	if changed, changes, err = foldSchema.Changes(old, []any{"[]", int64(0), "n"}); err != nil || len(changed) != 2 || changes.String() != `{"keys":null,"turns":0}` {
		t.Errorf("an emptied set: got %v, %s, %v", changed, changes, err)
	}
	if changed, changes, err = foldSchema.Changes(old, []any{`["b"]`, int64(1), "n"}); err != nil || len(changed) != 1 || changes.String() != `{"keys":{"came":["b"],"gone":["a"]}}` {
		t.Errorf("a set that lost members: got %v, %s, %v", changed, changes, err)
	}
	for name, values := range map[string][2][]any{
		"too few values":         {old, old[:2]},
		"too many values":        {old, append(append([]any{}, old...), "more")},
		"too few values before":  {old[:2], old},
		"too many values before": {append(append([]any{}, old...), "more"), old},
		"a set that is absent":   {old, {nil, int64(1), "n"}},
		"a set that was absent":  {{nil, int64(1), "n"}, old},
		"a set that is none":     {old, {`{}`, int64(1), "n"}},
		"a set that was none":    {{`{}`, int64(1), "n"}, old},
	} {
		if changed, changes, err := foldSchema.Changes(values[0], values[1]); err == nil {
			t.Errorf("%s: got %v, %s, want an error", name, changed, changes)
		}
	}
}
