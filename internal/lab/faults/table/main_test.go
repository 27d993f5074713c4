package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	const in = `{"test":"a","store":"s","figures":"old","control":"c","how":"h","took":9000000000}
{"test":"b","store":"s","figures":"x|y","control":"c","how":"h","took":90000000000,"longer":2.5}
{"test":"a","store":"s","figures":"new","control":"c","how":"h","took":1540000000}
`
	var out strings.Builder
	if err := write(&out, strings.NewReader(in)); err != nil {
		t.Fatal(err)
	}
	const want = `| test | store | figures | control | how | took |
|---|---|---|---|---|---|
| a | s | new | c | h | 1.5s |
| b | s | x\|y | c | h | 1m30s; the long form about 3m45s |

2 rows, 1m32s one after the other; the long form about 3m47s at most, for here they shared the machine.
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "{"} {
		if err := write(&out, strings.NewReader(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
