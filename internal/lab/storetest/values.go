package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode/utf8"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// What a call brings is taken by every store or by none, and whatever is taken
// can be read in every way there is.
var valueTests = []test{
	{"strange values are taken everywhere or nowhere", func(b *bench) {
		d := b.open()
		out := d.register("p1", "a")
		random := rand.New(rand.NewPCG(7, 11))
		taken, refused := 0, 0
		for i := range 150 {
			note, meta := strangeJSON(random), Meta{RequestID: fmt.Sprint("r", i)}
			if random.IntN(3) == 0 {
				meta = Meta{
					RequestID: fmt.Sprint("r", i, strangeText(random)), Actor: "a" + strangeText(random), Reason: strangeText(random),
					Labels: map[string]string{strangeText(random): strangeText(random)},
				}
			}
			value, err := fsm.ParseJSON(note)
			if err != nil {
				b.Fatalf("%.100q: %v", note, err)
			}
			next, err := d.Apply(d.ctx, out, Annotate(meta, fsm.Some(value), fsm.Optional[string]{}, fsm.Optional[bool]{}))
			want := takes(value.String(), meta)
			if got := codeOf(err); got != want {
				b.Fatalf("call %d, JSON %.100q, %.300q:\ngot %q (%.300v), want %q", i, note, fmt.Sprint(meta), got, err, want)
			}
			if err != nil {
				refused++
				continue
			}
			taken++
			out = next
			if p := d.parcel("p1"); p.Note.Or(fsm.JSON{}) != value {
				b.Fatalf("%.100q comes back as %.100q", value, p.Note)
			}
		}
		if taken < 30 || refused < 30 {
			b.Errorf("%d calls are taken and %d refused: the test shows too little", taken, refused)
		}
		d.readable("p1", taken+1)
	}},
	{"the largest record", func(b *bench) {
		d := b.open()
		out := d.register("p1", "a")
		plain := func(note string) fsmimpl.Call[Parcel] {
			return Annotate(Meta{Actor: "ann"}, fsm.Some(fsm.MustJSON(note)), fsm.Optional[string]{}, fsm.Optional[bool]{})
		}
		for out.Record.Rev < 63 { // the next event has an image
			out = d.must(d.Apply(d.ctx, out, plain("1")))
		}
		quotes := func(n int) string { return `"` + strings.Repeat(`\"`, n) + `"` }
		most := (driver.MaxCall - 400) / 2 // the rest of the record, and the names
		for range 3 {
			out = d.must(d.Apply(d.ctx, out, plain(quotes(most))))
		}
		d.refused(fsm.ErrTooLarge, func() (outcome, error) { return d.Apply(d.ctx, out, plain(quotes(most+200))) })
		d.refused(fsm.ErrTooLarge, func() (outcome, error) {
			return d.Create(d.ctx, Register(Meta{}, RegisterInput{ID: "p2", Lane: strings.Repeat("x", driver.MaxIndexed+1)}))
		})
		d.must(d.Create(d.ctx, Register(Meta{}, RegisterInput{ID: "p3", Lane: incompressible(driver.MaxIndexed)})))
		d.readable("p1", 66)
	}},
}

// readable reads a record's log in every way there is.
func (d *depot) readable(id string, events int) {
	d.Helper()
	record := d.parcel(id)
	var log []fsm.Event
	n := 0
	for e, err := range d.History(d.ctx, id) {
		if err != nil {
			d.Fatalf("history: %v", err)
		}
		for name, text := range map[string]fsm.JSON{"inputs": e.Inputs, "changes": e.Changes, "image": e.Image} {
			if !text.IsZero() && !json.Valid([]byte(text.String())) {
				d.Errorf("%s of revision %d is no JSON", name, e.Rev)
			}
		}
		log = append(log, e)
		n++
	}
	if got, err := fsmimpl.Fold(Descriptor(d.schema), log); err != nil || fmt.Sprint(got) != fmt.Sprint(record) {
		d.Errorf("the log folds into another record (%v)", err)
	}
	if n != events {
		d.Errorf("the history has %d events, want %d", n, events)
	}
	n = 0
	d.wholeLog()
	for e, err := range d.Log(d.ctx, "") {
		if err != nil {
			d.Fatalf("log: %v", err)
		}
		if e.ID == id {
			n++
		}
	}
	if n != events {
		d.Errorf("the log has %d events, want %d", n, events)
	}
	for f, err := range d.Audit(d.ctx) {
		d.Errorf("audit: %v, %v", f, err)
	}
}

// takes says how a call must be answered.
func takes(note string, m Meta) fsm.Code {
	for _, s := range []string{m.Actor, m.RequestID} {
		if driver.CheckID(s) != nil && s != "" {
			return fsm.ErrInvalidInput
		}
	}
	size := len(`{"note":,"size":null,"fragile":null}`) + len(note)
	for k, v := range m.Labels {
		if driver.CheckText(k) != nil || driver.CheckText(v) != nil {
			return fsm.ErrInvalidInput
		}
		size += written(k) + written(v)
	}
	depth, deepest, nul := 0, 0, false
	dec := json.NewDecoder(strings.NewReader(note))
	for dec.UseNumber(); ; { // a number may be greater than any float
		t, err := dec.Token()
		if err != nil {
			break
		}
		text, _ := t.(string)
		nul = nul || strings.Contains(text, "\x00")
		switch t {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
		deepest = max(deepest, depth)
	}
	switch {
	case driver.CheckText(m.Reason) != nil || !utf8.ValidString(note) || nul:
		return fsm.ErrInvalidInput
	case deepest > driver.MaxDepth || size+written(m.Reason) > driver.MaxCall:
		return fsm.ErrTooLarge
	}
	return ""
}

// written is how many bytes a text has as JSON.
func written(s string) int {
	n := len(s)
	for _, c := range s {
		if c == '"' || c == '\\' {
			n++
		} else if c < ' ' {
			n += 5
		}
	}
	return n
}

func codeOf(err error) fsm.Code {
	var r *fsm.Refusal
	switch {
	case err == nil:
		return ""
	case errors.As(err, &r):
		return r.Code
	}
	return fsm.Code("no refusal")
}

// strangeText returns a text that some store might not take.
func strangeText(random *rand.Rand) string {
	list := []string{"", "x", "a\x00b", "\xff", "\xed\xa0\x80", `\u0000`, "<&>\u2028", "'\"\\", "\x01\x1f", "😀", strings.Repeat("ü", 200), "\ufffd"}
	return list[random.IntN(len(list))]
}

// strangeJSON returns a JSON text that some store or reader might not take.
func strangeJSON(random *rand.Rand) string {
	leaf := func() string {
		list := []string{
			"1e400", "-1e-400", "-0", "0.10", "123456789012345678901234567890", "1E+2", "null", `""`, `"\u0000"`, `{"a\u0000":1}`, `"\\u0000"`, `"\\\u0000"`, `"\ud800"`, `"\ud83d\ude00"`,
			`"\udc00x"`, `"é\u0001"`, `{"a":1,"a":2}`, `{"":null}`, `{"$json":1}`, `{"$json":null,"b":2}`, `[ 1 , 2 ]`, `"<&>"`, "\"\u2028\"", "true",
		}
		if random.IntN(8) == 0 {
			list = []string{"\"\xff\"", "\"\xed\xa0\x80\"", "{\"\xc3\":1}"}
		}
		return list[random.IntN(len(list))]
	}
	switch random.IntN(6) {
	case 0:
		depths := []int{2, 64, driver.MaxDepth - 1, driver.MaxDepth, driver.MaxDepth + 1, 998, 999, 1000, 1001, 5000, 9999, 10000}
		depth := depths[random.IntN(len(depths))]
		if random.IntN(2) == 0 || depth > 9000 {
			return strings.Repeat("[", depth) + strings.Repeat("]", depth)
		}
		return strings.Repeat(`{"a":`, depth) + leaf() + strings.Repeat("}", depth)
	case 1:
		sizes := []int{10, 10_000, driver.MaxCall - 300, driver.MaxCall, driver.MaxCall + 1, 1 << 20}
		return `"` + strings.Repeat([]string{"x", "[", `\\`, "é"}[random.IntN(4)], sizes[random.IntN(len(sizes))]/2) + `"`
	case 2:
		return `{"k":` + leaf() + `,"l":[` + leaf() + "," + leaf() + `]}`
	}
	return leaf()
}

// incompressible returns a text of n bytes that cannot be packed.
func incompressible(n int) string {
	random := rand.New(rand.NewPCG(1, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[random.IntN(64)]
	}
	return string(b)
}
