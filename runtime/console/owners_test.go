package console_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/console"
	"github.com/fsmgen/fsmgen/runtime/console/run"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// leased has jobs by their workers: so many of each, which end a minute after each other, from the clock on.
func leased(t *testing.T, now *time.Time, workers ...string) *lifecycle.Machine {
	t.Helper()
	store := inMemory(t)
	if err := lifecycle.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	m, err := lifecycle.Open(t.Context(), store, fsm.WithClock(func() time.Time { return *now }))
	if err != nil {
		t.Fatal(err)
	}
	for i, worker := range workers {
		id := fmt.Sprintf("job-%04d", i)
		if _, err := m.Enqueue(t.Context(), id, lifecycle.EnqueueInput{}, fsm.Call{RequestID: id}); err != nil {
			t.Fatal(err)
		}
		if worker == "" {
			continue
		}
		in := lifecycle.ClaimNextInput{Lease: now.Add(time.Duration(i+1) * time.Minute)}
		out, err := m.ClaimNext(t.Context(), in, fsm.Call{RequestID: "c" + id, Actor: worker})
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			if _, err := m.Start(t.Context(), out, fsm.Call{RequestID: "s" + id, Actor: worker}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return m
}

var tableRow = regexp.MustCompile(`(?s)<tbody>(.*?)</tbody>`)

// rowsOf returns the text of a table's rows.
func rowsOf(body string) (list []string) {
	found := tableRow.FindStringSubmatch(body)
	if found == nil {
		return nil
	}
	for tr := range strings.SplitSeq(found[1], "</tr>") {
		text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(tr, " ")
		if text = strings.Join(strings.Fields(text), " "); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// Who has records stands with how many, in which states, and when the first lease ends.
func TestOwners(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	m := leased(t, &now, "w2", "w1", "w1", `w"3&`, "w1", "w2")
	if _, err := m.Enqueue(t.Context(), "free", lifecycle.EnqueueInput{}, fsm.Call{RequestID: "free"}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2*time.Minute + time.Second)
	h := handler(t, console.Options{Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}})
	code, body := get(t, h, "/here/lifecycle/owners")
	want := []string{
		"w2 2 claimed 1 running 1 2026-03-04 05:01:00 UTC job-0000 1",
		"w1 3 claimed 2 running 1 2026-03-04 05:02:00 UTC job-0001 1",
		"w&#34;3&amp; 1 running 1 2026-03-04 05:04:00 UTC job-0003 0",
	}
	if got := rowsOf(body); code != http.StatusOK || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%d, the page has\n%s\nwant\n%s", code, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, link := range regexp.MustCompile(`<th scope="row"><a href="records\?([^"]*)"`).FindAllStringSubmatch(body, -1) {
		got := listedOf(t, h, "lifecycle", strings.ReplaceAll(link[1], "&amp;", "&"))
		if n := map[string]int{"w1": 3, "w2": 2, "w%": 1}[link[1][len("where=owner%3Aeq%3A"):][:2]]; len(got) != n {
			t.Errorf("%s leads to %q", link[1], got)
		}
		want = want[1:]
	}
	if len(want) != 0 {
		t.Errorf("%d owners have no link", len(want))
	}
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(body, "")
	if !strings.Contains(text, "Who has records in claimed, running, by the field owner,") {
		t.Error("the page does not say in which states it looked")
	}
	if strings.Contains(body, "there are more") {
		t.Error("the page says that there are more leases, and there are none")
	}
}

// Of many leases those that end first are shown, and the page says so.
func TestOwnersOfMany(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	workers := make([]string, 1100)
	for i := range workers {
		workers[i] = fmt.Sprint("w", i/1000)
	}
	h := handler(t, console.Options{Machines: []console.Machine{console.Of(console.Place{Name: "here"}, leased(t, &now, workers...))}})
	_, body := get(t, h, "/here/lifecycle/owners")
	got := rowsOf(body)
	if len(got) != 1 || !strings.HasPrefix(got[0], "w0 1 000 ") ||
		!strings.Contains(body, "1\u202f000 leases that end first; there are more") {
		t.Errorf("the page has %q", got)
	}
}

// A machine whose leases nothing but a guard ends has owners too, and one without owners says so.
func TestOwnersByAGuard(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	store := inMemory(t)
	if err := run.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	runs, err := run.Open(t.Context(), store, fsm.WithClock(func() time.Time { return now }))
	if err != nil {
		t.Fatal(err)
	}
	in := run.DraftInput{Run: "r", Pieces: 1, Place: "here", Target: "slip", Operation: "hit", Items: fsm.MustJSON(`[]`)}
	if _, err := runs.Draft(t.Context(), "piece", in, fsm.Call{RequestID: "1", Actor: "ann"}); err != nil {
		t.Fatal(err)
	}
	at := fsm.Ref{ID: "piece"}
	start := run.StartInput{Inputs: fsm.MustJSON(`{}`), Reason: "why"}
	if _, err := runs.Start(t.Context(), at, start, fsm.Call{RequestID: "2", Actor: "ann", Reason: "why"}); err != nil {
		t.Fatal(err)
	}
	take := run.TakeInput{Lease: now.Add(time.Minute)}
	if _, err := runs.Take(t.Context(), at, take, fsm.Call{RequestID: "3", Actor: "console-1"}); err != nil {
		t.Fatal(err)
	}
	here := console.Place{Name: "here"}
	h := handler(t, console.Options{Machines: []console.Machine{console.Of(here, runs), console.Of(here, slips(t, store, nil))}})
	_, body := get(t, h, "/here/console_run/owners")
	if got := fmt.Sprint(rowsOf(body)); got != "[console-1 1 working 1 2026-03-04 05:01:00 UTC piece 0]" {
		t.Errorf("the page has %s", got)
	}
	code, body := get(t, h, "/here/slip/owners")
	if code != http.StatusOK || !strings.Contains(body, "Nobody has records of this machine") || strings.Contains(body, ">Owners</a>") {
		t.Errorf("a machine without owners: %d %s", code, body)
	}
}

// What may not be shown of owners and leases is not shown.
func TestOwnersAreHidden(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	m := leased(t, &now, "secretone", "secrettwo", "secrettwo")
	for name, c := range map[string]struct {
		show map[string]console.Showing
		want string
	}{
		"owner hidden": {map[string]console.Showing{"owner": console.Hidden},
			"[hidden 3 claimed 2 running 1 2026-03-04 05:01:00 UTC job-0000 0]"},
		"owner short": {map[string]console.Showing{"owner": console.Short},
			"[secr… 1 claimed 1 2026-03-04 05:01:00 UTC job-0000 0 " +
				"secr… 2 claimed 1 running 1 2026-03-04 05:02:00 UTC job-0001 0]"},
		"leases hidden": {map[string]console.Showing{"lease": console.Short}, "[secrettwo 2 claimed 1 running 1 secretone 1 claimed 1]"},
	} {
		h := handler(t, console.Options{
			Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)},
			Show:     func(_, field string) console.Showing { return c.show[field] },
		})
		_, body := get(t, h, "/here/lifecycle/owners")
		if got := fmt.Sprint(rowsOf(body)); got != c.want {
			t.Errorf("%s: the page has %s, want %s", name, got, c.want)
		}
		if c.show["owner"] != console.Whole && (strings.Contains(body, "secrett") || strings.Contains(body, "where=owner")) {
			t.Errorf("%s: %s", name, body)
		}
		if c.show["lease"] != console.Whole && strings.Contains(body, "05:0") {
			t.Errorf("%s: %s", name, body)
		}
	}
}

// endless is a log that never ends in the time of a query.
type endless struct{ driver.Store }

type endlessTable struct{ driver.Table }

type endlessReader struct {
	driver.Reader
	ctx   context.Context
	asked *int
}

func (s endless) Table(schema *driver.Schema) (driver.Table, error) {
	t, err := s.Store.Table(schema)
	return endlessTable{t}, err
}

func (t endlessTable) View(ctx context.Context, f func(driver.Reader) error) error {
	return t.Table.View(ctx, func(r driver.Reader) error { return f(endlessReader{r, ctx, new(int)}) })
}

func (r endlessReader) Newest(before driver.Cursor, limit int) ([]driver.Entry, error) {
	list, err := r.Reader.Newest(before, limit)
	if limit < 100 || len(list) == 0 {
		return list, err
	}
	if *r.asked++; *r.asked > 1 {
		return nil, context.DeadlineExceeded
	}
	for len(list) < limit { // of no record
		list = append(list, driver.Entry{Event: driver.Event{ID: "?", Rev: 1}, Cursor: list[0].Cursor})
	}
	return list, err
}

// Where the time for a query is over, the page has the owners that were found by then, and says of which events they are.
func TestOwnersOfALongLog(t *testing.T) {
	t.Parallel()
	store := endless{inMemory(t)}
	if err := run.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	runs, err := run.Open(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	drafted(t, runs, "r", 1)
	start := run.StartInput{Inputs: fsm.MustJSON(`{}`), Reason: "why"}
	if _, err := runs.Start(t.Context(), fsm.Ref{ID: "r-0"}, start, fsm.Call{RequestID: "2", Actor: "ann", Reason: "why"}); err != nil {
		t.Fatal(err)
	}
	take := run.TakeInput{Lease: time.Now().Add(time.Hour)}
	if _, err := runs.Take(t.Context(), fsm.Ref{ID: "r-0"}, take, fsm.Call{RequestID: "3", Actor: "console-1"}); err != nil {
		t.Fatal(err)
	}
	h := handler(t, console.Options{Machines: []console.Machine{console.Of(console.Place{Name: "here"}, runs)}})
	code, body := get(t, h, "/here/console_run/owners")
	if got := rowsOf(body); code != http.StatusOK || len(got) != 1 || !strings.Contains(body, "These are of the newest 500 events") {
		t.Errorf("%d, the page has %q", code, got)
	}
}
