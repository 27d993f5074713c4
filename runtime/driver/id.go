package driver

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// MaxID is the longest id, request id and actor, in bytes.
const MaxID = 255

// lastID holds the time part of the newest id: 48 bits of milliseconds and 12
// bits that split the millisecond. Counting it up where the clock does not
// keeps the ids of one process in the order of their making.
var lastID atomic.Uint64

// NewID returns a new UUIDv7 (RFC 9562): unique everywhere, and within one
// process each greater than all before it, so that rows are inserted in the
// order of their index.
func NewID() string {
	now := time.Now()
	ms := uint64(now.UnixMilli())
	stamp := ms<<12 | uint64(now.Nanosecond()%int(time.Millisecond))*4096/uint64(time.Millisecond)
	for {
		last := lastID.Load()
		if stamp <= last {
			stamp = last + 1
		}
		if lastID.CompareAndSwap(last, stamp) {
			break
		}
	}
	var b [16]byte
	rand.Read(b[8:]) // never fails: crypto/rand ends the program instead
	for i := range 6 {
		b[i] = byte(stamp >> (52 - 8*i))
	}
	b[6] = 0x70 | byte(stamp>>8)&0x0f
	b[7] = byte(stamp)
	b[8] = 0x80 | b[8]&0x3f
	var s [36]byte
	hex.Encode(s[0:8], b[0:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:36], b[10:16])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}

// CheckID returns an error unless id can name a record, a request or an actor:
// not empty, at most MaxID bytes, UTF-8 without NUL.
func CheckID(id string) error {
	if id == "" {
		return errors.New("it is empty")
	}
	if len(id) > MaxID {
		return fmt.Errorf("it has %d bytes, at most %d are possible", len(id), MaxID)
	}
	return CheckText(id)
}

// CheckText returns an error unless s can be stored everywhere: UTF-8 without NUL.
func CheckText(s string) error {
	const short = 128 // up to here one pass for what most texts are takes half the time
	if len(s) <= short && ascii(s) {
		return nil
	}
	if !utf8.ValidString(s) {
		return errors.New("it is not UTF-8")
	}
	if strings.IndexByte(s, 0) >= 0 {
		return errors.New("it holds a NUL character")
	}
	return nil
}

// ascii reports whether s is ASCII without NUL: no byte has its high bit, nor gets it by losing one.
func ascii(s string) bool {
	var high uint64
	b := []byte(s)
	for ; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		high |= w | (w - 0x0101010101010101)
	}
	for _, c := range b {
		high |= uint64(c | (c - 1))
	}
	return high&0x8080808080808080 == 0
}
