package pgtest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

var errNoPrograms = errors.New("PostgreSQL's programs are not in /usr/lib/postgresql/*/bin")

// shared is the cluster of this test process.
var shared cluster

// cluster is a throw-away server that lives while somebody uses it.
type cluster struct {
	mu    sync.Mutex
	users int
	dir   string
	url   string
	cmd   *exec.Cmd
	log   bytes.Buffer

	settings []string // name=value, beyond those of every cluster
	name     string   // of its folder, where it is free; else the folder has a name of its own
}

func (c *cluster) acquire() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users == 0 {
		if err := c.start(); err != nil {
			return "", err
		}
	}
	c.users++
	return c.url, nil
}

func (c *cluster) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users--; c.users == 0 {
		c.stop()
	}
}

// Serve starts a throw-away cluster for a program that runs many processes of
// tests: they use it when it sets FSMGEN_POSTGRES_URL to the url. stop removes it.
func Serve() (url string, stop func(), err error) {
	c := &cluster{}
	url, err = c.acquire()
	return url, c.release, err
}

// RunVariable names the server that the packages of a run share.
const RunVariable = "FSMGEN_PGTEST_URL"

// ServeRun starts a throw-away cluster for all packages of a run, which find it by
// RunVariable. Its address is the same for each run of a user, one at a time, so that Go
// may keep results of tests. It returns ErrNoServer where there is nothing to start
// or FSMGEN_POSTGRES_URL names a server already.
func ServeRun() (url string, stop func(), err error) {
	if os.Getenv("FSMGEN_POSTGRES_URL") != "" {
		return "", nil, ErrNoServer
	}
	c := &cluster{name: fmt.Sprint("pgtest-run-", os.Getuid())}
	url, err = c.acquire()
	if errors.Is(err, errNoPrograms) {
		err = ErrNoServer
	}
	return url, c.release, err
}

// programs returns the folder of the newest version.
func programs() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errNoPrograms
	}
	return slices.MaxFunc(dirs(found), func(a, b string) int { return version(a) - version(b) }), nil
}

// dirs returns the folders that files are in.
func dirs(files []string) (list []string) {
	for _, f := range files {
		list = append(list, filepath.Dir(f))
	}
	return list
}

// version is that of the programs in /usr/lib/postgresql/15/bin.
func version(bin string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	return n
}

// folder is where servers are made: among other temporary files, unless the path of
// a socket there would be too long or would need quotes in an address.
func folder() string {
	dir := os.TempDir()
	if len(dir) > 60 || strings.ContainsAny(dir, " '\"\\%+&,") {
		return "/tmp"
	}
	return dir
}

func (c *cluster) start() error {
	bin, err := programs()
	if err != nil {
		return err
	}
	if err := c.make(); err != nil {
		return err
	}
	if err := c.boot(bin); err != nil {
		c.stop()
		return fmt.Errorf("%w\n%s", err, c.log.Bytes())
	}
	return nil
}

// make makes the cluster's folder.
func (c *cluster) make() (err error) {
	if c.name != "" {
		if dir := filepath.Join(folder(), c.name); os.Mkdir(dir, 0o700) == nil {
			c.dir = dir
			return nil
		}
	}
	c.dir, err = os.MkdirTemp(folder(), "pgtest")
	return err
}

func (c *cluster) boot(bin string) error {
	// The server refuses to run as root: another user owns the folder then.
	if err := give(c.dir); err != nil {
		return err
	}
	data := filepath.Join(c.dir, "data")
	c.log.Reset()
	create := exec.Command(filepath.Join(bin, "initdb"), "--pgdata", data, "--username", "postgres", "--auth", "trust",
		"--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")
	create.Stdout, create.Stderr, create.Dir = &c.log, &c.log, c.dir
	unprivileged(create)
	if err := create.Run(); err != nil {
		return fmt.Errorf("initdb: %w", err)
	}
	return c.launch(bin)
}

// launch starts the server on the data that there is, and waits until it answers.
func (c *cluster) launch(bin string) error {
	args := []string{"-D", filepath.Join(c.dir, "data"), "-k", c.dir, "-h", "",
		"-c", "fsync=off", "-c", "max_connections=1000"} // nobody cuts the power; a killed server loses nothing by it
	for _, setting := range c.settings {
		args = append(args, "-c", setting)
	}
	c.cmd = exec.Command(filepath.Join(bin, "postgres"), args...)
	c.cmd.Stdout, c.cmd.Stderr, c.cmd.Dir = &c.log, &c.log, c.dir
	unprivileged(c.cmd)
	if err := c.cmd.Start(); err != nil {
		c.cmd = nil
		return fmt.Errorf("postgres: %w", err)
	}
	c.url = "postgres://postgres@/postgres?" + url.Values{"host": {c.dir}, "sslmode": {"disable"}}.Encode()
	db, err := sql.Open("pgx", c.url)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		if err = db.PingContext(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stop ends the server at once and removes its folder.
func (c *cluster) stop() {
	if c.cmd != nil {
		c.cmd.Process.Signal(immediate)
		c.cmd.Wait()
		c.cmd = nil
	}
	if c.dir != "" {
		os.RemoveAll(c.dir)
		c.dir = ""
	}
}
