package driver

import (
	"bytes"
	sqldriver "database/sql/driver"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// scanInto puts what a database's driver gives, which is not nil, into a value, as
// sql.Null does. It stands here so that who has no database links no database/sql.
func scanInto(to reflect.Value, src any) error {
	text, fits := scannedText(src)
	switch p := to.Addr().Interface().(type) {
	case *string:
		if fits {
			*p = text
			return nil
		}
	case *[]byte:
		if _, own := src.([]byte); fits && !own {
			*p = []byte(text)
			return nil
		}
	case *bool:
		b, err := sqldriver.Bool.ConvertValue(src)
		if err == nil {
			*p = b.(bool)
		}
		return err
	case interface{ Scan(src any) error }:
		return p.Scan(src)
	}
	if b, ok := src.([]byte); ok {
		src = bytes.Clone(b) // the driver writes over it
	}
	from := reflect.ValueOf(src)
	switch {
	case from.Type().AssignableTo(to.Type()):
		to.Set(from)
	case from.Kind() == to.Kind() && from.CanConvert(to.Type()):
		to.Set(from.Convert(to.Type()))
	case to.Kind() == reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		return scanInto(to.Elem(), src)
	default:
		return scanKind(to, src, text)
	}
	return nil
}

// scannedText returns what a text holds of a value; fits is false where a text column
// takes no such value.
func scannedText(src any) (text string, fits bool) {
	switch v := src.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), true
	case time.Time:
		return v.Format(time.RFC3339Nano), true
	}
	kind := reflect.TypeOf(src).Kind()
	return fmt.Sprint(src), kind >= reflect.Bool && kind <= reflect.Float64 || kind == reflect.String
}

// scanKind reads a number from its text, and a text into a type of its own.
func scanKind(to reflect.Value, src any, text string) (err error) {
	switch to.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		var n int64
		n, err = strconv.ParseInt(text, 10, to.Type().Bits())
		to.SetInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		var n uint64
		n, err = strconv.ParseUint(text, 10, to.Type().Bits())
		to.SetUint(n)
	case reflect.Float32, reflect.Float64:
		var n float64
		n, err = strconv.ParseFloat(text, to.Type().Bits())
		to.SetFloat(n)
	case reflect.String:
		if b, ok := src.([]byte); ok {
			to.SetString(string(b))
			return nil
		}
		fallthrough
	default:
		return fmt.Errorf("a column holds a %T, expected what fits %s", src, to.Type())
	}
	if err != nil {
		return fmt.Errorf("a column holds %q (%T), expected what fits %s: %w", text, src, to.Type(), err)
	}
	return nil
}
