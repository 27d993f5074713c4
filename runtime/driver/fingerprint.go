package driver

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A version stands before every fingerprint.
const (
	fingerprintVersion = "v1:"
	fingerprintBytes   = 12
)

func fingerprintOf(sum []byte) string {
	var text [len(fingerprintVersion) + fingerprintBytes/3*4]byte
	base64.RawURLEncoding.Encode(text[copy(text[:], fingerprintVersion):], sum[:fingerprintBytes])
	return string(text[:])
}

// Fingerprint says whether two calls with one request id are the same request.
// It is "v1:" and, in URL-safe base64, the first 12 bytes of the SHA-256 of the canonical JSON
//
//	{"actor":…,"inputs":{…},"operation":…,"reason":…}
//
// with the inputs sorted by name and without the Loose ones. Revision, time and
// labels are not in it: a retry may carry other ones.
func Fingerprint(operation, actor, reason string, inputs []Input) (string, error) {
	var some [8]Member // so that a usual call needs no memory of its own
	firm := some[:0]
	for _, in := range inputs {
		if !in.Loose {
			firm = append(firm, Member{in.Name, in.Kind, in.Value})
		}
	}
	slices.SortFunc(firm, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	var space [512]byte
	b := append(space[:0], `{"actor":`...)
	b = AppendText(b, actor)
	b = append(b, `,"inputs":`...)
	b, err := appendObject(b, firm)
	if err != nil {
		return "", err
	}
	b = append(b, `,"operation":`...)
	b = AppendText(b, operation)
	b = append(b, `,"reason":`...)
	b = AppendText(b, reason)
	b = append(b, '}')
	sum := sha256.Sum256(b)
	return fingerprintOf(sum[:]), nil
}

// chainFactor spreads an old difference over the whole chain (the prime of FNV-1).
const chainFactor = 16777619

// Chained returns what a store writes into Event.Chain: it depends on the
// checksums of the event and of all that led to it, so an event that was edited
// and given a new checksum is found. before is the Chain of the event before it:
// of a transition, the transition to the revision before (0 for the first); of a
// record-only event, the event with the number before at the same revision. So
// no writer waits for those who only record.
func Chained(before uint32, e *Event) uint32 { return before*chainFactor + e.Sum }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum returns the CRC-32C that stands in Event.Sum. It covers the fields
// of the event in the order of the struct, without N, Sum and Chain: each one as text
// after its length (an unsigned varint). Numbers are decimal, At is the number
// of microseconds since 1970, Labels are their number and then name and value
// of each by name. N is left out because the store gives it to a record-only
// event; that it has no gap is checked by itself.
func Checksum(e *Event) uint32 {
	space := spaces.Get().(*[]byte)
	b := (*space)[:0]
	text := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	number := func(n int64) {
		var digits [20]byte
		d := strconv.AppendInt(digits[:0], n, 10)
		b = binary.AppendUvarint(b, uint64(len(d)))
		b = append(b, d...)
	}
	text(e.ID)
	number(e.Rev)
	text(e.Operation)
	text(e.Name)
	text(e.From)
	text(e.To)
	number(e.At.UnixMicro())
	text(e.Actor)
	text(e.Reason)
	text(e.RequestID)
	number(e.RequestN)
	text(e.Fingerprint)
	number(int64(len(e.Labels)))
	for _, k := range sortedKeys(e.Labels) {
		text(k)
		text(e.Labels[k])
	}
	text(e.Inputs.text)
	text(e.Changes.text)
	text(e.Image.text)
	number(int64(e.Version))
	text(e.Cause)
	text(e.Guard)
	sum := crc32.Checksum(b, castagnoli)
	if *space = b; cap(b) < 1<<16 {
		spaces.Put(space)
	}
	return sum
}

// spaces are what checksums are made in.
var spaces = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}
