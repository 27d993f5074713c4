package draft

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// row is one change of a status.
type row struct {
	line            int
	id, from, to    string
	actor, event    string
	at              time.Time
	timed, hasFrom  bool
	lateWord, wrong string // the time that cannot be read; what else is wrong
}

// roles are what a column can be, with the names that say so, the best first.
var roles = []struct {
	role  string
	names []string
}{
	{"from", []string{"from", "from_status", "from_state", "old_status", "old_state", "previous_status", "previous_state", "prev_status", "prev_state",
		"old", "previous", "prev", "prior", "before", "old_value", "source", "was", "status_from", "state_from", "status_before", "status_old"}},
	{"to", []string{"to", "to_status", "to_state", "new_status", "new_state", "current_status", "current_state", "new", "status", "state", "current",
		"next", "after", "new_value", "target", "is", "status_to", "state_to", "status_after", "status_new"}},
	{"at", []string{"at", "changed_at", "occurred_at", "happened_at", "created_at", "timestamp", "time", "ts", "event_time", "logged_at", "updated_at",
		"modified_at", "recorded_at", "date", "datetime", "when", "changed_on", "created", "updated"}},
	{"actor", []string{"actor", "changed_by", "who", "by", "user", "username", "performed_by", "updated_by", "created_by", "modified_by", "actor_id",
		"user_id", "worker", "worker_id", "author", "changed_by_id"}},
	{"event", []string{"event", "operation", "action", "op", "transition", "event_name", "event_type", "trigger", "command", "verb"}},
}

// others are ids of something else than the record.
var others = []string{"request_id", "trace_id", "span_id", "correlation_id", "tenant_id", "user_id", "actor_id", "worker_id", "event_id", "log_id",
	"history_id", "changed_by_id", "session_id", "account_id"}

// columns finds what each column is. The names are those of the file.
func columns(names []string, given map[string]string) (map[string]int, error) {
	found := map[string]int{}
	taken := map[int]bool{}
	take := func(role string, i int) { found[role], taken[i] = i, true }
	for _, role := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains([]string{"id", "at", "from", "to", "actor", "event"}, role) {
			return nil, fail(0, 0, "--columns: %q is no part of a row; expected id, at, from, to, actor or event", role)
		}
		i := slices.Index(names, given[role])
		if i < 0 {
			return nil, fail(1, 0, "there is no column %q; the file has %s", given[role], strings.Join(names, ", "))
		}
		take(role, i)
	}
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = snake(n)
	}
	for _, r := range roles {
		if _, ok := found[r.role]; ok {
			continue
		}
		for _, name := range r.names {
			if i := slices.Index(words, name); i >= 0 && !taken[i] {
				take(r.role, i)
				break
			}
		}
	}
	if _, ok := found["id"]; !ok {
		if i := idColumn(words, taken); i >= 0 {
			take("id", i)
		}
	}
	for _, role := range []string{"id", "to"} {
		if _, ok := found[role]; !ok {
			what := map[string]string{"id": "of which record a row speaks (such as id or order_id)", "to": "the new status (such as to, new_status or status)"}[role]
			return nil, fail(1, 0, "no column says %s; the file has %s; --columns %s=NAME says which", what, strings.Join(names, ", "), role)
		}
	}
	return found, nil
}

// idColumn prefers order_id to id: a table of changes has an id of its own.
func idColumn(words []string, taken map[int]bool) int {
	best := -1
	for i, w := range words {
		if strings.HasSuffix(w, "_id") && !taken[i] && !slices.Contains(others, w) {
			if best >= 0 { // two of them: the plain one decides
				best = -1
				break
			}
			best = i
		}
	}
	for _, name := range []string{"id", "key", "uuid", "number", "record", "entity", "object", "nr", "no"} {
		if i := slices.Index(words, name); best < 0 && i >= 0 && !taken[i] {
			best = i
		}
	}
	return best
}

// rows reads a log row by row.
type rows struct {
	next  func() (row, error) // io.EOF at the end
	extra []string            // columns that are not read
	timed bool
	from  bool
}

func openRows(in *bufio.Reader, format string, given map[string]string) (*rows, error) {
	if format == "csv" {
		return openCSV(in, given)
	}
	return openJSONL(in, given)
}

// separator is the sign between the columns of a header.
func separator(header string) rune {
	best, most := ',', 0
	for _, c := range []rune{',', ';', '\t', '|'} {
		if n := strings.Count(header, string(c)); n > most {
			best, most = c, n
		}
	}
	return best
}

func openCSV(in *bufio.Reader, given map[string]string) (*rows, error) {
	start, err := in.Peek(1 << 14)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, err
	}
	header, _, _ := strings.Cut(string(start), "\n")
	r := csv.NewReader(in)
	r.Comma, r.ReuseRecord, r.FieldsPerRecord, r.LazyQuotes = separator(header), true, -1, true
	names, err := r.Read()
	if err != nil {
		return nil, fail(1, 1, "there is no header; expected a line such as id,at,from,to")
	}
	names = slices.Clone(names)
	names[0] = strings.TrimPrefix(names[0], "\ufeff")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	cols, err := columns(names, given)
	if err != nil {
		return nil, err
	}
	out := shaped(names, cols)
	out.next = func() (row, error) {
		cells, err := r.Read()
		if err != nil {
			var p *csv.ParseError
			if errors.As(err, &p) {
				return row{}, fail(p.Line, p.Column, "%v; expected a row of CSV", p.Err)
			}
			return row{}, err
		}
		line, _ := r.FieldPos(0)
		get := func(role string) string {
			if i, ok := cols[role]; ok && i < len(cells) {
				return strings.Clone(strings.TrimSpace(cells[i]))
			}
			return ""
		}
		return makeRow(line, get, out), nil
	}
	return out, nil
}

func shaped(names []string, cols map[string]int) *rows {
	out := &rows{}
	used := map[int]bool{}
	for _, i := range cols {
		used[i] = true
	}
	for i, n := range names {
		if !used[i] {
			out.extra = append(out.extra, n)
		}
	}
	_, out.timed = cols["at"]
	_, out.from = cols["from"]
	return out
}

func openJSONL(in *bufio.Reader, given map[string]string) (*rows, error) {
	line := 0
	read := func() (map[string]json.RawMessage, []string, error) {
		for {
			text, err := readLine(in)
			line++
			text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
			if text == "" && err != nil {
				return nil, nil, err
			}
			if text == "" {
				continue
			}
			var o map[string]json.RawMessage
			if e := json.Unmarshal([]byte(text), &o); e != nil || o == nil {
				return nil, nil, fail(line, 1, "the line is no JSON object; expected one such as {\"id\": 1, \"at\": \"...\", \"from\": \"new\", \"to\": \"paid\"}")
			}
			return o, slices.Sorted(maps.Keys(o)), nil
		}
	}
	first, names, err := read()
	if errors.Is(err, io.EOF) {
		return nil, fail(1, 1, "there is no row")
	}
	if err != nil {
		return nil, err
	}
	names = optionalNames(names, given)
	cols, err := columns(names, given)
	if err != nil {
		return nil, err
	}
	out := shaped(names, cols)
	out.from = true // a row without it makes the record
	for _, role := range roles[:1] {
		if _, ok := cols[role.role]; !ok {
			out.from = false
		}
	}
	out.next = func() (row, error) {
		o := first
		if first = nil; o == nil {
			var err error
			if o, _, err = read(); err != nil {
				return row{}, err
			}
		}
		get := func(role string) string {
			if i, ok := cols[role]; ok {
				return scalarText(o[names[i]])
			}
			return ""
		}
		return makeRow(line, get, out), nil
	}
	return out, nil
}

// optionalNames adds members that the first row may leave out: it makes a record.
func optionalNames(names []string, given map[string]string) []string {
	for _, name := range []string{"from", "actor"} {
		if v := given[name]; v != "" {
			name = v
		}
		if !slices.Contains(names, name) && (slices.Contains(names, "to") || given[name] != "") {
			names = append(names, name)
		}
	}
	return names
}

func scalarText(raw json.RawMessage) string {
	var s string
	switch {
	case len(raw) == 0 || string(raw) == "null" || raw[0] == '{' || raw[0] == '[':
		return ""
	case raw[0] == '"' && json.Unmarshal(raw, &s) == nil:
		return strings.TrimSpace(s)
	}
	return string(raw)
}

const longestRow = 1 << 20

func readLine(in *bufio.Reader) (string, error) {
	var b strings.Builder
	for {
		part, err := in.ReadSlice('\n')
		b.Write(part)
		if b.Len() > longestRow {
			return "", fail(0, 0, "a line is longer than %d KiB; expected one row in each", longestRow>>10)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return b.String(), err
		}
	}
}

func makeRow(line int, get func(string) string, of *rows) row {
	r := row{line: line, id: get("id"), from: get("from"), to: get("to"), actor: get("actor"), event: get("event"), hasFrom: of.from}
	if slices.Contains([]string{"null", "NULL", "\\N", "None", "nil", "-"}, r.from) {
		r.from = ""
	}
	if of.timed {
		if text := get("at"); text != "" {
			if r.at, r.timed = instant(text); !r.timed {
				r.lateWord = text
			}
		}
	}
	switch {
	case r.id == "":
		r.wrong = "no id"
	case r.to == "":
		r.wrong = "no new status"
	}
	return r
}

var layouts = []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999-07", "2006-01-02 15:04:05.999999999",
	"2006-01-02 15:04:05.999999999 -0700", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999 UTC", "2006-01-02 15:04", "2006-01-02",
	"2006/01/02 15:04:05", "02.01.2006 15:04:05", "02.01.2006 15:04", "01/02/2006 15:04:05", time.RFC1123Z, time.RFC1123, "2006-01-02 15:04:05 -0700 MST"}

// instant reads a time as databases and programs write it, or a Unix time.
func instant(text string) (time.Time, bool) {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		switch {
		case n < 1e8 || n > 4e18:
			return time.Time{}, false
		case n < 1e11:
			return time.UnixMicro(int64(n * 1e6)).UTC(), true
		case n < 1e14:
			return time.UnixMicro(int64(n * 1e3)).UTC(), true
		case n < 1e17:
			return time.UnixMicro(int64(n)).UTC(), true
		}
		return time.Unix(0, int64(n)).UTC(), true
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// number writes a count with its thousands apart: 40 381.
func number(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}

// some tells lines: "lines 5, 9 and 10 more".
type some struct {
	count int64
	lines []int
}

func (s *some) add(line int) {
	if s.count++; len(s.lines) < 5 {
		s.lines = append(s.lines, line)
	}
}

func (s *some) where() string {
	texts := make([]string, len(s.lines))
	for i, l := range s.lines {
		texts[i] = strconv.Itoa(l)
	}
	text := "lines " + strings.Join(texts, ", ")
	if len(texts) == 1 {
		text = "line " + texts[0]
	}
	if more := s.count - int64(len(s.lines)); more > 0 {
		text += fmt.Sprintf(" and %s more", number(more))
	}
	return text
}
