package spec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/spec"
)

func TestRender(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		d    spec.Diagnostic
		src  string
		want string
	}{
		{
			name: "plain",
			d:    spec.Diagnostic{Pos: spec.Pos{Line: 2, Col: 5}, Len: 4, Hint: "fix it"},
			src:  "one\nto: gone\n",
			want: "    2 | to: gone\n      |     ^~~~\n  hint: fix it\n",
		},
		{
			name: "tab before the mark",
			d:    spec.Diagnostic{Pos: spec.Pos{Line: 1, Col: 6}, Len: 2},
			src:  "\ta: \tbc\n",
			want: "    1 | \ta: \tbc\n      | \t   \t^~\n",
		},
		{
			name: "wide characters",
			d:    spec.Diagnostic{Pos: spec.Pos{Line: 1, Col: 6}, Len: 2},
			src:  "小包: a小包b\n",
			want: "    1 | 小包: a小包b\n      |        ^~~~\n",
		},
		{
			name: "combining characters",
			d:    spec.Diagnostic{Pos: spec.Pos{Line: 1, Col: 5}, Len: 1},
			src:  "e\u0301: x\n",
			want: "    1 | e\u0301: x\n      |    ^\n",
		},
		{
			name: "behind the end of the line",
			d:    spec.Diagnostic{Pos: spec.Pos{Line: 1, Col: 9}, Len: 1},
			src:  "owner:\n",
			want: "    1 | owner:\n      |       ^\n",
		},
		{
			name: "length beyond the line",
			d:    spec.Diagnostic{Pos: spec.Pos{Line: 1, Col: 3}, Len: 99},
			src:  "abcd",
			want: "    1 | abcd\n      |   ^~\n",
		},
		{
			name: "crlf and byte order mark",
			d:    spec.Diagnostic{Pos: spec.Pos{Line: 1, Col: 1}, Len: 3},
			src:  "\xef\xbb\xbffsm: 1\r\n",
			want: "    1 | fsm: 1\n      | ^~~\n",
		},
		{
			name: "characters that a terminal obeys",
			d:    spec.Diagnostic{Pos: spec.Pos{Line: 1, Col: 4}, Len: 1},
			src:  "a\x1b\u202eb\n",
			want: "    1 | a\ufffd\ufffdb\n      |    ^\n",
		},
		{
			name: "line not in the source",
			d:    spec.Diagnostic{Pos: spec.Pos{Line: 9, Col: 1}, Len: 1},
			src:  "a\n",
			want: "",
		},
		{
			name: "records and a second place",
			d: spec.Diagnostic{
				Pos: spec.Pos{Line: 1, Col: 1}, Len: 1, Before: "{a=1}", After: "{a=2}",
				Related: []spec.Related{{Pos: spec.Pos{Line: 2, Col: 2}, Message: "there"}}, Hint: "one\ntwo",
			},
			src: "a\nbc\n",
			want: "    1 | a\n      | ^\n  before: {a=1}\n  after:  {a=2}\n" +
				"  f.yaml:2:2: there\n    2 | bc\n      |  ^\n  hint: one\n        two\n",
		},
		{
			name: "long line",
			d:    spec.Diagnostic{Pos: spec.Pos{Line: 1, Col: 501}, Len: 1},
			src:  strings.Repeat("a", 500) + "b" + strings.Repeat("c", 500),
			want: "    1 | ... " + strings.Repeat("a", 80) + "b" + strings.Repeat("c", 79) + " ...\n      |     " + strings.Repeat(" ", 80) + "^\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.d.Code, tt.d.Severity, tt.d.File, tt.d.Message = "FSM999", spec.Error, "f.yaml", "it is so"
			want := tt.d.String() + "\n" + tt.want
			if diff := cmp.Diff(want, spec.Render(tt.d, spec.Lines([]byte(tt.src)))); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}
