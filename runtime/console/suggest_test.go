package console_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/console"
	"github.com/fsmgen/fsmgen/runtime/console/internal/slip"
)

// suggested returns the options of a datalist, as value or value (label).
func suggested(t *testing.T, body, id string) (list []string) {
	t.Helper()
	found := regexp.MustCompile(`<datalist id="` + regexp.QuoteMeta(id) + `">(.*?)</datalist>`).FindStringSubmatch(body)
	if found == nil || !strings.Contains(body, `list="`+id+`"`) {
		return nil
	}
	for _, o := range regexp.MustCompile(`<option value="([^"]*)"(?: label="([^"]*)")?></option>`).FindAllStringSubmatch(found[1], -1) {
		text := html.UnescapeString(o[1])
		if o[2] != "" {
			text += " (" + o[2] + ")"
		}
		list = append(list, text)
	}
	return list
}

// Inputs suggest words of the machine and what the page has at hand, and nothing of what is hidden.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	m := slips(t, inMemory(t), nil)
	for i, lane := range []string{`a"><b>`, "north", "north", strings.Repeat("x", 81), "two\nlines"} {
		in := slip.MakeInput{Code: fsm.Some(fmt.Sprint("c", i)), Secret: "hush", Lane: lane}
		call := fsm.Call{Actor: "ben", Labels: map[string]string{"tenant": "t1"}}
		if _, err := m.Make(t.Context(), fmt.Sprint("s", i), in, call); err != nil {
			t.Fatal(err)
		}
	}
	desk := func(show map[string]console.Showing) http.Handler {
		return handler(t, console.Options{
			Who:      func(*http.Request) (console.Viewer, error) { return console.Operator("ann"), nil },
			Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}, Runs: runStore(t),
			Show: func(_, name string) console.Showing { return show[name] },
		})
	}
	h := desk(map[string]console.Showing{"secret": console.Short})
	_, body := get(t, h, "/here/slip/records?state=open")
	for id, want := range map[string][]string{
		"actors": {"ann (you)", "ben"}, "labels": {"run=", "tenant="},
		"values": {"c0 (code)", "c1 (code)", "c2 (code)", "c3 (code)", "c4 (code)", `a"><b> (lane)`, "north (lane)"},
	} {
		got := suggested(t, body, id)
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
	_, form := get(t, h, "/here/slip/do?op=hold&id=s1&rev=1")
	if !strings.Contains(form, `The record has in lane: <span class="value">north</span>`) {
		t.Errorf("the form does not say what the record has: %s", form)
	}
	for show, path := range map[string]string{
		"lane": "do?op=hold&id=s1&rev=1", console.ActorOf: "records", console.LabelsOf: "records", "code": "records",
		"secret": "do?op=guess&id=s1&rev=1",
	} {
		for _, how := range []console.Showing{console.Short, console.Hidden} {
			_, body := get(t, desk(map[string]console.Showing{show: how}), "/here/slip/"+path)
			for name, secret := range map[string]string{
				"lane": "north", console.ActorOf: `"ben"`, console.LabelsOf: "tenant=", "code": `"c1"`, "secret": "hush",
			} {
				if name == show && strings.Contains(body, secret) {
					t.Errorf("%s suggests %s, which is not shown", path, secret)
				}
			}
		}
	}
}

// The words of a list are bounded, each stands once, and labels say of which fields it is.
func TestSuggestionsAreBounded(t *testing.T) {
	t.Parallel()
	m := parcels(t)
	for i := range 50 {
		stock(t, m, fmt.Sprintf("p%02d", i), fmt.Sprintf("lane%02d", i), fmt.Sprint("holder", i), "")
	}
	h := handler(t, console.Options{Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}})
	_, body := get(t, h, "/here/parcel/records")
	got := suggested(t, body, "values")
	if len(got) == 0 || len(got) > 100 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(got) {
		t.Errorf("%d words: %q", len(got), got)
	}
	if len(suggested(t, body, "actors")) > 21 {
		t.Errorf("more actors are suggested than the end of the log has")
	}
}
