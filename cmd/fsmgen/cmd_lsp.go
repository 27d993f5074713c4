package main

import (
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/lsp"
)

// typingPause is how long nobody types before findings are looked for.
const typingPause = 120 * time.Millisecond

func (c *tool) lspCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lsp",
		Short: "Help an editor with specifications, over its language server protocol",
		Long: `Lsp is a language server: an editor starts it, and they speak over the standard
input and output. It tells findings while one types, with their edits; it
completes keys and names, explains what the cursor is on, leads to where a name
is declared or used, renames, formats, and says how many cells a line decides.

It reads no file and writes none: the editor sends texts and makes edits. A file
without the keys fsm, machine and entity is left alone.

docs/editors.md has the settings for VS Code, Neovim, Helix, Zed and GoLand.`,
		Example: `  fsmgen lsp   # an editor starts it`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			ctx, stop := cli.Interrupted()
			defer stop()
			err := lsp.Serve(ctx, stdio{c.In, c.Out}, lsp.Options{Version: cli.ReadBuildInfo().Version, Pause: typingPause})
			if err != nil {
				return cli.Usage(err)
			}
			return nil
		},
	}
	cmd.Flags().Bool("stdio", true, "no effect: it always speaks over the standard input and output")
	c.QuietFlag(cmd)
	return cmd
}

// stdio is the stream of an editor.
type stdio struct {
	io.Reader
	io.Writer
}

// Close lets go of the input, so that nobody waits for it.
func (s stdio) Close() error {
	if in, ok := s.Reader.(io.Closer); ok {
		return in.Close()
	}
	return errors.ErrUnsupported
}
