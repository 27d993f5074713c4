package docs

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/lab/outside"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/validate"
)

// TestAdopt does what docs/adopt.md says, over 20 000 orders with planted oddities, on both databases.
//
//	yaml FILE  is written into the folder; order.yaml has no findings
//	go FILE    stands word for word in testdata/adopt, which is the command shop
//	sh         runs with the database at $DB
//	sql        runs in the database
func TestAdopt(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module of its own")
	}
	needShell(t)
	t.Parallel()
	module := outside.New(t, "example.com/shop")
	for _, name := range []string{"main.go", "old.go"} {
		module.Write(name, []byte(read(t, "internal/lab/docs/testdata/adopt/"+name)))
	}
	spec := pageBlock.FindStringSubmatch(read(t, "docs/adopt.md"))
	m, found := validate.Source("order.yaml", []byte(spec[2]))
	if spec[1] != "yaml order.yaml" || len(found) > 0 {
		t.Fatalf("the first block is %s, with findings: %v", spec[1], found)
	}
	files, err := gen.Generate(m, gen.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		module.Write("order/"+f.Name, f.Data)
	}
	module.Run("go", "build", "-ldflags=-s -w", "-o", "shop", ".")
	t.Run("sqlite", func(t *testing.T) { adopts(t, module, "sqlite", "shop.db") })
	t.Run("postgres", func(t *testing.T) { adopts(t, module, "pgx", pgtest.DSN(t)) })
}

// shownAt matches how fsmctl names the database.
var shownAt = regexp.MustCompile(`(?m)^(shop\.db|the database "[^"]*" at [^ ]*:\d+):`)

// unsafe matches what our throw-away server is warned of.
var unsafe = regexp.MustCompile(`(?m)^.*WARN the PostgreSQL server may lose .*\n`)

func adopts(t *testing.T, module outside.Module, driver, address string) {
	p := &page{t: t, dir: t.TempDir()}
	at := address
	if driver == "sqlite" {
		at = "file:" + strings.ReplaceAll(filepath.Join(p.dir, address), " ", "%20") + "?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, at)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(text string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), text, args...); err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
	}
	planted := plant(exec, driver)
	sh := func(body string) *string {
		cmd := p.command(body)
		cmd.Env = append(cmd.Env, "DB="+address, "PATH="+module.Dir+string(os.PathListSeparator)+pathOf(cmd.Env))
		out, err := cmd.CombinedOutput()
		text := unsafe.ReplaceAllString(string(out), "")
		if code := cmd.ProcessState.ExitCode(); err != nil && (code != 1 || !strings.Contains(body, "fsmctl audit")) {
			t.Errorf("%s\n%v\n%s", body, err, text)
		}
		return &text
	}
	first := true
	p.blocks("adopt.md", func(kind, arg, body string) *string {
		switch kind {
		case "yaml":
			p.write(arg, body)
		case "go":
			if source := undented(read(t, "internal/lab/docs/testdata/adopt/"+arg)); !strings.Contains(source, undented(body)) {
				t.Errorf("testdata/adopt/%s, which is run, does not hold this block:\n%s", arg, body)
			}
		case "sh":
			if first {
				first = false
				planted.check(t, *sh(`fsmctl audit --db "$DB" --mapping orders.mapping.yaml --json order.yaml`))
			}
			return sh(body)
		case "sql":
			exec(body)
		default:
			return p.check(kind, arg, body)
		}
		return nil
	}, func(text string) string { return shownAt.ReplaceAllString(text, "shop.db:") })
}

func pathOf(env []string) string {
	path := ""
	for _, e := range env {
		if p, ok := strings.CutPrefix(e, "PATH="); ok {
			path = p
		}
	}
	return path
}

// oddities counts what was planted, by check and rule.
type oddities map[string]int

// check holds what an audit found to what was planted: each under its rule, and nothing else.
func (o oddities) check(t *testing.T, report string) {
	t.Helper()
	var got struct {
		Records, Moves int
		Findings       []struct {
			Check, Rule string
			Count       int
		}
	}
	if err := json.Unmarshal([]byte(report), &got); err != nil {
		t.Fatalf("%v\n%s", err, report)
	}
	found := oddities{"records": got.Records, "moves": got.Moves}
	for _, f := range got.Findings {
		found[f.Check+" "+f.Rule] = f.Count
	}
	if d := cmp.Diff(o, found); d != "" {
		t.Errorf("planted and found (-want +got):\n%s", d)
	}
}

// plant makes the old table with its history, and returns what it planted.
func plant(exec func(string, ...any), driver string) oddities {
	serial := map[string]string{"sqlite": "integer PRIMARY KEY", "pgx": "bigserial PRIMARY KEY"}[driver]
	exec(`CREATE TABLE old_orders (id bigint PRIMARY KEY, status text, customer text, total numeric, coupon text, created timestamp)`)
	exec(`CREATE TABLE order_history (n ` + serial + `, order_id bigint, old text, new text, at timestamp, who text)`)
	s := &seed{rnd: rand.New(rand.NewSource(1)), found: oddities{"records": 20000}} //nolint:gosec // the same orders in each run
	for id := 1; id <= s.found["records"]; id++ {
		s.order(id)
	}
	for id := 20001; id <= 20007; id++ {
		s.step(id, "NULL", "'NEW'", time.Date(2019, 3, 10, 10, 0, 0, 0, time.UTC))
		s.found["history the history belongs to no record"]++
	}
	for part := range slices.Chunk(s.rows, 500) {
		exec("INSERT INTO old_orders VALUES " + strings.Join(part, ", "))
	}
	for part := range slices.Chunk(s.moves, 500) {
		exec("INSERT INTO order_history (order_id, old, new, at, who) VALUES " + strings.Join(part, ", "))
	}
	s.found["moves"] = len(s.moves)
	return s.found
}

// seed makes orders.
type seed struct {
	rnd         *rand.Rand
	rows, moves []string
	found       oddities
	spring      int // orders that hold the place of the coupon SPRING
}

var course = []string{"NEW", "PAID", "PACKED", "SHIPPED", "DONE"}

// order makes one order. Of forty some are odd, each in one way.
func (s *seed) order(id int) {
	k := s.rnd.Intn(6)
	steps := course[:min(k, 4)+1]
	if k == 5 {
		steps = []string{"NEW", "CANCELLED"}
	}
	word := steps[len(steps)-1]
	status, customer, total := "'"+word+"'", fmt.Sprintf("'c%d'", id%700), fmt.Sprintf("%d.%02d", 1+s.rnd.Intn(999), s.rnd.Intn(100))
	coupon, at := "NULL", time.Date(2019, 3, id%9+1, 10, 0, 0, 0, time.UTC)
	created := "'" + at.Format(time.DateTime) + "'"
	sound, odd := true, s.rnd.Intn(1000)
	if odd < 300 && odd >= 100 {
		coupon = fmt.Sprintf("'C%d'", id)
	}
	rule := func(name string) {
		s.found[name]++
		sound = false
	}
	switch {
	case odd < 10:
		status = strings.ToLower(status)
		rule(`state "` + strings.ToLower(word) + `" is no word of the mapping`)
	case odd < 14:
		status = "'ON HOLD'"
		rule(`state "ON HOLD" is no word of the mapping`)
	case odd < 17:
		status = "NULL"
		rule("state NULL is no word of the mapping")
	case odd < 20:
		status = "'" + word + " '"
		rule(`state "` + word + ` " is no word of the mapping`)
	case odd < 24:
		customer = "NULL"
		rule("rule customer is present")
	case odd < 28:
		total = []string{"0.00", "-5.00"}[id%2]
		rule("rule total is in its bounds")
	case odd < 30:
		total = "12.345"
		rule("field total: times 100 it is no whole number")
	case odd < 35:
		coupon = "'SPRING'"
		if word != "CANCELLED" {
			if s.spring++; s.spring > 1 {
				s.found["unique one_coupon"]++
			}
		}
	case odd < 38:
		created = "NULL"
		s.found["field created_at would be the time of the import"]++
		if k < 4 {
			rule("rule placed_at is present")
		}
	}
	s.rows = append(s.rows, fmt.Sprintf("(%d, %s, %s, %s, %s, %s)", id, status, customer, total, coupon, created))
	if word == "NEW" && sound && created != "NULL" {
		s.found["due the first sweep would run expire"]++
	}
	s.history(id, steps, at, odd)
}

// history makes the moves of an order. Those that are odd are of orders that are not.
func (s *seed) history(id int, steps []string, at time.Time, odd int) {
	from := "NULL"
	for i, word := range steps {
		at = at.Add(time.Hour)
		to := "'" + word + "'"
		last := i == len(steps)-1
		switch {
		case odd == 990 && i == 2 && !last: // a step is missing
			s.found["history a move begins elsewhere than the one before it ended"]++
		case odd == 991 && last && i > 0: // the last one is
			s.found["history the history ends elsewhere than its record"]++
		case odd == 992 && last && i > 1: // somebody went back by hand, and on
			s.step(id, from, "'NEW'", at)
			s.step(id, "'NEW'", to, at)
			s.found["move no operation makes "+stateOf(from)+" -> placed"]++
			if steps[i] != "PAID" && steps[i] != "CANCELLED" {
				s.found["move no operation makes placed -> "+stateOf(to)]++
			}
		case odd == 993 && i > 0 && last: // there is none
			s.moves = s.moves[:len(s.moves)-i]
			s.found["history the record has moved and has no history"]++
		default:
			s.step(id, from, to, at)
		}
		from = to
	}
}

func (s *seed) step(id int, from, to string, at time.Time) {
	who := []string{"web", "sql", "bob"}[s.rnd.Intn(3)]
	s.moves = append(s.moves, fmt.Sprintf("(%d, %s, %s, '%s', '%s')", id, from, to, at.Format(time.DateTime), who))
}

// stateOf is the state of a word in quotes.
func stateOf(word string) string {
	states := map[string]string{
		"NEW": "placed", "PAID": "paid", "PACKED": "packed", "SHIPPED": "shipped", "DONE": "delivered", "CANCELLED": "cancelled",
	}
	return states[strings.Trim(word, "'")]
}
