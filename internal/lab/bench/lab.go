package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // for the databases of the sides

	"github.com/fsmgen/fsmgen/internal/lab/bench/child"
	"github.com/fsmgen/fsmgen/internal/lab/bench/measure"
	"github.com/fsmgen/fsmgen/internal/lab/bench/today"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
)

// lab is where the processes of a run live.
type lab struct {
	options
	dir    string
	then   string // the program over the earlier commit; empty: there is none
	dsn    string // of the server; empty: there is none
	server int    // the process that the server's processes are children of
	made   int    // databases
	ends   []func() error
}

// newLab starts the server and builds what is beside the code of now.
func newLab(ctx context.Context, o options) (l *lab, err error) {
	l = &lab{options: o}
	if l.dir, err = os.MkdirTemp(o.scratch, "fsmgen-bench"); err != nil {
		return nil, err
	}
	l.ends = []func() error{func() error { return os.RemoveAll(l.dir) }}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.end())
		}
	}()
	if o.scratch != "" { // the server's, too
		if err := os.Setenv("TMPDIR", o.scratch); err != nil {
			return l, err
		}
	}
	dsn, halt, err := pgtest.Boot("fsync=on", "synchronous_commit=on", "shared_buffers="+buffers(), "max_wal_size=4GB",
		"autovacuum=off")
	switch {
	case errors.Is(err, pgtest.ErrNoServer):
		fmt.Fprintln(os.Stderr, "bench: rows of PostgreSQL are left out:", err)
	case err != nil:
		return l, err
	default:
		l.ends = append(l.ends, func() error { halt(); return nil })
		l.dsn = dsn
		if l.server, err = postmaster(ctx, dsn); err != nil {
			return l, err
		}
	}
	root, err := filepath.Abs(o.root)
	if err == nil && !o.alone {
		var remove func() error
		if l.then, remove, err = today.Build(ctx, root, l.dir); err == nil {
			l.ends = append(l.ends, remove)
		}
	}
	if errors.Is(err, today.ErrNoCommit) {
		fmt.Fprintln(os.Stderr, "bench: rows beside", today.Commit, "are left out:", err)
		err = nil
	}
	return l, err
}

// end closes what was opened, the last first.
func (l *lab) end() (err error) {
	for i := range l.ends {
		err = errors.Join(err, l.ends[len(l.ends)-1-i]())
	}
	return err
}

// postmaster returns the parent of the process that answers.
func postmaster(ctx context.Context, dsn string) (int, error) {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	var pid int
	if err := db.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		return 0, err
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, nil // the server is elsewhere, or the system has no /proc
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strconv.Atoi(strings.Fields(rest)[1])
}

// busy returns the processor time of each process of the server.
func (l *lab) busy() map[string]int64 {
	times := map[string]int64{}
	list, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", l.server, l.server))
	for _, pid := range strings.Fields(string(list)) {
		stat, _ := os.ReadFile("/proc/" + pid + "/schedstat")
		if f := strings.Fields(string(stat)); len(f) > 0 {
			times[pid], _ = strconv.ParseInt(f[0], 10, 64)
		}
	}
	return times
}

// spent returns the server's processor time since then.
func (l *lab) spent(before map[string]int64) (d time.Duration) {
	for pid, now := range l.busy() {
		d += time.Duration(now - before[pid])
	}
	return d
}

// address returns a database that nobody has used.
func (l *lab) address(ctx context.Context, database string) (string, error) {
	l.made++
	name := fmt.Sprint("bench", l.made)
	if database == "sqlite" {
		return filepath.Join(l.dir, name+".db"), nil
	}
	db, err := sql.Open("pgx", l.dsn)
	if err != nil {
		return "", err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	u, err := url.Parse(l.dsn)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// process is a child that was started.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

func start(ctx context.Context, exe string, c child.Config) (*process, error) {
	config, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, exe, string(config))}
	p.cmd.Stderr = os.Stderr
	in, err1 := p.cmd.StdinPipe()
	out, err2 := p.cmd.StdoutPipe()
	if err := errors.Join(err1, err2, p.cmd.Start()); err != nil {
		return nil, err
	}
	p.in, p.out = in, json.NewDecoder(bufio.NewReader(out))
	if _, err := p.answer(); err != nil {
		return nil, fmt.Errorf("%s of %s does not begin: %w", c.Side, c.Machine, err)
	}
	return p, nil
}

func (p *process) ask(command string) error {
	_, err := io.WriteString(p.in, command+"\n")
	return err
}

func (p *process) answer() (a child.Answer, err error) {
	if err = p.out.Decode(&a); err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	return a, err
}

func (p *process) end() error { return errors.Join(p.in.Close(), p.cmd.Wait()) }

// side is one way of doing the work, by some processes over one database.
type side struct {
	name      string
	exe       string // empty: this program
	machine   string
	database  string
	processes int
	callers   int // of each process
	list      []*process
	rounds    []turn
	each      []int // steps of each caller, over all rounds
}

// turn is what a side did in one round.
type turn struct {
	rate           float64 // steps a second
	client, server float64 // microseconds of processor time, a step
}

func (t turn) both() float64 { return t.client + t.server }

// start starts the processes of a side, one after the other, over a new database.
func (l *lab) start(ctx context.Context, s *side) error {
	address, err := l.address(ctx, s.database)
	if err != nil {
		return err
	}
	return l.startAt(ctx, s, address)
}

func (l *lab) startAt(ctx context.Context, s *side, address string) error {
	exe := s.exe
	if exe == "" {
		own, err := os.Executable()
		if err != nil {
			return err
		}
		exe = own
	}
	for i := range s.processes {
		c := child.Config{Side: s.name, Machine: s.machine, Database: s.database, Address: address,
			Name: fmt.Sprint("p", i), Processes: s.processes, Callers: s.callers}
		p, err := start(ctx, exe, c)
		if err != nil {
			return err
		}
		s.list = append(s.list, p)
	}
	return nil
}

func (s *side) end() (err error) {
	for _, p := range s.list {
		err = errors.Join(err, p.end())
	}
	s.list = nil
	return err
}

// commanded tells all processes of a side the same and returns their answers.
func (s *side) commanded(command string) (answers []child.Answer, err error) {
	for _, p := range s.list {
		err = errors.Join(err, p.ask(command))
	}
	for _, p := range s.list {
		a, failed := p.answer()
		answers, err = append(answers, a), errors.Join(err, failed)
	}
	if err != nil {
		err = fmt.Errorf("%s of %s, %d processes: %w", s.name, s.machine, s.processes, err)
	}
	return answers, err
}

// compare lets the sides take turns; the order moves on by one with each round, and the
// first round warms up.
func (l *lab) compare(ctx context.Context, sides ...*side) (err error) {
	defer func() {
		for _, s := range sides {
			err = errors.Join(err, s.end())
		}
	}()
	for _, s := range sides {
		if err := l.start(ctx, s); err != nil {
			return err
		}
	}
	for round := -1; round < l.rounds; round++ {
		for k := range sides {
			s := sides[(k+round+1)%len(sides)]
			before, begun := l.busy(), time.Now()
			answers, err := s.commanded("turn " + l.turn.String())
			if err != nil {
				return err
			}
			took, server := time.Since(begun), l.spent(before)
			if round < 0 {
				continue
			}
			n, client, each := 0, time.Duration(0), []int{}
			for _, a := range answers {
				n, client, each = n+a.N, client+a.Processor, append(each, a.Each...)
			}
			if s.each == nil {
				s.each = make([]int, len(each))
			}
			for i := range each {
				s.each[i] += each[i]
			}
			s.note(n, took, client, server)
		}
	}
	return nil
}

// note adds a round.
func (s *side) note(n int, took, client, server time.Duration) {
	micro := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(max(n, 1)) }
	s.rounds = append(s.rounds, turn{float64(n) / took.Seconds(), micro(client), micro(server)})
}

// of returns the median over the rounds of a figure.
func (s *side) of(figure func(turn) float64) float64 {
	var all []float64
	for _, t := range s.rounds {
		all = append(all, figure(t))
	}
	return measure.Median(all)
}

// to returns the median over the rounds of the ratio to another side's figure of the same
// round.
func (s *side) to(other *side, figure func(turn) float64) float64 {
	var all []float64
	for i := range min(len(s.rounds), len(other.rounds)) {
		all = append(all, figure(s.rounds[i])/figure(other.rounds[i]))
	}
	return measure.Median(all)
}

func rate(t turn) float64 { return t.rate }

// share returns the steps of the caller who got the fewest, as a part of an equal share.
func (s *side) share() float64 {
	least, sum := s.each[0], 0
	for _, n := range s.each {
		least, sum = min(least, n), sum+n
	}
	return float64(least) * float64(len(s.each)) / float64(max(sum, 1))
}
