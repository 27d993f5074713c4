package faults_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// hostile are texts that mean something to SQL, to a terminal, to a log, or to
// who compares texts carelessly.
var hostile = []string{
	`'; DROP TABLE lifecycle; --`,
	`" OR ""="`,
	`$1 ? :name @p %s %n {{.}} ${x} \x00 \u0000`,
	"line\nbreak\r\nand\ttab",
	"\x1b[2J\x1b[31mred\x1b]0;title\x07",
	"right\u202eto left\u2066",
	"e\u0301 \u00e9 \U0001f600 \U0001f469\u200d\U0001f680",
	"null", "true", "0", " ", " leading and trailing ",
	`{"a":1}`, `[]`, "sys", "SYS:x",
	strings.Repeat("ä", 126),
}

// refusedTexts are those that no store can hold or tell apart.
var refusedTexts = map[string]string{"NUL": "a\x00b", "invalid UTF-8": "a\xffb", "256 bytes": strings.Repeat("x", 256), "the engine's own": "sys:x"}

// Whatever stands in a name, an id, a reason or a payload is kept byte by byte,
// does nothing else, and reaches no terminal as anything but text.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	stores := map[string]func(t *testing.T) (fsm.Store, error){
		"memory": func(*testing.T) (fsm.Store, error) { return memstore.New(), nil },
		"sqlite": func(t *testing.T) (fsm.Store, error) { return sqlite.Open(filepath.Join(t.TempDir(), "x.db")) },
		"postgres": func(t *testing.T) (fsm.Store, error) {
			return postgres.Open(t.Context(), pgtest.DSN(t), quiet)
		},
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			ctx := t.Context()
			if err := lifecycle.Migrate(ctx, store); err != nil {
				t.Fatal(err)
			}
			m, err := lifecycle.Open(ctx, store)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range hostile {
				keepsText(t, m, text)
			}
			for what, text := range refusedTexts {
				refusesText(t, m, what, text)
			}
			n := 0
			for f, err := range audit.Run(ctx, m) {
				t.Errorf("audit: %v %v", f, err)
			}
			for _, err := range m.List(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			if n != len(hostile) {
				t.Errorf("%d records, want %d", n, len(hostile))
			}
		})
	}
}

func keepsText(t *testing.T, m *lifecycle.Machine, text string) {
	t.Helper()
	ctx := t.Context()
	payload, err := fsm.MarshalValue(map[string]string{text: text})
	if err != nil {
		t.Fatal(err)
	}
	in := lifecycle.EnqueueInput{DedupeKey: fsm.Some(text), Payload: fsm.Some(payload)}
	call := fsm.Call{RequestID: text, Actor: text, Reason: text, Labels: map[string]string{text: text}}
	first, err := m.Enqueue(ctx, text, in, call)
	if err != nil {
		t.Errorf("%q: %v", text, err)
		return
	}
	again, err := m.Enqueue(ctx, text, in, call)
	if err != nil || !again.Replayed {
		t.Errorf("%q: the same call again: replayed is %v, %v", text, again.Replayed, err)
	}
	j, err := m.Record(ctx, text)
	if err != nil {
		t.Errorf("%q: %v", text, err)
		return
	}
	if diff := cmp.Diff(fmt.Sprintf("%+q", fmt.Sprint(first.Record)), fmt.Sprintf("%+q", fmt.Sprint(j))); diff != "" {
		t.Errorf("%q: %s", text, diff)
	}
	for e, err := range m.History(ctx, text) {
		if err != nil || e.ID != text || e.RequestID != text || e.Actor != text || e.Reason != text || e.Labels[text] != text {
			t.Errorf("%q: the log says %+v, %v", text, e, err)
		}
	}
	// Refusals that name the record, the request and the input.
	_, stale := m.ClaimNext(ctx, lifecycle.ClaimNextInput{Lease: lease}, fsm.Call{RequestID: "c " + text, Actor: text})
	_, wrong := m.Start(ctx, fsm.Ref{ID: text, Rev: 7}, fsm.Call{RequestID: "s", Actor: text})
	call.Reason = "another"
	_, reused := m.Enqueue(ctx, text, in, call)
	_, missing := m.Record(ctx, "no "+text)
	if stale != nil || wrong == nil || reused == nil || missing == nil {
		t.Errorf("%q: %v, %v, %v, %v", text, stale, wrong, reused, missing)
	}
	for _, err := range []error{wrong, reused, missing} {
		if err != nil {
			plain(t, err.Error())
		}
	}
}

// plain demands that a text says nothing to a terminal but itself.
func plain(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d' {
			t.Errorf("%q holds the character %U", text, r)
			return
		}
	}
}

func refusesText(t *testing.T, m *lifecycle.Machine, what, text string) {
	t.Helper()
	ctx := t.Context()
	type given struct {
		id   string
		in   lifecycle.EnqueueInput
		call fsm.Call
	}
	calls := map[string]given{
		"request id": {call: fsm.Call{RequestID: text}},
		"id":         {id: text, call: fsm.Call{RequestID: "r"}},
		"actor":      {call: fsm.Call{Actor: text, RequestID: "r"}},
	}
	if what == "the engine's own" {
		calls = map[string]given{"request id": {call: fsm.Call{RequestID: text}}}
	}
	if what == "NUL" || what == "invalid UTF-8" {
		calls["reason"] = given{call: fsm.Call{Reason: text, RequestID: "r"}}
		calls["label"] = given{call: fsm.Call{Labels: map[string]string{"k": text}, RequestID: "r"}}
		calls["label's name"] = given{call: fsm.Call{Labels: map[string]string{text: "v"}, RequestID: "r"}}
		calls["input"] = given{in: lifecycle.EnqueueInput{DedupeKey: fsm.Some(text)}, call: fsm.Call{RequestID: "r"}}
	}
	for where, g := range calls {
		_, err := m.Enqueue(ctx, g.id, g.in, g.call)
		if !errors.Is(err, fsm.ErrInvalidInput) {
			t.Errorf("%s as %s: got %v, want ErrInvalidInput", what, where, err)
			continue
		}
		plain(t, err.Error())
	}
}

// A call that is too large is refused before it reaches the store.
func TestOversized(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	ctx := t.Context()
	if err := lifecycle.Migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	m, err := lifecycle.Open(ctx, store)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := fsm.MarshalValue(strings.Repeat("x", driver.MaxCall))
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Enqueue(ctx, "", lifecycle.EnqueueInput{Payload: fsm.Some(payload)}, fsm.Call{RequestID: "r"})
	if !errors.Is(err, fsm.ErrTooLarge) || !strings.Contains(err.Error(), fmt.Sprint(driver.MaxCall)) {
		t.Errorf("got %.200v, want ErrTooLarge with the limit", err)
	}
	if len(fmt.Sprint(err)) > 1000 {
		t.Errorf("the error holds the payload: %d bytes", len(fmt.Sprint(err)))
	}
}

var lease = time.Date(time.Now().Year()+4, 1, 1, 0, 0, 0, 0, time.UTC)
