package cli

import "testing"

// What looks like a request of roff is text.
func TestRoff(t *testing.T) {
	t.Parallel()
	if got, want := roff("a-b\n.so x\n'y \\z\n"), "a\\-b\n\\&.so x\n\\&'y \\ez"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
