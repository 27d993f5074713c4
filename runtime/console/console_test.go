package console_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/console"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// nothing is an effect that does nothing.
func nothing(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error { return nil }

// parcels opens the suite's machine in memory.
func parcels(t *testing.T) *fsm.Machine[storetest.Parcel] {
	t.Helper()
	store := memstore.New()
	t.Cleanup(func() { _ = store.Close() })
	schema := storetest.Schema()
	if err := fsmimpl.Migrate(t.Context(), store, schema); err != nil {
		t.Fatal(err)
	}
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(schema),
		map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": nothing, "carry": nothing, "notify": nothing})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// stock makes a parcel, and holds it by somebody unless that is empty.
func stock(t *testing.T, m *fsm.Machine[storetest.Parcel], id, lane, by, reason string) {
	t.Helper()
	out, err := m.Create(t.Context(), storetest.Register(storetest.Meta{}, storetest.RegisterInput{ID: id, Lane: lane}))
	if err == nil && by != "" {
		_, err = m.Apply(t.Context(), out, storetest.Hold(storetest.Meta{Actor: by, Reason: reason}, lane+id, time.Now().Add(time.Hour)))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func handler(t *testing.T, o console.Options) *console.Handler {
	t.Helper()
	if o.Who == nil {
		o.Who = func(*http.Request) (console.Viewer, error) { return console.Reader("ann"), nil }
	}
	h, err := console.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func get(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // a page of changes has no end
	defer cancel()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

var idLink = regexp.MustCompile(`<th scope="row"><a href="record\?id=([^"]*)">`)

// listed returns the ids of a list, page after page.
func listed(t *testing.T, h http.Handler, query string) (ids []string) {
	t.Helper()
	return listedOf(t, h, "parcel", query)
}

// listedOf is listed for another machine.
func listedOf(t *testing.T, h http.Handler, machine, query string) (ids []string) {
	t.Helper()
	for pages := 0; pages < 100; pages++ {
		code, body := get(t, h, "/here/"+machine+"/records?"+query)
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", query, code, body)
		}
		for _, found := range idLink.FindAllStringSubmatch(body, -1) {
			id, err := url.QueryUnescape(html.UnescapeString(found[1]))
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		next := regexp.MustCompile(`<a class="next" href="records\?([^"]*)">`).FindStringSubmatch(body)
		if next == nil {
			return ids
		}
		query = html.UnescapeString(next[1])
	}
	t.Fatalf("the list has no end: %s, %d ids, %q", query, len(ids), ids[:3])
	return nil
}

// A list holds the records that fit, the one that moved last first, over all pages.
func TestLists(t *testing.T) {
	t.Parallel()
	m := parcels(t)
	h := handler(t, console.Options{Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}})
	var all, held, ben []string
	for i := range 120 {
		id, by := fmt.Sprintf("p%03d", i), ""
		switch i % 3 {
		case 0:
			by = "ben"
			ben = append([]string{id}, ben...)
		case 1:
			by = "ann"
		}
		stock(t, m, id, fmt.Sprint("l", i%7), by, "")
		if all = append([]string{id}, all...); by != "" {
			held = append([]string{id}, held...)
		}
		time.Sleep(2 * time.Microsecond) // no two steps have one time
	}
	lane := func(list []string, n int) (some []string) {
		for _, id := range list {
			var i int
			if _, err := fmt.Sscanf(id, "p%d", &i); err == nil && i%7 == n {
				some = append(some, id)
			}
		}
		return some
	}
	byID := slices.Sorted(slices.Values(all))
	for query, want := range map[string][]string{
		"":                                  all,
		"order=id":                          byID,
		"state=held":                        held,
		"state=held&state=waiting":          all,
		"state=held&order=id":               slices.Sorted(slices.Values(held)),
		"actor=ben":                         ben,
		"actor=ben&where=lane:eq:l3":        lane(ben, 3),
		"where=lane:eq:l2&state=held":       lane(held, 2),
		"field=lane&op=eq&value=l2":         lane(all, 2),
		"where=lane:ge:l5&where=lane:le:l5": lane(all, 5),
		"find=p007":                         {"p007"},
		"find=p00":                          byID[:10],
		"find=nothing":                      nil,
		"since=2999-01-01":                  nil,
		"until=2999-01-01&actor=ben":        ben,
		"since=2000-01-01T10:00&state=held": held,
	} {
		if got := listed(t, h, query); !slices.Equal(got, want) {
			t.Errorf("%s: got %d %q\nwant %d %q", query, len(got), got, len(want), want)
		}
	}
	for _, query := range []string{"state=none", "where=none:eq:1", "where=lane:is:1", "where=weight:eq:x", "label=x", "since=soon", "where=tags:eq:x", "order=id&actor=ben", "find=%00", "actor=%ff"} {
		if code, body := get(t, h, "/here/parcel/records?"+query); code != http.StatusBadRequest || !strings.Contains(body, `class="notice bad"`) {
			t.Errorf("%s is answered %d", query, code)
		}
	}
}

// What others wrote is text on every page, and nothing else.
func TestHostileValues(t *testing.T) {
	t.Parallel()
	m := parcels(t)
	evil := `"><script>alert(1)</script><img src=x onerror=alert(2)>` + "\u202e'%00{{.}}"
	stock(t, m, evil, evil, evil, evil)
	h := handler(t, console.Options{Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}})
	at := url.QueryEscape(evil)
	for _, path := range []string{
		"", "records", "records?find=" + at, "records?actor=" + at, "records?where=lane:eq:" + at, "records?label=" + at, "record?id=" + at,
		"record?rev=1&id=" + at, "record?rev=" + at + "&id=" + at, "log", "log?before=" + at, "late", "outbox", "times", "records?after=" + at, "record?id=x" + at,
	} {
		_, body := get(t, h, "/here/parcel/"+path)
		if strings.Contains(body, "<script>alert") || strings.Contains(body, "<img") {
			t.Errorf("%s: %s", path, body)
		}
	}
}

// A link leads to its record, whatever the id is.
func TestLinksToRecords(t *testing.T) {
	t.Parallel()
	m := parcels(t)
	h := handler(t, console.Options{Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}})
	ids := []string{"order:1", "a&b", "a+b", "a b", "a%41", "ü/x", "x?y#z", `"q"`, "a=b;c"}
	for _, id := range ids {
		stock(t, m, id, id, "ann", "")
	}
	link := regexp.MustCompile(`href="(record\?[^"]*)"`)
	for _, page := range []string{"", "records", "log"} {
		_, body := get(t, h, "/here/parcel/"+page)
		seen := map[string]bool{}
		for _, found := range link.FindAllStringSubmatch(body, -1) {
			code, to := get(t, h, "/here/parcel/"+html.UnescapeString(found[1]))
			title := regexp.MustCompile(`<h1>Parcel ([^<]*)</h1>`).FindStringSubmatch(to)
			if code != http.StatusOK || title == nil {
				t.Errorf("%s: %s is answered %d", page, found[1], code)
				continue
			}
			seen[html.UnescapeString(title[1])] = true
			if page == "records" { // and on from there
				for _, rev := range regexp.MustCompile(`href="(record\?id=[^"]*rev=1)"`).FindAllStringSubmatch(to, -1) {
					if _, first := get(t, h, "/here/parcel/"+html.UnescapeString(rev[1])); !strings.Contains(first, title[0]) || !strings.Contains(first, "This is revision 1") {
						t.Errorf("%s leads elsewhere", rev[1])
					}
				}
			}
		}
		for _, id := range ids {
			if !seen[id] && page == "records" {
				t.Errorf("%s has no link to %q", page, id)
			}
		}
	}
}

// A value that is not to be shown is on no page, and cannot be searched for.
func TestHiddenValues(t *testing.T) {
	t.Parallel()
	m := parcels(t)
	stock(t, m, "p1", "secretlane", "secretactor", "secretreason")
	h := handler(t, console.Options{
		Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)},
		Show: func(_, name string) console.Showing {
			switch name {
			case console.ReasonOf, "token", "id":
				return console.Hidden
			case "lane", "holder", "key", "slot", "label", console.ActorOf:
				return console.Short
			}
			return console.Whole
		},
	})
	for _, path := range []string{"", "records", "record?id=p1", "record?id=p1&rev=1", "record?id=p1&rev=2", "log", "late", "outbox", "times", "audit?run=1"} {
		code, body := get(t, h, "/here/parcel/"+path)
		if code != http.StatusOK {
			t.Errorf("%s: %d", path, code)
		}
		for _, secret := range []string{"secretlane", "secretactor", "secretreason"} {
			if strings.Contains(body, secret) {
				t.Errorf("%s shows %s", path, secret)
			}
		}
	}
	for _, query := range []string{"where=lane:eq:secretlane", "actor=secretactor", "field=lane&op=present"} {
		if code, body := get(t, h, "/here/parcel/records?"+query); code != http.StatusBadRequest || strings.Contains(body, "p1") {
			t.Errorf("%s is answered %d", query, code)
		}
	}
}

// A record's page shows it at each revision as its log has it, and its operations by what leads from its state.
func TestRecordPage(t *testing.T) {
	t.Parallel()
	m := parcels(t)
	stock(t, m, "p1", "a", "ben", "to look at it")
	h := handler(t, console.Options{
		Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)},
		Links:    []console.Link{{Text: "Traces", URL: "https://traces.example/?q={id}&m={machine}"}},
	})
	_, now := get(t, h, "/here/parcel/record?id=p1")
	_, first := get(t, h, "/here/parcel/record?id=p1&rev=1")
	for text, in := range map[string]string{
		"to look at it": now, "revision 2": now, "https://traces.example/?q=p1&amp;m=parcel": now, "What can be done": now, "This is revision 1, of 2": first,
	} {
		if !strings.Contains(in, text) {
			t.Errorf("the page lacks %q:\n%s", text, in)
		}
	}
	state := regexp.MustCompile(`<p class="now"><span class="badge[^"]*">([^<]*)</span>`)
	if a, b := state.FindStringSubmatch(now), state.FindStringSubmatch(first); a == nil || b == nil || a[1] != "held" || b[1] != "waiting" {
		t.Errorf("the states are %q and %q, want held and waiting", a, b)
	}
	for path, want := range map[string]int{"record?id=none": 404, "record": 400, "record?id=p1&rev=9": 404, "record?id=p1&rev=x": 400} {
		if code, _ := get(t, h, "/here/parcel/"+path); code != want {
			t.Errorf("%s is answered %d, want %d", path, code, want)
		}
	}
}

// A console without somebody who says who asks is not made, nor one whose addresses are not one each.
func TestNew(t *testing.T) {
	t.Parallel()
	m := parcels(t)
	who := func(*http.Request) (console.Viewer, error) { return console.Reader("ann"), nil }
	of := func(name, colour string) console.Machine {
		return console.Of(console.Place{Name: name, Colour: colour}, m)
	}
	for want, o := range map[string]console.Options{
		"Options.Who is missing":     {Machines: []console.Machine{of("here", "")}},
		"cannot stand in an address": {Who: who, Machines: []console.Machine{of("a:b%", "")}},
		"the colour":                 {Who: who, Machines: []console.Machine{of("here", "red;x")}},
		"stands twice":               {Who: who, Machines: []console.Machine{of("here", ""), of("here", "")}},
	} {
		if _, err := console.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Below a prefix all that a page asks for is below it too.
func TestPrefix(t *testing.T) {
	t.Parallel()
	m := parcels(t)
	stock(t, m, "p1", "a", "", "")
	mux := http.NewServeMux()
	mux.Handle("/ops/console/", http.StripPrefix("/ops/console", handler(t, console.Options{Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}})))
	seen, todo := map[string]bool{}, []string{"/ops/console/"}
	link := regexp.MustCompile(`(?:href|src|action|data-changes)="([^"#]*)`)
	for len(todo) > 0 {
		at := todo[0]
		if todo = todo[1:]; seen[at] || len(seen) > 60 {
			continue
		}
		seen[at] = true
		code, body := get(t, mux, at)
		if code != http.StatusOK {
			t.Errorf("%s is answered %d", at, code)
		}
		base, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(body, -1) {
			to, err := base.Parse(html.UnescapeString(found[1]))
			if err != nil || to.Host != "" || !strings.HasPrefix(to.Path, "/ops/console/") {
				t.Errorf("%s leads to %s, %v", at, to, err)
				continue
			}
			if !strings.HasSuffix(to.Path, "/changes") {
				todo = append(todo, to.RequestURI())
			}
		}
	}
	for path, want := range map[string]string{"/ops/console/here/parcel": "parcel/", "/ops/console/here//parcel/": "", "/ops/console/here/../x": ""} {
		w := httptest.NewRecorder()
		http.StripPrefix("/ops/console", handler(t, console.Options{Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}})).
			ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if got := w.Header().Get("Location"); got != want {
			t.Errorf("%s leads to %q, want %q", path, got, want)
		}
	}
	if len(seen) < 12 {
		t.Errorf("only %d pages were found", len(seen))
	}
}

// A clock that is wrong, and a log whose record is gone, are told and no error.
func TestPurgedRecord(t *testing.T) {
	t.Parallel()
	m := parcels(t)
	stock(t, m, "p1", "a", "", "")
	e := m.Engine()
	if err := e.Table.Update(t.Context(), func(tx driver.Tx) error {
		row, err := tx.Row("p1")
		if err != nil {
			return err
		}
		_, err = tx.Purge(&driver.Write{Prev: row.Ref(), PrevState: row.State, Event: driver.Event{
			ID: "p1", Rev: row.Rev, Operation: driver.OpPurge, Name: driver.OpPurge, From: row.State, To: row.State, At: time.Now(), RequestN: -1,
		}})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	h := handler(t, console.Options{Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}})
	code, body := get(t, h, "/here/parcel/record?id=p1")
	if code != http.StatusOK || !strings.Contains(body, "The record is gone") {
		t.Errorf("%d %s", code, body)
	}
	if got := listed(t, h, ""); len(got) != 0 {
		t.Errorf("the list has %q", got)
	}
}

// An open page is told what has become of the log since it was made, also after a connection that was lost.
func TestChanges(t *testing.T) {
	t.Parallel()
	m := parcels(t)
	stock(t, m, "p1", "a", "", "")
	h := handler(t, console.Options{Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}})
	mark := func() string {
		_, body := get(t, h, "/here/parcel/records")
		found := regexp.MustCompile(`data-changes="[^"]*(/changes\?after=[^"]*)"`).FindStringSubmatch(body)
		if found == nil {
			t.Fatal("the page has no mark")
		}
		return html.UnescapeString(found[1])
	}
	first := mark()
	if _, said := get(t, h, "/here/parcel"+first); !strings.Contains(said, "event: here") || strings.Contains(said, "changed") {
		t.Errorf("of a page that is as it was: %q", said)
	}
	stock(t, m, "p2", "a", "", "")
	if _, said := get(t, h, "/here/parcel"+first); !strings.Contains(said, "event: changed") || strings.Contains(said, "here") {
		t.Errorf("of a page that is old: %q", said)
	}
	if mark() == first {
		t.Error("the mark is as it was")
	}
}

// Who audits by a page, and leaves, changes nothing of what the program tells of itself.
func TestAuditIsApart(t *testing.T) {
	t.Parallel()
	m := parcels(t)
	stock(t, m, "p1", "a", "", "")
	before := audit.HealthOf(m)
	h := handler(t, console.Options{Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/here/parcel/audit?run=1", nil))
	if code, body := get(t, h, "/here/parcel/audit?run=1"); code != http.StatusOK || !strings.Contains(body, "0 findings") {
		t.Errorf("%d %s", code, body)
	}
	if after := audit.HealthOf(m); after.Err != nil || after.Full != before.Full || !after.Began.Equal(before.Began) {
		t.Errorf("the health is %+v, want %+v", after, before)
	}
}

// What a program says of a trigger's length is what the page of those that are late goes by.
func TestLateByTheProgramsLength(t *testing.T) {
	t.Parallel()
	for length, want := range map[time.Duration]string{0: "p1", 3 * time.Hour: "None is late"} {
		store, schema := memstore.New(), storetest.Schema()
		if err := fsmimpl.Migrate(t.Context(), store, schema); err != nil {
			t.Fatal(err)
		}
		m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(schema),
			map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": nothing, "carry": nothing, "notify": nothing}, fsm.WithTrigger("release", length))
		if err != nil {
			t.Fatal(err)
		}
		stock(t, m, "p1", "a", "", "")
		if _, err := m.Apply(t.Context(), fsm.Ref{ID: "p1"}, storetest.Hold(storetest.Meta{Actor: "ben"}, "k", time.Now().Add(-time.Hour))); err != nil {
			t.Fatal(err)
		}
		h := handler(t, console.Options{Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}})
		if _, body := get(t, h, "/here/parcel/late"); !strings.Contains(body, want) {
			t.Errorf("with %s the page lacks %q: %s", length, want, body)
		}
	}
}
