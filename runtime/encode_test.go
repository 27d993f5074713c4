package fsm_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// The fingerprint is stored with every event: it may never change.
func TestFingerprintIsStable(t *testing.T) {
	t.Parallel()
	inputs := []driver.Input{
		{Name: "z", Value: "a\"\\\n<é\u2028", Kind: driver.KindString},
		{Name: "a", Value: int64(-5), Kind: driver.KindInt},
		{Name: "lease", Value: start, Kind: driver.KindTime, Loose: true},
		{Name: "t", Value: start.Add(time.Microsecond), Kind: driver.KindTime},
		{Name: "j", Value: `{"b":1.0,"a":null}`, Kind: driver.KindJSON},
		{Name: "n", Value: "null", Kind: driver.KindJSON},
		{Name: "o", Kind: driver.KindJSON},
		{Name: "s", Value: `["x","y"]`, Kind: driver.KindSet},
		{Name: "b", Value: true, Kind: driver.KindBool},
	}
	got, err := driver.Fingerprint("hold", "ann", "", inputs)
	// printf '%s' '{"actor":"ann","inputs":{...},"operation":"hold","reason":""}' | sha256sum: 59d902885b6b45bb30fb2abb...
	const want = "v1:WdkCiFtrRbsw-yq7"
	if err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	slices.Reverse(inputs)
	if again, _ := driver.Fingerprint("hold", "ann", "", inputs); again != got {
		t.Error("it depends on the order of the inputs")
	}
	seen := map[string]bool{got: true}
	for _, other := range []struct {
		op, actor, reason string
		change            func([]driver.Input)
	}{
		{"touch", "ann", "", nil},
		{"hold", "bob", "", nil},
		{"hold", "ann", "x", nil},
		{"hold", "ann", "", func(in []driver.Input) { in[0].Value = false }},
		{"hold", "ann", "", func(in []driver.Input) { in[2].Value = "null" }}, // a present null is not an absent value
	} {
		changed := slices.Clone(inputs)
		if other.change != nil {
			other.change(changed)
		}
		f, err := driver.Fingerprint(other.op, other.actor, other.reason, changed)
		if err != nil || seen[f] {
			t.Errorf("%+v has the fingerprint of another request (%v)", other, err)
		}
		seen[f] = true
	}
	if _, err := driver.Fingerprint("hold", "", "", []driver.Input{{Name: "x", Value: 1.5, Kind: driver.KindInt}}); err == nil {
		t.Error("a value of the wrong kind has a fingerprint")
	}
}

// The checksum sees every field but N and Sum, and its value may never change.
func TestChecksum(t *testing.T) {
	t.Parallel()
	e := fsm.Event{
		ID: "p", Rev: 2, N: 0, Operation: "o", Name: "n", From: "f", To: "t", At: start, Actor: "a", Reason: "r",
		RequestID: "q", RequestN: -1, Fingerprint: "v1:0", Labels: map[string]string{"k": "v", "a": "b"},
		Inputs: fsm.MustJSON(`{"x":1}`), Changes: fsm.MustJSON(`{}`), Image: fsm.MustJSON(`{"y":2}`),
		Version: 3, Cause: "c", Guard: "g",
	}
	sum := driver.Checksum(&e)
	if sum != 0xd89f5c0d {
		t.Errorf("got %#08x", sum)
	}
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		changed := e
		f := reflect.ValueOf(&changed).Elem().Field(i)
		switch f.Interface().(type) {
		case string:
			f.SetString(f.String() + "x")
		case int64, int:
			f.SetInt(f.Int() + 1)
		case uint32:
			f.SetUint(f.Uint() + 1)
		case time.Time:
			f.Set(reflect.ValueOf(e.At.Add(time.Microsecond)))
		case map[string]string:
			f.Set(reflect.ValueOf(map[string]string{"k": "v", "a": "c"}))
		case fsm.JSON:
			f.Set(reflect.ValueOf(fsm.MustJSON(`{"z":0}`)))
		default:
			t.Fatalf("no change is known for field %s", name)
		}
		blind := name == "N" || name == "Sum" || name == "Chain"
		if same := driver.Checksum(&changed) == sum; same != blind {
			t.Errorf("field %s: the checksum stays the same: %v, want %v", name, same, blind)
		}
	}
	moved := e
	moved.From, moved.To = "ft", ""
	if driver.Checksum(&moved) == sum {
		t.Error("fields run into each other")
	}
	none, empty := e, e
	none.Labels, empty.Labels = nil, map[string]string{}
	if driver.Checksum(&none) != driver.Checksum(&empty) {
		t.Error("no labels and empty labels differ")
	}
}

// Whatever a parcel holds, its log gives it back.
func TestFoldGivesBackEveryValue(t *testing.T) {
	t.Parallel()
	texts := rapid.OneOf(rapid.StringN(0, 8, 30), rapid.SampledFrom([]string{"", "null", `"`, "\u2028<&>", "\u007f\u0001", "{}", "absent"}))
	jsons := rapid.SampledFrom([]string{"null", "1e400", `{"$json":null}`, `{"$json":{"$json":1}}`, `{"a":1,"a":2}`, `"\ud800"`, "[]", "-0.0"})
	rapid.Check(t, func(rt *rapid.T) {
		m := open(t, newStore(), storetest.Schema(), fixed())
		out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), storetest.RegisterInput{
			Lane: "l" + strings.ReplaceAll(texts.Draw(rt, "lane"), "\x00", ""), Weight: fsm.Some(rapid.Int64().Draw(rt, "weight")),
			Tags: fsm.NewSet(rapid.SliceOf(texts).Draw(rt, "tags")...),
		})))
		for range rapid.IntRange(1, 5).Draw(rt, "steps") {
			text, size := fsm.Optional[fsm.JSON]{}, fsm.Optional[string]{}
			if rapid.Bool().Draw(rt, "note") {
				text = fsm.Some(fsm.MustJSON(jsons.Draw(rt, "text")))
			}
			if rapid.Bool().Draw(rt, "size") {
				size = fsm.Some("large")
			}
			out = must(t)(m.Apply(t.Context(), out, storetest.Annotate(meta(""), text, size, fsm.Some(rapid.Bool().Draw(rt, "fragile")))))
		}
		due := start.Add(time.Duration(rapid.Int64Range(-1e18, 1e18).Draw(rt, "due")))
		out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), out.Record.Lane, due)))
		folded, err := fsmimpl.Fold(storetest.Descriptor(storetest.Schema()), log(t, m, out.Record.ID))
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(storetest.Encode(&out.Record), storetest.Encode(&folded)); diff != "" {
			rt.Fatalf("record and fold (-record +fold):\n%s", diff)
		}
	})
}

// No text in a log makes the fold panic.
func FuzzFold(f *testing.F) {
	f.Add(`{"lane":"a","tags":["x"],"moves":0}`, `{"tags":["y"],"moves":1,"due":"2026-01-01T00:00:00Z","note":{"$json":null}}`)
	f.Add(`{"tags":null}`, `{"tags":["y"]}`)
	f.Add(`{"created_at":null}`, `{"moves":1.5,"fragile":1}`)
	f.Add(`[]`, `null`)
	f.Add(`{"moves":null}`, `{"tags":[1],"size":"huge"}`)
	f.Fuzz(func(t *testing.T, image, changes string) {
		i, err := fsm.ParseJSON(image)
		if err != nil {
			t.Skip()
		}
		c, err := fsm.ParseJSON(changes)
		if err != nil {
			t.Skip()
		}
		d := storetest.Descriptor(storetest.Schema())
		p, err := fsmimpl.Fold(d, []fsm.Event{
			{ID: "p", Rev: 1, To: "waiting", At: start, Image: i},
			{ID: "p", Rev: 2, From: "waiting", To: "held", At: start, Changes: c},
		})
		if err == nil && (p.Rev != 2 || p.ID != "p") {
			t.Errorf("got %+v", p)
		}
	})
}

func TestFoldRefuses(t *testing.T) {
	t.Parallel()
	version := storetest.Schema().Version // an older one may have had more fields
	first := fsm.Event{ID: "p", Rev: 1, To: "waiting", At: start, Changes: fsm.MustJSON(`{"lane":"a"}`), Version: version}
	second := fsm.Event{ID: "p", Rev: 2, To: "waiting", At: start, Changes: fsm.MustJSON(`{}`), Version: version}
	with := func(e fsm.Event, change func(*fsm.Event)) fsm.Event {
		change(&e)
		return e
	}
	for _, c := range []struct {
		name, want string
		events     []fsm.Event
	}{
		{"nothing", "the log is empty", nil},
		{"a log without its beginning", "without an image", []fsm.Event{second}},
		{"a gap", "the revision follows 1", []fsm.Event{first, with(second, func(e *fsm.Event) { e.Rev = 3 })}},
		{"another record", `belongs to "q"`, []fsm.Event{first, with(second, func(e *fsm.Event) { e.ID = "q" })}},
		{"an unknown field", `no field is stored as "colour"`, []fsm.Event{first, with(second, func(e *fsm.Event) { e.Changes = fsm.MustJSON(`{"colour":1}`) })}},
		{"a wrong type", "moves", []fsm.Event{first, with(second, func(e *fsm.Event) { e.Changes = fsm.MustJSON(`{"moves":"x"}`) })}},
		{"a set of numbers", "tags", []fsm.Event{first, with(second, func(e *fsm.Event) { e.Changes = fsm.MustJSON(`{"tags":{"came":[1],"gone":[]}}`) })}},
		{"an image without a set", "tags cannot be absent", []fsm.Event{with(first, func(e *fsm.Event) { e.Image = fsm.MustJSON(`{"tags":null}`) })}},
		{"an image of another machine", `no field is stored as "colour"`, []fsm.Event{with(first, func(e *fsm.Event) { e.Image = fsm.MustJSON(`{"colour":1}`) })}},
		{"an unknown word", "no size is stored", []fsm.Event{first, with(second, func(e *fsm.Event) { e.Changes = fsm.MustJSON(`{"size":"huge"}`) })}},
	} {
		_, err := fsmimpl.Fold(storetest.Descriptor(storetest.Schema()), c.events)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", c.name, err, c.want)
		}
	}
	grown := with(second, func(e *fsm.Event) { e.Changes = fsm.MustJSON(`{"tags":["x"]}`) })
	emptied := with(second, func(e *fsm.Event) { e.Rev, e.Changes = 3, fsm.MustJSON(`{"tags":null}`) })
	if p, err := fsmimpl.Fold(storetest.Descriptor(storetest.Schema()), []fsm.Event{first, grown, emptied}); err != nil || !p.Tags.IsZero() {
		t.Errorf("an emptied set: %+v, %v", p, err)
	}
	p, err := fsmimpl.Fold(storetest.Descriptor(storetest.Schema()), []fsm.Event{first, {ID: "p", Rev: 1, N: 1, Changes: fsm.MustJSON(`{"lane":"b"}`)}, second})
	if err != nil || p.Lane != "a" || p.Rev != 2 {
		t.Errorf("a record-only event was folded: %+v, %v", p, err)
	}
}
