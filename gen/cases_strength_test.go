package gen

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/outside"
	"github.com/fsmgen/fsmgen/internal/validate"
)

// crowded is a machine whose answers follow from other records.
const crowded = `fsm: 1
machine: MACHINE
entity: Parcel
requests: {request_id: required, expected_rev: required}
otherwise: reject
fields:
  lane: string
  door: string
  code: optional string
  weight: {type: int, default: 0}
  due: optional time
  number: {type: sequence, per: [lane]}
states:
  waiting: {}
  held: {}
  gone: {final: true}
guards:
  lane_free: {none: {same: lane, in: [held]}, error: lane_taken}
  door_room: {fewer: {than: 2, same: door, in: [held, gone]}, error: door_full}
  light: {when: weight < 3, error: too_heavy}
unique:
  one_code: {fields: [code], in: [waiting, held], error: code_taken}
operations:
  come:
    creates: waiting
    dedupe_by: one_code
    input: {weight: int}
    set: {lane: input, door: input, code: input or absent, weight: input, due: input or absent}
  hold:
    from: waiting
    to: held
    next: {where: [door == input.at], order: [-weight, due]}
    input: {at: string}
    require: [lane_free, door_room]
  leave: {from: held, to: gone, trigger: [after due + 5m]}
  drop: {from: held, to: waiting, then: settle}
  settle: {by: system, from: waiting, to: gone, require: [light]}
  tidy: {by: system, from: gone, to: same}
  adopt: {by: system, creates: held, set: {lane: input, door: input}}
`

// A fault in what follows from other records is noticed by the cases alone, in memory.
func TestCasesNoticeTheCrowd(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	faults := map[string][2]string{
		"right":       {"", ""},
		"orderback":   {"[-weight, due]", "[weight, due]"},
		"orderswap":   {"[-weight, due]", "[due, -weight]"},
		"orderlost":   {"[-weight, due]", "[-weight]"},
		"wherelost":   {"where: [door == input.at], ", ""},
		"whereother":  {"door == input.at", "lane == input.at"},
		"groupother":  {"{none: {same: lane,", "{none: {same: door,"},
		"groupwider":  {"same: door, in: [held, gone]", "same: [door, lane], in: [held, gone]"},
		"groupstate":  {"same: door, in: [held, gone]", "same: door, in: [held]"},
		"groupnumber": {"than: 2", "than: 3"},
		"guardorder":  {"[lane_free, door_room]", "[door_room, lane_free]"},
		"uniqueother": {"fields: [code]", "fields: [code, lane]"},
		"uniquestate": {"{fields: [code], in: [waiting, held]", "{fields: [code], in: [waiting]"},
		"sequence":    {"per: [lane]", "per: [door]"},
		"thenguard":   {", require: [light]}", "}"},
		"trigger":     {"after due + 5m", "after due + 6m"},
	}
	module := outside.New(t, "example.com/crowd")
	for name, change := range faults {
		right := strings.ReplaceAll(crowded, "MACHINE", name)
		for _, f := range crowdedFiles(t, right) {
			if strings.HasSuffix(f.Name, "_test.go") {
				module.Write(filepath.Join(name, f.Name), f.Data)
			}
		}
		wrong := strings.Replace(right, change[0], change[1], 1)
		if wrong == right && name != "right" {
			t.Fatalf("%s changes nothing", name)
		}
		for _, f := range crowdedFiles(t, wrong) {
			if !strings.HasSuffix(f.Name, "_test.go") {
				module.Write(filepath.Join(name, f.Name), f.Data)
			}
		}
	}
	out, _ := module.Test("-vet=off", "-run", "/(moves|cases|memstore)$", "./...")
	for name := range faults {
		passed := strings.Contains(out, "ok  \texample.com/crowd/"+name+"\t")
		failed := strings.Contains(out, "FAIL\texample.com/crowd/"+name+"\t")
		if passed == failed || passed != (name == "right") {
			t.Errorf("%s: the cases passed: %t, failed: %t", name, passed, failed)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// crowdedFiles generates the package of a text.
func crowdedFiles(t *testing.T, text string) []File {
	t.Helper()
	m, found := validate.Source("crowded.yaml", []byte(text))
	if found.HasErrors() {
		t.Fatal(found)
	}
	return generate(t, m, Options{})
}

// A call whose step that follows is refused is taken back as a whole, which only a store shows.
func TestStepRefused(t *testing.T) {
	t.Parallel()
	for _, f := range crowdedFiles(t, strings.ReplaceAll(crowded, "MACHINE", "parcel")) {
		if strings.HasSuffix(f.Name, "_fsm_test.go") {
			want := `Do: "drop", Want: "refused guard light (too_heavy)", Then: []string{"settle in waiting"}},`
			if !strings.Contains(string(f.Data), want) {
				t.Errorf("no case has %s:\n%s", want, f.Data)
			}
		}
	}
}
