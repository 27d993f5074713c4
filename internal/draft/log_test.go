package draft

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// simulator writes a log.
type simulator struct {
	rnd  *rand.Rand
	out  strings.Builder
	rows int
	odd  int // rows that were planted and are no move of the system
}

func (s *simulator) row(id int, at time.Time, from, to, who string) {
	s.rows++
	fmt.Fprintf(&s.out, "%d,%s,%s,%s,%s\n", id, at.Format("2006-01-02 15:04:05.000"), from, to, who)
}

func (s *simulator) some(most time.Duration) time.Duration {
	return time.Duration(s.rnd.Int64N(int64(most))) + time.Millisecond
}

// jobs writes the changes of jobs as River keeps them: workers run them, a failure waits for
// its next try, and a rescuer takes away what ran for an hour.
func (s *simulator) jobs(rows int) {
	s.out.WriteString("job_id,changed_at,from_state,to_state,worker\n")
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for id := 1; s.rows < rows; id++ {
		at = at.Add(s.some(4 * time.Second))
		now, state := at, "available"
		go1 := func(to, who string, after time.Duration) {
			now = now.Add(after)
			s.row(id, now, state, to, who)
			state = to
		}
		s.row(id, now, "", state, "client")
		for try := 1; ; try++ {
			worker := fmt.Sprint("worker-", s.rnd.IntN(8))
			go1("running", worker, s.some(time.Minute))
			switch n := s.rnd.IntN(100); {
			case n < 85:
				go1("completed", worker, s.some(10*time.Minute))
			case n < 90:
				go1("available", "rescuer", time.Hour+s.some(20*time.Second))
				continue
			case try == 4:
				go1("discarded", worker, s.some(10*time.Minute))
			default:
				go1("retryable", worker, s.some(10*time.Minute))
				go1("available", "scheduler", time.Duration(try*try)*16*time.Second)
				continue
			}
			break
		}
	}
}

// orders writes the changes of orders, with planted oddities.
func (s *simulator) orders(count int) {
	s.out.WriteString("order_id,at,old,new,who\n")
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for id := 1; id <= count; id++ {
		at = at.Add(s.some(time.Minute))
		now, state := at, ""
		step := func(to, who string) {
			now = now.Add(s.some(time.Hour))
			s.row(id, now, state, to, who)
			state = to
		}
		step("placed", "web")
		step("paid", "bank")
		switch id % 1000 {
		case 100: // somebody corrected the table by hand
			state = "placed"
			step("shipped", "root")
			s.odd++
		case 200: // an order from the past
			now = now.Add(-48 * time.Hour)
			step("shipped", "depot")
		case 300:
			if id%5000 != 300 {
				break
			}
			step("refunded", "desk")
			step("paid", "root") // it is an end otherwise
			continue
		}
		if id%20 == 0 {
			step("refunded", "desk")
			continue
		}
		if state != "shipped" {
			step("shipped", "depot")
		}
		step("delivered", "courier")
	}
}

func simulated(t *testing.T, s *simulator, name string) (*Draft, *spec.Machine, *Explained) {
	t.Helper()
	src := s.out.String()
	d := passes(t, src, Options{File: name + ".csv"})
	m, _ := validate.Source("x.yaml", d.Text)
	e, err := Explain(m, strings.NewReader(src), Options{File: name + ".csv"})
	if err != nil {
		t.Fatal(err)
	}
	if d.Rows != int64(s.rows) || e.Rows != d.Rows {
		t.Errorf("%d rows were read and %d explained, of %d", d.Rows, e.Rows, s.rows)
	}
	return d, m, e
}

func wants(t *testing.T, d *Draft, texts ...string) {
	t.Helper()
	for _, want := range texts {
		if !strings.Contains(string(d.Text), want) {
			t.Errorf("the draft has no %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", d.Text)
	}
}

func TestJobs(t *testing.T) {
	t.Parallel()
	s := &simulator{rnd: rand.New(rand.NewPCG(1, 2))}
	s.jobs(100_000)
	d, m, e := simulated(t, s, "jobs")
	if e.Explained != e.Rows {
		t.Errorf("%d of %d rows are explained: %v", e.Explained, e.Rows, e.Unexplained)
	}
	wants(t, d, "always after 1h: a lease", "trigger: [after running_until]", "require: [owner_only]", "creates: available")
	for _, end := range []string{"completed", "discarded"} {
		if s := m.State(end); s == nil || !s.Terminal {
			t.Errorf("%s is no end", end)
		}
	}
	if op := m.Operation("running_timeout"); op == nil || op.By != spec.BySystem || op.To.State.Name != "available" {
		t.Errorf("nothing takes the job away from a dead worker")
	}
	if s := m.State("running"); !slices.ContainsFunc(s.Present, func(r spec.FieldRef) bool { return r.Field.Name == "owner" }) {
		t.Errorf("a running job has no owner")
	}
}

func TestOrders(t *testing.T) {
	t.Parallel()
	s := &simulator{rnd: rand.New(rand.NewPCG(3, 4))}
	s.orders(20_000)
	d, m, e := simulated(t, s, "orders")
	if want := e.Rows - int64(s.odd); e.Explained != want {
		t.Errorf("%d of %d rows are explained, expected %d: %v", e.Explained, e.Rows, want, e.Unexplained)
	}
	if len(e.Unexplained) != 1 || e.Unexplained[0].Rule != "chain" || e.Unexplained[0].Count != 20 {
		t.Errorf("the corrections by hand are not told: %v", e.Unexplained)
	}
	wants(t, d, "20 rows whose old status is not the new one of the row before", "20 rows that are earlier than the row before",
		"refunded -> paid: 4 of", "placed -> shipped: 20 of")
	for _, odd := range []string{"refunded_to_paid", "placed_to_shipped"} {
		if op := m.Operation(odd); op == nil || op.By != spec.ByOperator {
			t.Errorf("%s is no operation of operators", odd)
		}
	}
	if s := m.State("refunded"); !s.Final || s.Terminal {
		t.Errorf("refunded is an end that is left")
	}
	if s := m.State("delivered"); !s.Terminal {
		t.Errorf("delivered is an end")
	}
}

// Headers as people name them, and files in which the columns cannot be told.
func TestColumns(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"id,at,from,to", "order_id;changed_at;old_status;new_status", "id\torder_id\ttimestamp\tprevious_state\tcurrent_state",
		"OrderID,ChangedAt,OldStatus,NewStatus", "uuid|ts|old|new"} {
		sep := header[strings.IndexAny(header, ",;\t|"):][:1]
		cells := map[string]int{}
		names := strings.Split(header, sep)
		found, err := columns(names, nil)
		if err != nil {
			t.Errorf("%s: %v", header, err)
			continue
		}
		for role, i := range found {
			cells[role] = i
		}
		if n := len(names); cells["to"] != n-1 || cells["from"] != n-2 || cells["at"] != n-3 || cells["id"] != n-4 {
			t.Errorf("%s: %v", header, cells)
		}
	}
	for header, want := range map[string]string{
		"a,b,c":           "no column says of which record a row speaks",
		"order_id,x,y":    "no column says the new status",
		"a_id,b_id,to,at": "no column says of which record",
	} {
		if _, err := columns(strings.Split(header, ","), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", header, err)
		}
	}
}

// A log of JSON lines has the draft of the same log as CSV.
func TestJSONL(t *testing.T) {
	t.Parallel()
	csv := "id,at,from,to\n1,2026-01-01T00:00:00Z,,new\n1,2026-01-01T00:01:00Z,new,paid\n"
	lines := `{"id":1,"at":"2026-01-01T00:00:00Z","to":"new"}` + "\n" + `{"id":1,"at":"2026-01-01T00:01:00Z","from":"new","to":"paid"}` + "\n"
	a, b := passes(t, csv, Options{File: "x.csv"}), passes(t, lines, Options{File: "x.jsonl"})
	cut := func(d *Draft) string {
		_, rest, _ := strings.Cut(string(d.Text), "fsm: 1")
		return strings.ReplaceAll(rest, "line 3", "line 2")
	}
	if cut(a) != cut(b) {
		t.Errorf("%s\n%s", a.Text, b.Text)
	}
}

// Broken files are told with their places.
func TestBroken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, src, want string
		line, col       int
	}{
		{"m.json", "{\n \"states\": {\n  \"a\": }", "this is no JSON", 3, 8},
		{"m.json", "{\n\"id\": \"x\"}", "the object has no states", 1, 1},
		{"m.scxml", "<scxml>\n<state id='a'>\n</scxml>", "this is no XML", 3, 0},
		{"m.scxml", "<scxml/>", "it has no states", 0, 0},
		{"m.mmd", "stateDiagram-v2\n a --> b\n a ->> b", "is not understood; expected a state", 3, 2},
		{"m.mmd", "stateDiagram-v2\n state a {\n b --> c", "is not closed", 3, 1},
		{"m.puml", "@startuml\nA --> B\n}\n@enduml", "nothing is open", 3, 1},
		{"m.puml", "@startuml\nA ~~ B\n@enduml", "is not understood", 2, 1},
		{"m.csv", "id,at,from,to\n1,yesterday,a,b", `"yesterday" is no time`, 2, 0},
		{"m.csv", "id,at,from,to\n", "there is no row", 1, 0},
		{"m.txt", "hello", "the format is not recognised", 0, 0},
		{"m.jsonl", "{\"id\":1,\"to\":\"a\"}\nno", "the line is no JSON object", 2, 1},
	} {
		_, err := From(strings.NewReader(c.src), Options{File: c.file})
		e, ok := err.(*Error)
		if !ok || !strings.Contains(e.Message, c.want) || c.line > 0 && e.Line != c.line || c.col > 0 && e.Col != c.col {
			t.Errorf("%s: %#v, expected %d:%d %s", c.src, err, c.line, c.col, c.want)
		}
	}
}
