package driver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// eventJSON is an event as JSON: the form that CONTRACT.md promises to readers in
// other languages. What is empty is left out, but for the members that every event
// has.
type eventJSON struct {
	ID          string            `json:"id"`
	Rev         int64             `json:"rev"`
	N           int64             `json:"n"`
	Operation   string            `json:"operation"`
	Name        string            `json:"name"`
	From        string            `json:"from,omitempty"`
	To          string            `json:"to"`
	At          string            `json:"at"`
	Actor       string            `json:"actor,omitempty"`
	Reason      string            `json:"reason,omitempty"`
	RequestID   string            `json:"request_id,omitempty"`
	RequestN    *int64            `json:"request_n,omitempty"`
	Fingerprint string            `json:"fingerprint,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Inputs      JSON              `json:"inputs,omitzero"`
	Changes     JSON              `json:"changes,omitzero"`
	Image       JSON              `json:"image,omitzero"`
	Version     int               `json:"version"`
	Cause       string            `json:"cause,omitempty"`
	Guard       string            `json:"guard,omitempty"`
	Sum         uint32            `json:"sum,omitempty"`
	Chain       uint32            `json:"chain,omitempty"`
}

// MarshalJSON writes the event in the form of CONTRACT.md: members named as the
// columns of the log, times in UTC with six decimals, and what is empty left out.
// json.Marshal writes < > and & as \u003c and so on, in Inputs, Changes and Image
// too, whose exact text the checksum covers; an Encoder with SetEscapeHTML(false)
// does not.
func (e Event) MarshalJSON() ([]byte, error) { return exactly(e.wire()) }

// wire returns the event in its form as JSON.
func (e *Event) wire() eventJSON {
	j := eventJSON{
		ID: e.ID, Rev: e.Rev, N: e.N, Operation: e.Operation, Name: e.Name, From: e.From, To: e.To,
		At: e.At.UTC().Format(timeLayout), Actor: e.Actor, Reason: e.Reason, RequestID: e.RequestID,
		Fingerprint: e.Fingerprint, Labels: e.Labels, Inputs: e.Inputs, Changes: e.Changes, Image: e.Image,
		Version: e.Version, Cause: e.Cause, Guard: e.Guard, Sum: e.Sum, Chain: e.Chain,
	}
	if e.RequestN >= 0 && e.RequestID != "" {
		j.RequestN = &e.RequestN
	}
	return j
}

// exactly is json.Marshal without its care for HTML.
func exactly(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// UnmarshalJSON reads the form that MarshalJSON writes. Members that it does not
// know are passed over; the time may have any precision and zone of RFC 3339.
func (e *Event) UnmarshalJSON(b []byte) error {
	var j eventJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	return e.read(&j)
}

// read takes over an event in its form as JSON.
func (e *Event) read(j *eventJSON) error {
	var at time.Time
	if j.At != "" {
		var err error
		if at, err = time.Parse(time.RFC3339Nano, j.At); err != nil {
			return fmt.Errorf("at is %q; expected a time like 2006-01-02T15:04:05.000000Z", j.At)
		}
	}
	*e = Event{
		ID: j.ID, Rev: j.Rev, N: j.N, Operation: j.Operation, Name: j.Name, From: j.From, To: j.To, At: Time(at),
		Actor: j.Actor, Reason: j.Reason, RequestID: j.RequestID, RequestN: -1, Fingerprint: j.Fingerprint, Labels: j.Labels,
		Inputs: j.Inputs, Changes: j.Changes, Image: j.Image, Version: j.Version, Cause: j.Cause, Guard: j.Guard, Sum: j.Sum, Chain: j.Chain,
	}
	if j.RequestN != nil {
		e.RequestN = *j.RequestN
	}
	return nil
}

// entryJSON is an entry as JSON.
type entryJSON struct {
	eventJSON
	Cursor Cursor `json:"cursor"`
}

// MarshalJSON writes the event as Event.MarshalJSON does, with its cursor.
func (e Entry) MarshalJSON() ([]byte, error) { return exactly(entryJSON{e.wire(), e.Cursor}) }

// UnmarshalJSON reads the form that MarshalJSON writes.
func (e *Entry) UnmarshalJSON(b []byte) error {
	var j entryJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	e.Cursor = j.Cursor
	return e.read(&j.eventJSON)
}
