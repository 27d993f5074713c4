package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// BenchmarkCommit measures durable transitions of one caller: a creation and
// two moves per record.
func BenchmarkCommit(b *testing.B) {
	for _, level := range []string{"checks", "full"} {
		b.Run(level, func(b *testing.B) {
			ctx := context.Background()
			tab := table(b, open(b, filepath.Join(b.TempDir(), "x.db"), sqlite.WithEnforce(level)), executionSchema(b))
			var w *driver.Write
			for i := 0; b.Loop(); i++ {
				switch i % 3 {
				case 0:
					id := fmt.Sprintf("e%09d", i)
					w = lease(id, "job "+id, 1)
				case 1:
					w = step(w, "start", "in_progress", "start", map[int]any{4: start})
				case 2:
					w = step(w, "commit", "committed", "commit", nil)
				}
				if err := tab.Commit(ctx, w); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "transitions/s")
		})
	}
}
