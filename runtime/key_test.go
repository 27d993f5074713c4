package fsm_test

import (
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

func TestEffectKey(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 600, time.FixedZone("", 3600))
	for _, c := range []struct {
		want  string
		parts []any
	}{
		{"a/b", []any{"a/b"}},
		{"-", []any{nil}},
		{`"a"/"b"`, []any{"a", "b"}},
		{`"a/\"b"/-/7/true`, []any{`a/"b`, nil, int64(7), true}},
		{`"\u000a\\"/2026-01-02T02:04:05.0000006Z`, []any{"\n\\", at}},
	} {
		if got := fsmimpl.EffectKey(c.parts...); got != c.want {
			t.Errorf("%v: got %s, want %s", c.parts, got, c.want)
		}
	}
}
