package etcd_test

import (
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fsmgen/fsmgen/internal/lab/e2e/etcdcluster"
	"github.com/fsmgen/fsmgen/internal/live/livetest"
	"github.com/fsmgen/fsmgen/runtime/etcdstore"
)

// The command audits, repairs, counts and prints what a generated package has written into
// a cluster with TLS and users, and tells nobody the password.
func TestFsmctl(t *testing.T) {
	t.Parallel()
	ours := etcdcluster.NewTLS(t)
	c := etcdcluster.StartWith(t, etcdcluster.Options{Members: 3, TLS: ours, Flags: []string{"--bcrypt-cost=4"}})
	enable(t, c.Members()[0])
	store, err := etcdstore.Open(t.Context(), as(c, ours.Config(), "jobs", password), etcdstore.WithPrefix("shop/"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	if err := livetest.Jobs(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join("..", "..", "..", "..")
	program := filepath.Join(t.TempDir(), "fsmctl")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = filepath.Join(root, "cmd", "fsmctl")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	hosts := strings.ReplaceAll(strings.Join(c.Endpoints(), ","), "https://", "")
	ca, cert, key := ours.Files()
	address := func(password string) string {
		return fmt.Sprintf("etcds://jobs:%s@%s/shop/?cacert=%s&cert=%s&key=%s", url.PathEscape(password), hosts, ca, cert, key)
	}
	run := func(code int, want string, args ...string) {
		t.Helper()
		cmd := exec.Command(program, args...)
		out, _ := cmd.CombinedOutput() // the exit code is looked at
		if got := cmd.ProcessState.ExitCode(); got != code || !strings.Contains(string(out), want) {
			t.Errorf("fsmctl %s: exit code %d, want %d and %q:\n%s", args[0], got, code, want, out)
		}
		secretive{t}.says(string(out))
	}
	spec, db := filepath.Join(root, "specs", "lifecycle.yaml"), address(password)
	run(0, "", "audit", "--db", db, spec)
	run(0, "job-1 is succeeded, at revision 4", "log", "--db", db, spec, "job-1")
	run(0, `"from":"","to":"queued","recorded":false,"count":5}`, "history", "--db", db, spec)
	run(2, "etcd has no script", "migrate", "--db", db, spec, spec)
	run(2, "does not take this user and password", "audit", "--db", address(mistaken), spec)
	run(2, "does not hold the machine jobstate; it holds lifecycle", "audit", "--db", db, filepath.Join(root, "specs", "jobstate.yaml"))

	// A step by its name: asked for, refused, done, done before, and told.
	reason := "the host is gone"
	stall := func(request string) []string {
		return []string{
			"do", "--db", db, "--yes", "--actor", "ann", "--reason", reason, "--request-id", request, "--rev", "3", spec, "stall", "job-2",
		}
	}
	run(0, "stall would be taken and lead to stalled", "do", "--db", db, spec, "stall", "job-2")
	run(1, "not owner (owner w1, actor w9)", "do", "--db", db, "--actor", "w9", "--input", "result={}", spec, "complete", "job-2")
	run(0, "job-2 is running, at revision 3", "log", "--db", db, spec, "job-2")
	run(0, "running -> stalled", stall("r1")...)
	run(0, "it was done before, by a call with this request id", stall("r1")...)
	run(1, "the record is at revision 4, the call expected 3", stall("r2")...)
	run(0, `"state":"stalled","rev":4`, "show", "--db", db, "--json", spec, "job-2")
	run(0, `"actor":"ann","reason":"`+reason+`","request_id":"r1"`, "show", "--db", db, "--json", spec, "job-2")
	payload := `payload={"n":1}`
	run(0, `{"id":"job-77","state":"queued","rev":1`,
		"do", "--db", db, "--yes", "--json", "--request-id", "r3", "--input", payload, spec, "enqueue", "job-77")
	run(0, "claim_next", "do", "--db", db, "--yes", "--actor", "w5", "--input", "lease=+5m", spec, "claim_next", "job-77")
	run(0, "job-77", "ls", "--db", db, "--where", "owner=w5", spec)
	run(0, "", "audit", "--db", db, spec)

	hand, err := clientv3.New(as(c, ours.Config(), "jobs", password))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hand.Close() })
	if _, err := hand.Delete(t.Context(), "shop/lifecycle/i/", clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	run(1, "index keys", "repair", "--db", db, spec)
	run(1, "", "audit", "--db", db, spec)
	run(0, "repaired", "repair", "--db", db, "--yes", "--actor", "ann", "--reason", "keys were lost", spec)
	run(0, "", "audit", "--db", db, spec)
}
