package main

import (
	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/spec"
)

func (c *tool) schemaCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of specifications",
		Long: `Schema prints the JSON Schema (draft 2020-12) of specifications. An editor that
knows it completes keys, shows what they mean and marks those that do not
exist. "fsmgen check" knows much more.

Editors with the YAML language server read it from the first line of a file:

  # yaml-language-server: $schema=URL

where URL is
  ` + spec.SchemaURL,
		Example: `  fsmgen schema > fsmgen.schema.json`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c.Printf("%s", spec.Schema())
			return nil
		},
	}
	cmd.Flags().Bool("json", true, "no effect: the schema is always JSON")
	c.QuietFlag(cmd)
	return cmd
}
