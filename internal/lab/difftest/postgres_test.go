package difftest

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
)

// TestGeneratedOverPostgres runs the generated tests of the five machines over
// PostgreSQL: walks whose every step is compared with the model, the attempts
// past the engine at the prompt, and the plans of the queries.
func TestGeneratedOverPostgres(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles five packages")
	}
	for i, name := range five {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if i > 0 {
				campaign.Only(t)
			}
			out := runShipped(t, name, []string{"FSMGEN_POSTGRES_URL=" + pgtest.DSN(t)}, "-test.v", "-test.run", "^Test/^postgres$")
			c := regexp.MustCompile(name + `: engine: (\d+) durable cases, (\d+) attempts past the engine`).FindStringSubmatch(out)
			if c == nil {
				t.Fatalf("the package does not say what it did:\n%s", out)
			}
			cases, _ := strconv.Atoi(c[1])
			attempts, _ := strconv.Atoi(c[2])
			if cases < 400 || attempts < 300 {
				t.Errorf("%d cases, %d attempts: there is more to try in each machine", cases, attempts)
			}
			t.Logf("%d cases, %d attempts", cases, attempts)
			for _, s := range regexp.MustCompile(`--- SKIP: \S+/postgres(/plans|/prompt|/joined)? `).FindAllString(out, -1) {
				t.Errorf("skipped: %s", s)
			}
		})
	}
}
