package cli

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// BuildInfo says which build this is.
type BuildInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// VersionCommand prints which build this is.
func (c *CLI) VersionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of " + c.name,
		Long: "Version prints which " + c.name + ` this is. With --json it is an object with version,
go and platform, and revision and modified when it was built from a repository.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			info := ReadBuildInfo()
			if asJSON {
				return c.PrintJSON(info)
			}
			c.Printf("%s %s\n", c.name, info)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.QuietFlag(cmd)
	return cmd
}

// ReadBuildInfo asks the Go linker; a build without module data is "(devel)".
func ReadBuildInfo() BuildInfo {
	info := BuildInfo{
		Version:  "(devel)",
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	if b.Main.Version != "" {
		info.Version = b.Main.Version
	}
	for _, s := range b.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Revision = s.Value
		case "vcs.modified":
			info.Modified = s.Value == "true"
		}
	}
	return info
}

// String returns one line.
func (b BuildInfo) String() string {
	parts := []string{b.Version}
	if b.Revision != "" {
		r := b.Revision[:min(12, len(b.Revision))]
		if b.Modified {
			r += " (modified)"
		}
		parts = append(parts, r)
	}
	return strings.Join(append(parts, b.Go, b.Platform), " ")
}
