package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	const in = `{"test":"a","store":"s","figures":"old","control":"c","how":"h"}
{"test":"b","store":"s","figures":"x|y","control":"c","how":"h"}
{"test":"a","store":"s","figures":"new","control":"c","how":"h"}
`
	var out strings.Builder
	if err := write(&out, strings.NewReader(in)); err != nil {
		t.Fatal(err)
	}
	const want = `| test | store | figures | control | how |
|---|---|---|---|---|
| a | s | new | c | h |
| b | s | x\|y | c | h |
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
