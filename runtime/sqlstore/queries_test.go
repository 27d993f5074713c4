package sqlstore

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	"github.com/fsmgen/fsmgen/internal/live"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/spec"
)

// machineOf returns the schema of a specification.
func machineOf(t *testing.T, d Dialect, name string, text []byte) *driver.Schema {
	t.Helper()
	m, found := spec.Parse(name, text)
	if found.HasErrors() {
		t.Fatal(found)
	}
	s, err := live.Schema(m, d.Name(), "full")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wide has fields whose names are as long as may be, and differ at their ends.
func wide(t *testing.T, d Dialect) *driver.Schema {
	t.Helper()
	return machineOf(t, d, "wide.yaml", []byte(strings.ReplaceAll(`fsm: 1
machine: wide
entity: Wide
requests: {request_id: optional}
otherwise: reject
fields:
  FFab: optional string
  FFac: optional string
states:
  held: {}
  over: {terminal: true}
operations:
  make: {creates: held, set: {FFab: input or absent, FFac: input or absent}}
  end: {from: held, to: over}
unique:
  once: {fields: [FFab, FFac], in: [held], error: taken}
`, "FF", strings.Repeat("f", 61))))
}

// machines are one without effects, and one with all that stores treat in a way of its own.
func machines(t *testing.T, d Dialect) []*driver.Schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "specs", "lifecycle.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return []*driver.Schema{machineOf(t, d, "lifecycle.yaml", text), machineOf(t, d, "parcel.yaml", []byte(storetest.Spec)), wide(t, d)}
}

// What is sent for a machine is what the golden files show, for a reader to judge.
func TestTextsOfAMachine(t *testing.T) {
	t.Parallel()
	for _, d := range []Dialect{SQLite(), Postgres()} {
		s := machines(t, d)[0]
		list, err := Queries(d, s)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for i, q := range list {
			if i > 0 {
				b.WriteByte('\n')
			}
			if q.Comment == "" {
				t.Errorf("%s: nothing says what %s is for", d.Name(), q.Name)
			}
			first, rest, _ := strings.Cut(q.Text, " ")
			named := strings.HasPrefix(rest, "/* "+s.Machine+": "+q.Name+" */ ")
			if strings.Trim(first, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || named != d.server() {
				t.Errorf("%s: the name of %s does not stand behind the first word of its text:\n%s", d.Name(), q.Name, q.Text)
			}
			fmt.Fprintf(&b, "-- name: %s\n%s%s;\n", q.Name, q.Comment, q.Text)
		}
		path := filepath.Join("testdata", s.Machine+"."+d.Name()+".queries.sql")
		if *update {
			if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("%s: statements (-want +got; make them again with -update and look at them):\n%s", d.Name(), diff)
		}
	}
}

// all are these, those of the repository that programs use or that generators are tried on, and one whose sweeper waits for
// the times that each record has.
func all(t *testing.T, d Dialect) []*driver.Schema {
	t.Helper()
	list := append(machines(t, d), machineOf(t, d, "timed.yaml", []byte(`fsm: 1
machine: timed
entity: Timed
requests: {request_id: optional}
otherwise: reject
states:
  held: {}
  kept: {}
  over: {terminal: true}
operations:
  make: {creates: held}
  keep: {from: [held, kept], to: kept}
  lapse: {by: system, from: held, to: over, trigger: [after created_at + 1h]}
  end: {by: system, from: kept, to: over, trigger: [after updated_at + 1h]}
`)))
	for _, pattern := range []string{"specs/*.yaml", "examples/*/[a-z]*.yaml", "gen/testdata/scenarios/*.yaml", "internal/lab/fuzzmachines/testdata/festival.yaml"} {
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, machineOf(t, d, file, text))
		}
	}
	return list
}

// A server takes each statement, and knows its tables, columns and types.
func TestAServerPreparesEachQuery(t *testing.T) {
	t.Parallel()
	d := Postgres().(*postgres)
	for _, s := range all(t, d) {
		db, err := sql.Open("pgx", pgtest.DSN(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		if _, err := db.ExecContext(t.Context(), s.SQL["postgres"]); err != nil {
			t.Fatal(err)
		}
		list, err := Queries(d, s)
		if err != nil {
			t.Fatal(err)
		}
		makes := slices.IndexFunc(list, func(q Query) bool { return q.Name == "make_versions" })
		if _, err := db.ExecContext(t.Context(), list[makes].Text); err != nil { // a roll-out does
			t.Fatal(err)
		}
		for _, q := range list {
			stmt, err := db.PrepareContext(t.Context(), q.Text)
			if err != nil {
				t.Errorf("%s, %s: %v\n%s", s.Machine, q.Name, err, q.Text)
				continue
			}
			stmt.Close()
		}
	}
}

// Each query of a file is asked for by name, here or by another one, and has one caller's spelling.
func TestEachQueryHasACaller(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	asked := map[string]bool{}
	calls := regexp.MustCompile(`(?:\b(?:query|text|parked|finishText|inWindows)\("(\w+)"|"[^"\n]*\{([a-z]\w*)\}")`)
	for _, m := range calls.FindAllStringSubmatch(code.String(), -1) {
		asked[m[1]+m[2]] = true
	}
	for _, m := range regexp.MustCompile(`\binWindows\("\w+", "(\w+)"`).FindAllStringSubmatch(code.String(), -1) {
		asked[m[1]] = true
	}
	only := map[string]string{ // what one database needs, and the other one does not
		"create": "postgres", "create_many": "postgres", "some": "postgres", "log_lag": "postgres", "leave_notes": "postgres",
		"take": "postgres", "asks": "postgres", "leaves": "postgres", "one": "postgres",
		"many": "postgres", "many_unlocked": "postgres", "try_places": "postgres", "await_batches": "postgres",
		"lock_group": "postgres", "try_group": "postgres", "lock_places": "postgres", "try_to_lock_places": "postgres",
		"fresh": "sqlite", "again": "sqlite", "log_step": "sqlite", "leave": "sqlite", "leave_note": "sqlite", "wake_all": "sqlite",
	}
	known := map[string]bool{}
	for dialect, file := range queryFiles {
		list := file.texts
		for name := range asked {
			if list[name] == "" && (only[name] == "" || only[name] == dialect) {
				t.Errorf("%s: the file lacks the query %q", dialect, name)
			}
		}
		inner := map[string]bool{}
		for _, text := range list {
			for _, m := range regexp.MustCompile(`\{([a-z]\w*)\}`).FindAllStringSubmatch(text, -1) {
				inner[m[1]] = true
			}
		}
		for name := range list {
			if known[name] = true; !asked[name] && !inner[name] {
				t.Errorf("%s: nobody asks for %q", dialect, name)
			}
		}
	}
	for name := range asked {
		if !known[name] {
			t.Errorf("no file has the query %q", name)
		}
	}
}

// Words that begin with a capital are what a machine makes; a list that has the name of a query
// does not take its place.
func TestExpanded(t *testing.T) {
	t.Parallel()
	list := queriesOf("-- about\n-- name: row\n-- a comment\nSELECT {names} FROM {M}\n\n-- part: names\n\"id\",\n\"rev\"\n\n---------\n-- name: none\n{LIST}\n").texts
	if got, want := expanded(list, "row", map[string]string{"M": "\"{names}\""}, map[string]string{"names": "wrong"}), "SELECT \"id\",\n\"rev\" FROM \"{names}\""; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := expanded(list, "none", nil, map[string]string{"LIST": ""}); got != "" {
		t.Errorf("got %q", got)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("two queries of one name are taken together")
			}
		}()
		queriesOf("-- name: a\nA\n-- part: a\nB\n")
	}()
	for _, made := range []map[string]string{{"LIST": "{nothing}"}, {"LIST": "{NOTHING}"}, nil} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v: a word that nobody knows is passed over", made)
				}
			}()
			expanded(list, "none", nil, made)
		}()
	}
}

// parametersOf returns the numbers that SQLite gives the parameters of a text: a bare one that after the largest so far.
func parametersOf(text string) (list []int) {
	largest := 0
	for _, m := range regexp.MustCompile(`\?(\d*)`).FindAllStringSubmatch(text, -1) {
		n := largest + 1
		if m[1] != "" {
			n, _ = strconv.Atoi(m[1])
		}
		largest = max(largest, n)
		list = append(list, n)
	}
	return list
}

// A parameter without its number is still the same one.
func TestParametersKeepTheirNumbers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"?1 ?2 ?3", "?2 ?1 ?3", "?1 ?1 ?2 ?1 ?3", "?3 ?4 ?1", "?2 ?2", "?1 ?3 ?2 ?4 ?5", "x = '' AND ?10 = ?11", "",
	} {
		if diff := cmp.Diff(parametersOf(text), parametersOf(unnumbered(text))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	if got := unnumbered("?1 ?2 ?1 ?3 ?5"); got != "? ? ?1 ? ?5" {
		t.Errorf("got %s", got)
	}
	for _, s := range machines(t, SQLite()) {
		tab, err := newTable(&Store{dialect: SQLite()}, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range tab.writes.all {
			w := x.text()
			got := slices.Compact(slices.Sorted(slices.Values(parametersOf(w.text))))
			var want []int
			for i := range w.cells {
				want = append(want, i+1)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s has the parameters %v and %d values: %s", x.name, got, len(want), w.text)
			}
		}
	}
}

// What all writes of a batch lack is NULL in the place of an array.
func TestWhatABatchLacksIsNoArray(t *testing.T) {
	t.Parallel()
	tab := parcels(t, Postgres())
	send := func(id string) *driver.Write {
		return parcelStep(id, func(w *driver.Write) {
			w.Event.At, w.Event.Reason, w.Event.RequestID, w.Changed = w.Row.UpdatedAt, "", "", []int{4}
		})
	}
	mixed := send("c")
	mixed.Event.Reason, mixed.Changed = "late", []int{6}
	for name, c := range map[string]struct {
		writes []*driver.Write
		lack   []string
	}{
		"alike": {[]*driver.Write{send("a"), send("b")}, []string{"was", "occurred_at", "reason", "request_id", "request_n", "cause", "guard", "effects", "leave",
			"v_label", "v_lane", "v_slot", "v_holder", "v_fragile", "v_due", "v_note", "v_size", "v_tags", "v_moves"}},
		"mixed": {[]*driver.Write{send("a"), mixed}, []string{"was", "occurred_at", "request_id", "request_n", "cause", "guard", "effects", "leave",
			"v_label", "v_lane", "v_slot", "v_holder", "v_fragile", "v_note", "v_size", "v_tags", "v_moves"}},
	} {
		_, args := tab.writing(false, c.writes...)
		var lack []string
		for i, x := range tab.writes.moveMany().cells {
			if args[i+1] == nil {
				lack = append(lack, x.name)
			} else if strings.Count(args[i+1].(string), "NULL") == len(c.writes) {
				t.Errorf("%s: %s is %s", name, x.name, args[i+1])
			}
		}
		if diff := cmp.Diff(c.lack, lack); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// An operation has its text; a write that does more, or is of no operation, has the one for any.
func TestWhichTextAWriteHas(t *testing.T) {
	t.Parallel()
	holder, due, weight := 3, 6, 4
	write := func(operation, to string, changed ...int) *driver.Write {
		return parcelStep("a", func(w *driver.Write) {
			w.Event.Operation, w.Row.State, w.Event.To, w.Changed = operation, to, to, changed
		})
	}
	for _, d := range []Dialect{SQLite(), Postgres()} {
		tab := parcels(t, d)
		for name, c := range map[string]struct {
			w            *driver.Write
			file, server string
		}{
			"all that it may change":     {write("hold", "held", holder, due), "move hold", "move hold"},
			"some of it":                 {write("hold", "held", due), "move hold", "move hold"},
			"one that stays":             {write("weigh", "waiting", weight), "stay weigh", "move weigh"},
			"one that should have":       {write("weigh", "held", weight), "move", "move"},
			"one that should have left":  {write("hold", "waiting", due), "stay", "move hold"},
			"a column that it may not":   {write("hold", "held", weight), "move", "move"},
			"one of an unknown name":     {write("__redact", "waiting", weight), "stay", "move"},
			"one that may do both stays": {write("shelve", "waiting"), "stay shelve", "move shelve"},
		} {
			want, text := c.server, ""
			if !d.server() {
				want = c.file
				text, _ = tab.moving(c.w)
			} else {
				text, _ = tab.writing(false, c.w)
			}
			i := slices.IndexFunc(tab.writes.all, func(x namedText) bool { return x.name == want })
			if got := tab.writes.all[i].text().text; got != text {
				t.Errorf("%s, %s: got %s, want that of %s", d.Name(), name, text, want)
			}
		}
	}
}

// A record of more fields than a mask has bits keeps what a batch does not change.
func TestMoreColumnsThanAMask(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("fsm: 1\nmachine: wide\nentity: Wide\nrequests: {request_id: optional}\notherwise: reject\nfields:\n")
	const columns = 2*maskBits + 4
	for i := range columns {
		fmt.Fprintf(&text, "  f%d: optional string\n", i)
	}
	text.WriteString("states:\n  held: {}\n  over: {terminal: true}\noperations:\n  end:\n    from: held\n    to: over\n  make:\n    creates: held\n  go:\n    from: held\n    to: same\n    set: {")
	for i := range columns {
		fmt.Fprintf(&text, "f%d: input or absent, ", i)
	}
	text.WriteString("}\n")
	d := Postgres()
	s := machineOf(t, d, "wide.yaml", []byte(text.String()))
	db, err := sql.Open("pgx", pgtest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), s.SQL["postgres"]); err != nil {
		t.Fatal(err)
	}
	tab, err := newTable(&Store{dialect: d}, s)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	at := time.UnixMicro(1).UTC()
	write := func(id string, rev int64, changed ...int) *driver.Write {
		w := &driver.Write{Prev: driver.Ref{ID: id, Rev: rev}, PrevState: "held", Changed: changed,
			Row:   &driver.Row{ID: id, State: "held", Rev: rev + 1, CreatedAt: at, UpdatedAt: at, Values: make([]any, columns)},
			Event: driver.Event{ID: id, Rev: rev + 1, Operation: "go", Name: "go", From: "held", To: "held", At: at, RequestN: -1, Version: 1, Sum: 7}}
		if rev == 0 {
			w.PrevState, w.Event.From, w.Event.Operation, w.Event.Name = "", "", "make", "make"
			for i := range columns {
				w.Row.Values[i] = fmt.Sprint("old", i)
			}
		}
		for _, i := range changed {
			w.Row.Values[i] = fmt.Sprint("new", i)
		}
		return w
	}
	last := columns - 1
	for _, batch := range [][]*driver.Write{
		{write("a", 0), write("b", 0)},
		{write("a", 1, 0, maskBits-1, maskBits, last), write("b", 1, 1, 2*maskBits)},
	} {
		if wrote, err := tab.writeMany(t.Context(), &session{conn: conn}, batch, false); err != nil || len(wrote) != 2 {
			t.Fatalf("%v, %v", wrote, err)
		}
	}
	for id, changed := range map[string][]int{"a": {0, maskBits - 1, maskBits, last}, "b": {1, 2 * maskBits}} {
		for i := range columns {
			want := fmt.Sprint("old", i)
			if slices.Contains(changed, i) {
				want = fmt.Sprint("new", i)
			}
			var got string
			err := db.QueryRowContext(t.Context(), fmt.Sprintf(`SELECT coalesce(f%d, 'absent') FROM wide WHERE id = $1`, i), id).Scan(&got)
			if err != nil || got != want {
				t.Errorf("%s, f%d: %q, %v, want %q", id, i, got, err, want)
			}
		}
	}
}

// No name ends the comment that it stands in.
func TestNamesAreNoComments(t *testing.T) {
	t.Parallel()
	tab := parcels(t, Postgres())
	if got, want := tab.named("move a*/b/*c", "SELECT 1 + 1"), "SELECT /* parcel: move abc */ 1 + 1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
