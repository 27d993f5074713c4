package answers

import (
	"encoding/json"
	"errors"
	"go/format"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/model"
	"github.com/fsmgen/fsmgen/internal/validate"
)

// page opens specifications.
func page(t testing.TB, files ...string) (texts []*Text) {
	t.Helper()
	for _, file := range files {
		src, err := os.ReadFile(file) //nolint:gosec // a file of a test
		if err != nil {
			t.Fatal(err)
		}
		text := &Text{Name: file, Hash: file, Source: src}
		text.Machine, text.Found = validate.Source(file, src)
		texts = append(texts, text)
	}
	return texts
}

// write writes a specification to a file of its own.
func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spec.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// answered is an answer as a page gets it.
type answered struct {
	Code int
	Body string
}

// ask asks a question: number of the text / question.
func ask(t testing.TB, texts []*Text, path, request string) answered {
	t.Helper()
	n, question, _ := strings.Cut(path, "/")
	i, err := strconv.Atoi(n)
	if err != nil {
		t.Fatal(err)
	}
	body, err := Answer(t.Context(), texts[i], question, []byte(request), Options{model.Search, format.Source})
	var refused *Refused
	switch {
	case err == nil:
		return answered{http.StatusOK, string(body)}
	case !errors.As(err, &refused):
		t.Fatal(err)
	}
	return answered{refused.Status, string(encode(map[string]string{"error": refused.Text}))}
}

// get asks for a value.
func get[T any](t testing.TB, texts []*Text, path, request string) (v T) {
	t.Helper()
	w := ask(t, texts, path, request)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	d := json.NewDecoder(strings.NewReader(w.Body))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}
