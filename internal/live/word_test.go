package live

import "testing"

// A file stands in a command as one word, so that what is advised can be copied.
func TestWord(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"specs/job.yaml": "specs/job.yaml", "a b/job.yaml": "'a b/job.yaml'", "ann's.yaml": `'ann'\''s.yaml'`, "$x.yaml": "'$x.yaml'",
	} {
		if got := word(file); got != want {
			t.Errorf("%s is written %s, want %s", file, got, want)
		}
	}
}
