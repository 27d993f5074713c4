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
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "init NAME",
		Short: "Write a commented specification to start from",
		Long: `Init writes NAME.yaml into this folder: a small, valid machine with a lease, a
guard, a recovery by the system and request ids, and comments that explain
them. It never overwrites a file.`,
		Example: `  fsmgen init parcel
  fsmgen check parcel.yaml
  fsmgen gen parcel.yaml`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(_ *cobra.Command, args []string) error { return c.init(args[0], asJSON) },
	}
	c.JSONFlag(cmd, &asJSON, "files.")
	c.QuietFlag(cmd)
	return cmd
}

func (c *tool) init(name string, asJSON bool) error {
	if !machineName.MatchString(name) {
		return cli.Usagef("%q is not a valid machine name: write a letter a-z first, then a-z, 0-9 or _, for example parcel", name)
	}
	path := name + ".yaml"
	text := starterFor(name)
	// Go, the database and the generator have taken some names.
	_, found := validate.Source(path, text)
	for _, d := range found {
		if d.Severity == spec.Error {
			return cli.Usagef("%q cannot be the name of a machine: %s", name, d.Message)
		}
	}
	if err := writeNew(path, text); errors.Is(err, fs.ErrExist) {
		return cli.Usagef("%s is there already; choose another name, or move it away", path)
	} else if err != nil {
		return cli.Usagef("cannot write: %w", err)
	}
	if asJSON {
		return c.PrintJSON(cli.NewReport(nil, []cli.FileReport{{Path: path, Status: statusMissing, Written: true}}))
	}
	c.Remarkf("wrote %s\n", path)
	return nil
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
