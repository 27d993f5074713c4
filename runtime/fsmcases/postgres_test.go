package fsmcases

import (
	"testing"
)

func TestInSchema(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{
		"postgres://u@h/d": "postgres://u@h/d?search_path=s",
		"postgres://u@/d?host=/tmp/x&search_path=old": "postgres://u@/d?host=%2Ftmp%2Fx&search_path=s",
		"host=h user=u dbname=d":                      "host=h user=u dbname=d search_path=s",
	} {
		if got, err := inSchema(server, "s"); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", server, got, err, want)
		}
	}
	if got, err := inSchema("postgres://u:p@[::1/d", "s"); err == nil {
		t.Errorf("an address that cannot be read became %q", got)
	}
}
