package pgtest

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Server is a server of a test's own, whatever FSMGEN_POSTGRES_URL says, whose
// processes can be killed and stopped as a whole.
type Server struct {
	c   cluster
	bin string
}

// Start starts a server with these settings (name=value) besides those of the
// shared cluster. It is removed when the test ends.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s := &Server{c: cluster{settings: settings}}
	s.c.use(t)
	t.Cleanup(func() { _ = s.Resume() }) // a stopped process does not end
	var err error
	if s.bin, err = programs(); err != nil {
		t.Fatal(err)
	}
	return s
}

// DSN returns the server's address, for the driver "pgx".
func (s *Server) DSN() string { return s.c.url }

// Socket returns the Unix socket that the server listens on.
func (s *Server) Socket() string { return filepath.Join(s.c.dir, ".s.PGSQL.5432") }

// processes returns the server's processes, the first one first.
func (s *Server) processes() ([]int, error) {
	children, err := childrenOf(s.c.cmd.Process.Pid)
	return append([]int{s.c.cmd.Process.Pid}, children...), err
}

// childrenOf reads the processes whose parent is pid.
func childrenOf(pid int) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var children []int
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it ended meanwhile
		}
		head, rest, ok := strings.Cut(string(text), "(")
		end := strings.LastIndex(rest, ")")
		if !ok || end < 0 {
			continue
		}
		var state string
		var parent, child int
		if _, err := fmt.Sscan(rest[end+1:], &state, &parent); err != nil || parent != pid || state == "Z" {
			continue
		}
		if _, err := fmt.Sscan(head, &child); err == nil {
			children = append(children, child)
		}
	}
	return children, nil
}

func (s *Server) signal(sig syscall.Signal) error {
	all, err := s.processes()
	if err != nil {
		return err
	}
	for _, pid := range all {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal %d to process %d: %w", sig, pid, err)
		}
	}
	return nil
}

// CPU is the processor time that the server's processes have used, but for those
// that have ended. On a busy machine it says more than the time that passed.
func (s *Server) CPU() (time.Duration, error) {
	all, err := s.processes()
	var ticks int64
	for _, pid := range all {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		for _, i := range []int{11, 12} { // in user and in system mode, in hundredths of a second
			n, err := strconv.ParseInt(fields[i], 10, 64)
			if err != nil {
				return 0, err
			}
			ticks += n
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond, err
}

// Crash kills the youngest process, most likely a session, upon which the server
// ends every session and recovers from its log.
func (s *Server) Crash() error {
	for {
		children, err := childrenOf(s.c.cmd.Process.Pid)
		if err == nil && len(children) == 0 {
			err = errors.New("the server has no processes")
		}
		if err != nil {
			return err
		}
		if err := syscall.Kill(slices.Max(children), syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) {
			return err
		} // it has ended meanwhile, as those that vacuum do
	}
}

// Pause stops every process with SIGSTOP.
func (s *Server) Pause() error { return s.signal(syscall.SIGSTOP) }

// Resume lets stopped processes go on.
func (s *Server) Resume() error {
	if s.c.cmd == nil {
		return nil
	}
	return s.signal(syscall.SIGCONT)
}

// Kill kills every process with SIGKILL: what was not handed to the operating
// system is gone.
func (s *Server) Kill() error {
	if err := s.Pause(); err != nil { // so that none of them starts another meanwhile
		return err
	}
	all, err := s.processes()
	if err != nil {
		return err
	}
	if err := s.signal(syscall.SIGKILL); err != nil {
		return err
	}
	_ = s.c.cmd.Wait() // it was killed: that is its error
	s.c.cmd = nil
	for _, pid := range all[1:] { // a new server waits for nobody, but refuses to start beside them
		for n := 0; alive(pid); n++ {
			if n == 500 {
				return fmt.Errorf("process %d does not end", pid)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return nil
}

// alive says whether a process runs. One that has ended and that nobody waits for, as
// where the first process of a container adopts orphans and forgets them, does not.
func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	end := strings.LastIndexByte(string(text), ')')
	return !strings.HasPrefix(string(text[end+1:]), " Z")
}

// Restart starts a killed server on what it left, and waits until it answers.
func (s *Server) Restart() error {
	if err := s.c.launch(s.bin); err != nil {
		return fmt.Errorf("%w\n%s", err, s.c.log.Bytes())
	}
	return nil
}

// Standby starts a second server that follows s by streaming, and makes s wait
// for it at every commit. It is removed when the test ends.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	f := s.Follower(t)
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if err := run(s.c.url, statement); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// Follower starts a second server that follows s by streaming; s does not wait
// for it. It is removed when the test ends.
func (s *Server) Follower(t testing.TB) *Server {
	t.Helper()
	f := &Server{bin: s.bin, c: cluster{users: 1, settings: s.c.settings}}
	var err error
	if f.c.dir, err = os.MkdirTemp(folder(), "pgtest"); err == nil {
		err = give(f.c.dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.c.release)
	copying := exec.Command(filepath.Join(s.bin, "pg_basebackup"), "--pgdata", filepath.Join(f.c.dir, "data"), "--write-recovery-conf",
		"--checkpoint", "fast", "--no-sync", "--dbname", "host="+s.c.dir+" user=postgres application_name=follower")
	copying.Dir = f.c.dir
	unprivileged(copying)
	if out, err := copying.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	if err := f.c.launch(f.bin); err != nil {
		t.Fatalf("start the standby: %v\n%s", err, f.c.log.Bytes())
	}
	if err := f.receives(1); err != nil {
		t.Fatal(err)
	}
	return f
}

// CutOff makes a follower lose its primary, and waits until it receives nothing
// any more.
func (s *Server) CutOff() error {
	for _, statement := range []string{"ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()"} {
		if err := run(s.c.url, statement); err != nil {
			return err
		}
	}
	return s.receives(0)
}

// CaughtUp waits until a follower has received what its primary has written by
// now; the primary may go on writing.
func (s *Server) CaughtUp(primary *Server) error {
	from, err := sql.Open("pgx", primary.c.url)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := sql.Open("pgx", s.c.url)
	if err != nil {
		return err
	}
	defer to.Close()
	var written string
	if err := from.QueryRow("SELECT pg_current_wal_flush_lsn()::text").Scan(&written); err != nil {
		return err
	}
	for until := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		var received bool
		if err := to.QueryRow("SELECT coalesce(pg_last_wal_receive_lsn() >= $1::text::pg_lsn, false)", written).Scan(&received); err != nil {
			return err
		}
		if received {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("the follower has not received %s for a minute", written)
		}
	}
}

// receives waits until so many processes of the follower, 0 or 1, receive what
// its primary writes.
func (s *Server) receives(want int) error {
	db, err := sql.Open("pgx", s.c.url)
	if err != nil {
		return err
	}
	defer db.Close()
	for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		var have int
		const streaming = "SELECT count(*) FROM pg_stat_get_wal_receiver() WHERE status = 'streaming'"
		if err := db.QueryRow(streaming).Scan(&have); err != nil {
			return err
		}
		if have == want {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("%d processes of the follower receive from its primary for a minute now, expected %d", have, want)
		}
	}
}

// Promote makes a standby the primary; it waits for no follower of its own.
func (s *Server) Promote() error {
	for _, statement := range []string{"SELECT pg_promote()", "ALTER SYSTEM RESET ALL", "SELECT pg_reload_conf()"} {
		if err := run(s.c.url, statement); err != nil {
			return err
		}
	}
	return nil
}

// Either returns the address of both servers: whichever of them may be written.
func (s *Server) Either(other *Server) string {
	return fmt.Sprintf("host=%s,%s user=postgres dbname=postgres sslmode=disable target_session_attrs=read-write connect_timeout=2", s.c.dir, other.c.dir)
}
