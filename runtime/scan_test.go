package fsm_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

type (
	ownText   string
	ownBytes  []byte
	ownBool   bool
	ownInt    int64
	ownTime   time.Time
	ownScan   struct{ got any }
	ownValuer int
	nilValuer struct{}
)

func (o *ownScan) Scan(src any) error {
	if o.got = src; src == int64(7) {
		return fmt.Errorf("no seven")
	}
	return nil
}
func (o ownScan) Value() (driver.Value, error)   { return nil, fmt.Errorf("no value") }
func (o ownValuer) Value() (driver.Value, error) { return int(o) + 1, nil } // no driver.Value: converted
func (nilValuer) Value() (driver.Value, error)   { return "v", nil }

// An optional value reads and writes columns as sql.Null does, whatever its type and
// whatever the driver gives.
func TestOptionalColumns(t *testing.T) {
	t.Parallel()
	columnsOf[string](t, "a")
	columnsOf[ownText](t, "a")
	columnsOf[[]byte](t, []byte("a"))
	columnsOf[ownBytes](t, ownBytes("a"))
	columnsOf[json.RawMessage](t, json.RawMessage("1"))
	columnsOf[bool](t, true)
	columnsOf[ownBool](t, true)
	columnsOf[int](t, -3)
	columnsOf[int8](t, 3)
	columnsOf[int64](t, math.MinInt64)
	columnsOf[ownInt](t, 3)
	columnsOf[uint](t, 3)
	columnsOf[uint16](t, 3)
	columnsOf[uint64](t, math.MaxUint64)
	columnsOf[float32](t, 1.5)
	columnsOf[float64](t, 1.5)
	columnsOf[time.Time](t, time.Unix(5, 6).UTC())
	columnsOf[ownTime](t, ownTime{})
	columnsOf[*int64](t, new(int64))
	columnsOf[**string](t, nil)
	columnsOf[*nilValuer](t, nil)
	columnsOf[any](t, 3)
	columnsOf[fmt.Stringer](t, time.Second)
	columnsOf[ownScan](t, ownScan{})
	columnsOf[ownValuer](t, 4)
	columnsOf[sql.NullString](t, sql.NullString{String: "a", Valid: true})
	columnsOf[fsm.Optional[int64]](t, fsm.Some[int64](4))
	columnsOf[map[string]int](t, nil)
	columnsOf[[]string](t, []string{"a"})
}

func columnsOf[T any](t *testing.T, v T) {
	t.Helper()
	for _, src := range []any{nil, "", "a", "7", "-7", "300", "1.5", "true", "2026-01-01", []byte(nil), []byte("7"), []byte("a"),
		true, false, int64(0), int64(1), int64(7), int64(-7), int64(300), int64(math.MaxInt64), 1.5, 3.0, 1e7, 123456789.5, 1e20, 1e21, 1e-9,
		math.Inf(1), float32(1e7),
		time.Unix(7, 8).UTC(), int32(7), uint64(math.MaxUint64), float32(0.1), ownText("7"), ownInt(7), ownBool(true), []string{"a"}} {
		var want sql.Null[T]
		wrong := want.Scan(src)
		got := fsm.Some(v)
		err := got.Scan(src)
		value, ok := got.Get()
		if (err == nil) != (wrong == nil) || err == nil && (ok != want.Valid || !reflect.DeepEqual(value, want.V)) || err != nil && ok {
			t.Errorf("%T from %T %v: %v, %t, %v; sql.Null has %v, %t, %v", v, src, src, value, ok, err, want.V, want.Valid, wrong)
		}
		if b, ok := src.([]byte); ok && err == nil && len(b) > 0 {
			before := fmt.Sprint(got)
			b[0]++
			if fmt.Sprint(got) != before && reflect.TypeFor[T]() != reflect.TypeFor[ownScan]() {
				t.Errorf("%T shares the driver's memory", v)
			}
			b[0]--
		}
	}
	for _, valid := range []bool{false, true} {
		want, wrong := sql.Null[T]{V: v, Valid: valid}.Value()
		o := fsm.Optional[T]{}
		if valid {
			o = fsm.Some(v)
		}
		if got, err := o.Value(); (err == nil) != (wrong == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%T %v is written as %v, %v; sql.Null writes %v, %v", v, v, got, err, want, wrong)
		}
	}
}
