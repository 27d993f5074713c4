package main

import (
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/draft"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// starter is the specification that `init` writes, with NAME and ENTITY for the
// two names.
//
//go:embed starter.yaml
var starter string

var machineName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func (c *tool) initCommand() *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init [NAME]",
		Short: "Write a specification to start from",
		Long: `Init writes NAME.yaml into this folder: a small, valid machine with a lease, a
guard, a recovery by the system and request ids, and comments that explain
them. It never overwrites a file.

With --from it drafts the specification from what exists, and NAME may be left
out. The draft passes "fsmgen check". What could not be carried over, and each
guess, stands in it as a comment and is printed to the standard error. "-" reads
the standard input. FILE is one of these (--format):
  xstate     a machine of XState 4 or 5 as JSON, such as Stately exports it
  scxml      SCXML
  mermaid    a state diagram of Mermaid, also within Markdown
  plantuml   a state diagram of PlantUML
  csv, jsonl a log of status changes: columns id, at, from, to, and where they
             exist actor and event. Usual names are recognised (order_id,
             changed_at, old_status, new_status, changed_by, ...); --columns
             says others.`,
		Example: `  fsmgen init parcel
  fsmgen check parcel.yaml
  fsmgen gen parcel.yaml
  fsmgen init --from checkout.json
  fsmgen init --from order_history.csv order
  fsmgen init --from log.csv --columns id=nr,to=new_step order`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.name = args[0]
			}
			switch {
			case o.from != "":
				return c.initFrom(o)
			case o.format != "" || len(o.columns) > 0:
				return cli.Usagef("--format and --columns say how --from reads a file; name one")
			case o.name == "":
				return cli.Usagef("a name is missing: fsmgen init NAME, or fsmgen init --from FILE")
			}
			return c.init(o.name, o.asJSON)
		},
	}
	cmd.Flags().StringVar(&o.from, "from", "", "draft it from this `FILE`; \"-\" is the standard input")
	cmd.Flags().StringVar(&o.format, "format", "", "what FILE is: "+strings.Join(draft.Formats, ", ")+" (default: found out)")
	cmd.Flags().StringToStringVar(&o.columns, "columns", nil, "which columns of a log are id, at, from, to, actor, event")
	cli.OneOf(cmd, "format", draft.Formats...)
	c.JSONFlag(cmd, &o.asJSON, "files; with --from\nalso notes (line, kind, text), format, states, moves and rows.")
	c.QuietFlag(cmd)
	return cmd
}

// initOptions are the flags of init.
type initOptions struct {
	name, from, format string
	columns            map[string]string
	asJSON             bool
}

func (c *tool) init(name string, asJSON bool) error {
	if err := validName(name); err != nil {
		return err
	}
	text := starterFor(name)
	// Go, the database and the generator have taken some names.
	_, found := validate.Source(name+".yaml", text)
	for _, d := range found {
		if d.Severity == spec.Error {
			return cli.Usagef("%q cannot be the name of a machine: %s", name, d.Message)
		}
	}
	path, err := c.writeSpec(name, text)
	if err != nil {
		return err
	}
	if asJSON {
		return c.PrintJSON(cli.NewReport(nil, []cli.FileReport{{Path: path, Status: statusMissing, Written: true}}))
	}
	c.Remarkf("wrote %s\n", path)
	return nil
}

func validName(name string) error {
	if !machineName.MatchString(name) {
		return cli.Usagef("%q is not a valid machine name: write a letter a-z first, then a-z, 0-9 or _, for example parcel", name)
	}
	return nil
}

// writeSpec writes NAME.yaml, which must not be there.
func (c *tool) writeSpec(name string, text []byte) (path string, err error) {
	path = name + ".yaml"
	if err := writeNew(path, text); errors.Is(err, fs.ErrExist) {
		return "", cli.Usagef("%s is there already; choose another name, or move it away", path)
	} else if err != nil {
		return "", cli.Usagef("cannot write: %w", err)
	}
	return path, nil
}

// starterFor returns the specification for a machine of that name.
func starterFor(name string) []byte {
	return []byte(strings.NewReplacer("NAME", name, "ENTITY", spec.GoName(name)).Replace(starter))
}

// writeNew writes a file that is not there yet.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		err = errors.Join(err, removeIfThere(path)) // better none than half of it
	}
	return err
}
