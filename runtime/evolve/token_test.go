package evolve

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// The short ways of firstToken find what the expression finds.
func TestFirstToken(t *testing.T) {
	t.Parallel()
	parts := []string{"a", "Z9", "_x$", "é", "\u00a0", "\xff", " ", "\n", "\t", "\v", "--",
		"/", "*", "'", `"`, "`", "[", "]", "$$", "$", "(", ",", ".", "1", "|"}
	random := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		var b strings.Builder
		for range 1 + random.IntN(6) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		if got, want := firstToken(b.String()), tokenForm.FindString(b.String()); got != want {
			t.Fatalf("%q begins with %q, want %q", &b, got, want)
		}
	}
}
