package gen

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shippedIn are the folders of the five machines' packages, by the machines' names.
var shippedIn = map[string]string{
	"lifecycle": "queue", "execution": "fm001", "jobstate": "events", "ingest": "pipeline", "task": "scheduler",
}

// TestShipped compares the packages of the five machines with what is generated,
// so that every test of those packages is one of the generator.
func TestShipped(t *testing.T) {
	t.Parallel()
	for name, folder := range shippedIn {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := parse(t, filepath.Join("..", "specs", name+".yaml"))
			for _, f := range generate(t, m, Options{TestStore: "sqlite,postgres"}) {
				path := filepath.Join("..", "examples", folder, name, f.Name)
				got, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(f.Data), string(got)); diff != "" {
					t.Errorf("%s is not what is generated (-generated +there); run make generate:\n%s", path, diff)
				}
			}
		})
	}
}
