package gen

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

// TestHandlesDoNotCompile is the table of programs that must not type-check: an
// operation that the state forbids, a value that is not what the operation
// takes, an end that an operation does not have. Beside each stands its
// like that does.
func TestHandlesDoNotCompile(t *testing.T) {
	t.Parallel()
	l := imports(t)
	for _, c := range []struct {
		name, spec string
		good, bad  string // bodies of a function
		want       string // in the error of bad
	}{
		{
			"complete before start", "../specs/lifecycle.yaml",
			`var j RunningJob; _, _ = j.Complete(ctx, CompleteInput{})`,
			`var j ClaimedJob; _, _ = j.Complete(ctx, CompleteInput{})`,
			"j.Complete undefined (type ClaimedJob has no field or method Complete",
		},
		{
			"start twice", "../specs/lifecycle.yaml",
			`var j ClaimedJob; _, _ = j.Start(ctx)`,
			`var j ClaimedJob; k, _ := j.Start(ctx); _, _ = k.Start(ctx)`,
			"k.Start undefined (type RunningJob has no field or method Start",
		},
		{
			"heartbeat of a job that nobody owns", "../specs/lifecycle.yaml",
			`var j ClaimedJob; _ = j.Heartbeat(ctx, HeartbeatInput{Lease: time.Now()})`,
			`var j StalledJob; _ = j.Heartbeat(ctx, HeartbeatInput{Lease: time.Now()})`,
			"j.Heartbeat undefined (type StalledJob has no field or method Heartbeat",
		},
		{
			"anything after the end", "../specs/lifecycle.yaml",
			`var j RunningJob; done, _ := j.Complete(ctx, CompleteInput{}); _ = done.Record().Result`,
			`var j RunningJob; done, _ := j.Complete(ctx, CompleteInput{}); _, _ = done.Fail(ctx, FailInput{})`,
			"done.Fail undefined",
		},
		{
			"an operation of the system", "../specs/execution.yaml",
			`var m *Machine; var j InProgressExecution; _, _ = m.Expire(ctx, j, fsm.Call{})`,
			`var j InProgressExecution; _, _ = j.Expire(ctx)`,
			"j.Expire undefined",
		},
		{
			"the owner of a job that has none", "../specs/lifecycle.yaml",
			`var j ClaimedJob; var owner string = j.Owner(); _ = owner`,
			`var j QueuedJob; var owner string = j.Owner(); _ = owner`,
			"j.Owner undefined (type QueuedJob has no field or method Owner",
		},
		{
			"a result left out", "../specs/lifecycle.yaml",
			`var j RunningJob; _, _ = j.Complete(ctx, CompleteInput{Result: fsm.MustJSON("1")})`,
			`var j RunningJob; _, _ = j.Complete(ctx)`,
			"not enough arguments in call to j.Complete",
		},
		{
			"one state's handle for another's", "../specs/lifecycle.yaml",
			`var j ClaimedJob; var k RunningJob; k, _ = j.Start(ctx); _ = k`,
			`var j ClaimedJob; var k ClaimedJob; k, _ = j.Start(ctx); _ = k`,
			"cannot use j.Start(ctx) (value of struct type RunningJob) as ClaimedJob value",
		},
		{
			"a case for a record instead of a handle", "../specs/lifecycle.yaml",
			`var j AnyJob; switch j.(type) { case SucceededJob: }`,
			`var j AnyJob; switch j.(type) { case Job: }`,
			"cannot have dynamic type Job",
		},
		{
			"a handle of somebody else's", "../specs/lifecycle.yaml",
			`var j AnyJob = StalledJob{}; _ = j`,
			`var j AnyJob = struct{ *held }{}; _ = j`,
			"missing method anyJob",
		},
		{
			"an end that an operation does not have", "testdata/scenarios/branches.yaml",
			`var j SmallClaim; k, _ := j.Vote(ctx); switch k.(type) { case SmallClaim, LargeClaim, PaidClaim: }`,
			`var j SmallClaim; k, _ := j.Vote(ctx); switch k.(type) { case ParkedClaim: }`,
			"cannot have dynamic type ParkedClaim",
		},
		{
			"as if there were one end", "testdata/scenarios/branches.yaml",
			`var j LargeClaim; k, _ := j.Vote(ctx); if l, ok := k.(LargeClaim); ok { _, _ = l.Vote(ctx) }`,
			`var j LargeClaim; k, _ := j.Vote(ctx); _, _ = k.Vote(ctx)`,
			"k.Vote undefined (type AfterVote has no field or method Vote",
		},
		{
			"a call that says why", "../specs/lifecycle.yaml",
			`var j RunningJob; _, _ = j.Complete(ctx, CompleteInput{}, fsm.Call{Reason: "done", Labels: map[string]string{"a": "b"}})`,
			`var j RunningJob; _, _ = j.Complete(ctx, CompleteInput{}, "done")`,
			`cannot use "done" (untyped string constant) as fsm.Call value`,
		},
		{
			"commit without a start", "../specs/execution.yaml",
			`var j InProgressExecution; _, _ = j.Commit(ctx, CommitInput{})`,
			`var j LeasedExecution; _, _ = j.Commit(ctx, CommitInput{})`,
			"j.Commit undefined (type LeasedExecution has no field or method Commit",
		},
		{
			"a worker that takes another state", "../specs/lifecycle.yaml",
			`_ = WorkerConfig{Work: func(context.Context, ClaimedJob) error { return nil }}`,
			`_ = WorkerConfig{Work: func(context.Context, RunningJob) error { return nil }}`,
			"cannot use (func(context.Context, RunningJob) error literal)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files := generate(t, parse(t, c.spec), Options{})
			if err := typeCheck(l, files, c.good); err != nil {
				t.Errorf("the program that is right does not compile: %v", err)
			}
			switch err := typeCheck(l, files, c.bad); {
			case err == nil:
				t.Errorf("compiles: %s", c.bad)
			case !strings.Contains(err.Error(), c.want):
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// typeCheck checks a generated package with one function more.
func typeCheck(l loaded, files []File, body string) error {
	fset := token.NewFileSet()
	var list []*ast.File
	for _, f := range files {
		if !strings.HasSuffix(f.Name, ".go") || strings.HasSuffix(f.Name, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(fset, f.Name, f.Data, 0)
		if err != nil {
			return err
		}
		list = append(list, parsed)
	}
	src := "package " + list[0].Name.Name + `
import ("context"; "time"; fsm "` + runtimePath + `")
var _ time.Time
var _ fsm.JSON
func program(ctx context.Context) { ` + body + ` }`
	program, err := parser.ParseFile(fset, "program.go", src, 0)
	if err != nil {
		return err
	}
	var all []error
	conf := types.Config{Importer: l, Error: func(err error) { all = append(all, err) }}
	_, _ = conf.Check("generated", fset, append(list, program), nil) // Error got all of it
	return errors.Join(all...)
}
