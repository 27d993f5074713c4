package etcdstore

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/rows"
)

// timeLayout has six decimals always, so that one time has one text.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// object writes a JSON object. One value has one text: a row is compared by it.
type object struct {
	b   []byte
	err error
}

func (o *object) name(s string) {
	if len(o.b) > 0 && o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.quote(s)
	o.b = append(o.b, ':')
}

func (o *object) quote(s string) {
	if !utf8.ValidString(s) && o.err == nil {
		o.err = fmt.Errorf("the text %q is not UTF-8", s)
	}
	o.b = append(o.b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			o.b = append(o.b, '\\', c)
		case c < 0x20:
			o.b = fmt.Appendf(o.b, `\u%04x`, c)
		default:
			o.b = append(o.b, c)
		}
	}
	o.b = append(o.b, '"')
}

func (o *object) text(name, s string) {
	o.name(name)
	o.quote(s)
}

// some writes a text that is not empty.
func (o *object) some(name, s string) {
	if s != "" {
		o.text(name, s)
	}
}

func (o *object) integer(name string, n int64) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, n, 10)
}

func (o *object) time(name string, t time.Time) {
	if y := t.UTC().Year(); (y < 0 || y > 9999) && o.err == nil {
		o.err = fmt.Errorf("the time %v is not between the years 0 and 9999", t)
	}
	o.text(name, t.UTC().Format(timeLayout))
}

// raw writes a JSON text as it is.
func (o *object) raw(name string, j driver.JSON) {
	if !j.IsZero() {
		o.name(name)
		o.b = append(o.b, j.String()...)
	}
}

// encodeRow writes a row without its id, which is in the key. Absent values are
// left out. chain is that of the event which led to its revision: whoever reads
// the row to decide on it knows what the next event is chained to.
func encodeRow(s *driver.Schema, row *driver.Row, chain uint32) ([]byte, error) {
	o := &object{b: append(make([]byte, 0, 256), '{')}
	o.text("state", row.State)
	o.integer("rev", row.Rev)
	if chain != 0 {
		o.integer("chain", int64(chain))
	}
	o.time("created_at", row.CreatedAt)
	o.time("updated_at", row.UpdatedAt)
	o.name("values")
	o.b = append(o.b, '{')
	for i, v := range row.Values {
		name := s.Columns[i].Stored
		switch v := v.(type) {
		case nil:
		case string:
			o.text(name, v)
		case int64:
			o.integer(name, v)
		case bool:
			o.name(name)
			o.b = strconv.AppendBool(o.b, v)
		case time.Time:
			o.time(name, v)
		default:
			return nil, fmt.Errorf("%s is a %T, which is no value of a row", name, v)
		}
	}
	return append(o.b, '}', '}'), o.err
}

// decodeRow reads what encodeRow wrote, maybe for an older specification: a
// column that it did not have is absent, empty or at 0.
func decodeRow(s *driver.Schema, id string, text []byte) (row driver.Row, chain uint32, err error) {
	var doc struct {
		State     string                     `json:"state"`
		Rev       int64                      `json:"rev"`
		Chain     uint32                     `json:"chain"`
		CreatedAt string                     `json:"created_at"`
		UpdatedAt string                     `json:"updated_at"`
		Values    map[string]json.RawMessage `json:"values"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return driver.Row{}, 0, fmt.Errorf("the row of %q: %w", id, err)
	}
	row = driver.Row{ID: id, State: doc.State, Rev: doc.Rev, Values: make([]any, len(s.Columns))}
	if row.CreatedAt, err = parseTime(doc.CreatedAt); err != nil {
		return row, 0, fmt.Errorf("created_at of %q: %w", id, err)
	}
	if row.UpdatedAt, err = parseTime(doc.UpdatedAt); err != nil {
		return row, 0, fmt.Errorf("updated_at of %q: %w", id, err)
	}
	for i := range s.Columns {
		c := &s.Columns[i]
		raw, ok := doc.Values[c.Stored]
		if !ok {
			row.Values[i] = rows.Blank(c)
			continue
		}
		if row.Values[i], err = decodeValue(c.Kind, raw); err != nil {
			return row, 0, fmt.Errorf("%s of %q: %w", c.Stored, id, err)
		}
	}
	return row, doc.Chain, nil
}

// rowAsItIs reads a row for whoever only reads. One that no program of ours has
// written comes in a state that no machine knows, so that the engine reports and
// quarantines the record, and can repair it.
func (t *table) rowAsItIs(id string, text []byte) driver.Row {
	row, chain, err := decodeRow(t.schema, id, text)
	if err == nil {
		t.shared.chains.note(id, row.Rev, chain)
		return row
	}
	broken := driver.Row{ID: id, State: "unreadable: " + err.Error(), Rev: max(row.Rev, 1), Values: make([]any, len(t.schema.Columns))}
	for i := range broken.Values {
		broken.Values[i] = rows.Blank(&t.schema.Columns[i])
	}
	return broken
}

func decodeValue(k driver.Kind, raw json.RawMessage) (any, error) {
	switch k {
	case driver.KindInt, driver.KindCounter, driver.KindSequence:
		return strconv.ParseInt(string(raw), 10, 64)
	case driver.KindBool:
		return strconv.ParseBool(string(raw))
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	if k == driver.KindTime {
		return parseTime(s)
	}
	return s, nil
}

func parseTime(s string) (time.Time, error) { return time.Parse(timeLayout, s) }

// encodeEvent writes an event without its id. since is the revision of etcd under
// which it stands in the log of all records.
func encodeEvent(e *driver.Event, chain uint32, since int64) ([]byte, error) {
	o := &object{b: append(make([]byte, 0, 512), '{')}
	o.integer("rev", e.Rev)
	if e.N != 0 {
		o.integer("n", e.N)
	}
	o.text("operation", e.Operation)
	o.text("name", e.Name)
	o.some("from", e.From)
	o.text("to", e.To)
	o.time("at", e.At)
	o.some("actor", e.Actor)
	o.some("reason", e.Reason)
	o.some("request_id", e.RequestID)
	o.integer("request_n", e.RequestN)
	o.some("fingerprint", e.Fingerprint)
	if len(e.Labels) > 0 {
		o.name("labels")
		o.b = append(o.b, '{')
		for _, k := range slices.Sorted(maps.Keys(e.Labels)) {
			o.text(k, e.Labels[k])
		}
		o.b = append(o.b, '}')
	}
	o.raw("inputs", e.Inputs)
	o.raw("changes", e.Changes)
	o.raw("image", e.Image)
	o.integer("version", int64(e.Version))
	o.some("cause", e.Cause)
	o.some("guard", e.Guard)
	o.integer("sum", int64(e.Sum))
	if chain != 0 {
		o.integer("chain", int64(chain))
	}
	o.integer("since", since)
	return append(o.b, '}'), o.err
}

// decodeEvent reads what encodeEvent wrote.
func decodeEvent(id string, text []byte) (driver.Event, error) {
	e, _, err := decodeLogged(id, text)
	return e, err
}

// decodeLogged reads besides under which revision of etcd the event stands.
func decodeLogged(id string, text []byte) (e driver.Event, since int64, err error) {
	type event struct {
		Rev         int64             `json:"rev"`
		N           int64             `json:"n"`
		Operation   string            `json:"operation"`
		Name        string            `json:"name"`
		From        string            `json:"from"`
		To          string            `json:"to"`
		At          string            `json:"at"`
		Actor       string            `json:"actor"`
		Reason      string            `json:"reason"`
		RequestID   string            `json:"request_id"`
		RequestN    int64             `json:"request_n"`
		Fingerprint string            `json:"fingerprint"`
		Labels      map[string]string `json:"labels"`
		Inputs      json.RawMessage   `json:"inputs"`
		Changes     json.RawMessage   `json:"changes"`
		Image       json.RawMessage   `json:"image"`
		Version     int               `json:"version"`
		Cause       string            `json:"cause"`
		Guard       string            `json:"guard"`
		Sum         uint32            `json:"sum"`
		Chain       uint32            `json:"chain"`
		Since       int64             `json:"since"`
	}
	var doc event
	fail := func(err error) (driver.Event, int64, error) {
		return driver.Event{}, 0, fmt.Errorf("an event of %q: %w", id, err)
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return fail(err)
	}
	at, err := parseTime(doc.At)
	if err != nil {
		return fail(err)
	}
	e = driver.Event{
		ID: id, Rev: doc.Rev, N: doc.N, Operation: doc.Operation, Name: doc.Name, From: doc.From, To: doc.To,
		At: at, Actor: doc.Actor, Reason: doc.Reason, RequestID: doc.RequestID, RequestN: doc.RequestN,
		Fingerprint: doc.Fingerprint, Labels: doc.Labels, Version: doc.Version, Cause: doc.Cause, Guard: doc.Guard, Sum: doc.Sum, Chain: doc.Chain,
	}
	for _, f := range []struct {
		to  *driver.JSON
		raw json.RawMessage
	}{{&e.Inputs, doc.Inputs}, {&e.Changes, doc.Changes}, {&e.Image, doc.Image}} {
		if f.raw == nil {
			continue
		}
		if *f.to, err = driver.ParseJSON(string(f.raw)); err != nil {
			return fail(err)
		}
	}
	return e, doc.Since, nil
}

// encodeDelivery writes a delivery.
func encodeDelivery(d *driver.Delivery) ([]byte, error) {
	o := &object{b: []byte{'{'}}
	o.text("id", d.ID)
	o.integer("rev", d.Rev)
	if d.N > 0 {
		o.integer("n", d.N)
	}
	o.text("effect", d.Effect)
	o.text("key", d.Key)
	o.integer("attempts", int64(d.Attempts))
	o.time("due", d.Due)
	o.some("last_error", d.LastError)
	return append(o.b, '}'), o.err
}

// decodeDelivery reads what encodeDelivery wrote.
func decodeDelivery(text []byte) (driver.Delivery, error) {
	var doc struct {
		ID        string `json:"id"`
		Rev       int64  `json:"rev"`
		N         int64  `json:"n"`
		Effect    string `json:"effect"`
		Key       string `json:"key"`
		Attempts  int    `json:"attempts"`
		Due       string `json:"due"`
		LastError string `json:"last_error"`
	}
	err := json.Unmarshal(text, &doc)
	if err != nil {
		return driver.Delivery{}, fmt.Errorf("a delivery: %w", err)
	}
	d := driver.Delivery{ID: doc.ID, Rev: doc.Rev, N: doc.N, Effect: doc.Effect, Key: doc.Key, Attempts: doc.Attempts, LastError: doc.LastError}
	if d.Due, err = parseTime(doc.Due); err != nil {
		return d, fmt.Errorf("a delivery of %q: %w", d.ID, err)
	}
	return d, nil
}
