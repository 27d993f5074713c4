package main

import (
	"os"
	"strings"
	"testing"
)

// The README shows what the program prints.
func TestStory(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := tell(&b); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```text\n"+b.String()+"```\n") {
		t.Errorf("README.md shows something else than\n%s", &b)
	}
}
