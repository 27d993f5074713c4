package fsm_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

var jsonOpts = cmp.Comparer(func(a, b fsm.JSON) bool { return a == b })

// TestEventJSON writes events as readers in other languages get them, and reads
// them again with their checksums.
func TestEventJSON(t *testing.T) {
	t.Parallel()
	full := fsm.Event{
		ID: "a<b", Rev: 2, N: 1, Operation: "claim", Name: "claimed", From: "queued", To: "queued", At: time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC),
		Actor: "w", Reason: "r", RequestID: "q", RequestN: 0, Fingerprint: "v1:00", Labels: map[string]string{"k": "v"},
		Inputs: fsm.MustJSON(`{"x":"<&>"}`), Changes: fsm.MustJSON(`{}`), Image: fsm.MustJSON(`{"n":9007199254740993}`),
		Version: 3, Cause: "c", Guard: "g", Chain: 7,
	}
	full.Sum = driver.Checksum(&full)
	small := fsm.Event{ID: "a", Rev: 1, Operation: "make", Name: "made", To: "open", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), RequestN: -1, Version: 1}
	for _, c := range []struct {
		event fsm.Event
		want  string
	}{
		{full, `{"id":"a<b","rev":2,"n":1,"operation":"claim","name":"claimed","from":"queued","to":"queued","at":"2026-01-02T03:04:05.000678Z",` +
			`"actor":"w","reason":"r","request_id":"q","request_n":0,"fingerprint":"v1:00","labels":{"k":"v"},"inputs":{"x":"<&>"},"changes":{},` +
			`"image":{"n":9007199254740993},"version":3,"cause":"c","guard":"g","sum":` + "SUM" + `,"chain":7}`},
		{small, `{"id":"a","rev":1,"n":0,"operation":"make","name":"made","to":"open","at":"2026-01-02T03:04:05.000000Z","version":1}`},
	} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(c.event); err != nil {
			t.Fatal(err)
		}
		sum, err := json.Marshal(c.event.Sum)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Replace(c.want, "SUM", string(sum), 1)+"\n", b.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		var got fsm.Event
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.event, got, jsonOpts); diff != "" {
			t.Errorf("read again (-want +got):\n%s", diff)
		}
		if c.event.Sum != 0 && driver.Checksum(&got) != c.event.Sum {
			t.Error("the checksum does not hold any more")
		}
	}
	entry := fsm.Entry{Event: small, Cursor: "12"}
	text, err := json.Marshal(entry)
	if want := `"version":1,"cursor":"12"}`; err != nil || !strings.HasSuffix(string(text), want) {
		t.Errorf("an entry is %s, %v; want it to end in %s", text, err, want)
	}
	var again fsm.Entry
	if err := json.Unmarshal(text, &again); err != nil || cmp.Diff(entry, again, jsonOpts) != "" {
		t.Errorf("an entry read again is %+v, %v", again, err)
	}
	var e fsm.Event
	if err := json.Unmarshal([]byte(`{"at":"2026-01-02T05:04:05.1234567+02:00","later":1}`), &e); err != nil || !e.At.Equal(time.Date(2026, 1, 2, 3, 4, 5, 123456000, time.UTC)) {
		t.Errorf("another zone: %v, %v", e.At, err)
	}
	if err := json.Unmarshal([]byte(`{"at":"yesterday"}`), &e); err == nil || !strings.Contains(err.Error(), `at is "yesterday"; expected a time like`) {
		t.Errorf("no time: %v", err)
	}
}
