package validate_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// guesses are the findings that judge what a file means by what machines of workers
// look like: a false one costs its author trust in all others.
var guesses = []string{"FSM106", "FSM109", "FSM110", "FSM208", "FSM209"}

// guessed lists which of the guesses are among the findings, each once.
func guessed(found spec.Diagnostics) []string {
	var codes []string
	for _, d := range found {
		if slices.Contains(guesses, d.Code) && !slices.Contains(codes, d.Code) {
			codes = append(codes, d.Code)
		}
	}
	slices.Sort(codes)
	return codes
}

// Workflows of people have owners, drafts that wait and dates of weeks. Nothing is
// said about them, nor about the machines of the repository that are meant as they are.
func TestGuessesSpareWhatIsMeant(t *testing.T) {
	t.Parallel()
	people, err := filepath.Glob("testdata/people/*.yaml")
	if err != nil || len(people) < 20 {
		t.Fatalf("%d workflows of people, want 20 (%v)", len(people), err)
	}
	files := people
	for _, dir := range []string{"../../specs", "../../examples", "../../cmd/fsmgen"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".yaml") && !strings.Contains(path, "script") {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, file := range files {
		m, found := validate.Source(filepath.Base(file), read(t, file))
		if codes := guessed(found); len(codes) > 0 {
			t.Errorf("%s: %v\n%s", file, codes, render(found))
		}
		if i < len(people) && (m == nil || found.HasErrors()) {
			t.Errorf("%s:\n%s", file, render(found))
		}
	}
}

// workers draws a machine of workers, who take a record, work on it in a few states and
// lose it when their time is over. The fault is planted where one is named. Where
// the owners are people, they have days, or the record since its creation.
func workers(rnd *rand.Rand, fault, owners string) string {
	names := [][]string{{"worker", "lease", "job"}, {"holder", "until", "lot"}, {"node", "alive_by", "shard"}}[rnd.IntN(3)]
	who, until := names[0], names[1]
	span := []string{"30s", "5m", "2h"}[rnd.IntN(3)]
	if owners == "days" {
		span = []string{"1d", "36h", "30d"}[rnd.IntN(3)]
	}
	n := 2 + rnd.IntN(3)
	var worked []string
	for i := range n {
		worked = append(worked, fmt.Sprintf("w%d", i))
	}
	odd := rnd.IntN(n)
	add, take, held, drop := "{creates: queued}", fmt.Sprintf("%s: actor, %s: now + %s", who, until, span), who+", "+until, who+", "+until
	absent, kind := "absent: ["+held+"]", "optional string"
	if owners == "since" {
		add, take = fmt.Sprintf("{creates: queued, set: {%s: actor}}", who), fmt.Sprintf("%s: now + %s", until, span)
		held, drop, absent, kind = until, until, "absent: ["+until+"]", "string"
	}
	lapsing, beat := slices.Clone(worked), ""
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("fsm: 1\nmachine: %s\nentity: Thing\notherwise: reject\nfields:\n  %s: %s\n  %s: optional time", names[2], who, kind, until)
	line("  tries: {type: counter, changed_by: [take]}\nstates:\n  queued: {%s}\n  done: {terminal: true}", absent)
	for _, s := range worked {
		line("  %s: {present: [%s]}", s, held)
	}
	line("guards:\n  own: {when: %s == actor, error: not_own}\noperations:\n  add: %s", who, add)
	line("  take: {from: queued, to: w0, set: {%s}, increment: [tries]}", take)
	for i, s := range worked[1:] {
		line("  step%d: {from: w%d, to: %s, require: [own]%s}", i, i, s, ", effect: {name: tell, key: [id, tries]}")
	}
	line("  finish: {from: w%d, to: done, require: [own]}", n-1)
	switch fault {
	case "FSM106":
		lapsing = slices.Delete(lapsing, odd, odd+1)
	case "FSM109":
		beat = ", record_only_in: [queued]"
	case "FSM110":
		line("  poke: {from: w%d, to: %s}", odd, []string{"same", "done"}[rnd.IntN(2)])
	case "FSM208":
		beat = fmt.Sprintf(", effect: {name: ping, key: [id%s]}", []string{"", ", " + who, ", tries"}[rnd.IntN(3)])
	}
	line("  beat: {from: [%s], to: same, require: [own], set: {%s: now + %s}%s}", strings.Join(worked, ", "), until, span, beat)
	if fault != "FSM209" {
		line("  lapse: {by: system, from: [%s], to: queued, trigger: [after %s], clear: [%s]}", strings.Join(lapsing, ", "), until, drop)
	}
	return b.String()
}

// Each fault is found where workers are, and no other one; the faults about owners are
// none where the owners are people.
func TestGuessesFindWhatIsPlanted(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(36, 12))
	for range 20 {
		for _, fault := range append([]string{""}, guesses...) {
			for _, owners := range []string{"workers", "days", "since"} {
				var want []string
				if fault != "" && !(owners != "workers" && (fault == "FSM106" || fault == "FSM110")) {
					want = []string{fault}
				}
				src := workers(rnd, fault, owners)
				_, found := validate.Source("planted.yaml", []byte(src))
				if diff := cmp.Diff(want, guessed(found)); diff != "" || found.HasErrors() {
					t.Fatalf("%s of %s (-want +got):\n%s\n%s%s", fault, owners, diff, src, render(found))
				}
			}
		}
	}
}
