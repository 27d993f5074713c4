package main

import (
	"os"
	"testing"
)

// TestMain runs the program itself when a story has started this binary as its
// worker.
func TestMain(m *testing.M) {
	if os.Getenv("FM001_CHILD") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestStories(t *testing.T) {
	t.Parallel()
	if err := tell(t.Context(), t.Output()); err != nil {
		t.Fatal(err)
	}
}
