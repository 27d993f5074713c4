package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/diff"
	"github.com/fsmgen/fsmgen/internal/migration"
	"github.com/fsmgen/fsmgen/internal/traffic"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

const formatMarkdown = "markdown"

func (c *cli) diffCommand() *cobra.Command {
	var o diffOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Say what changed from one version of a specification to the next",
		Long: `Diff compares two versions of a specification and says whom each change breaks:
SOURCE (Go code that calls the generated package), DATA (stored rows and
events), BEHAVIOR (what callers and readers rely on), or nobody. The exit code
is 1 when a change breaks somebody. "-" reads one version from the standard
input; --against reads the old one from git.

With --sql it prints the migration of a database instead: rows of states under
` + "`removed`" + ` move, with an event each. With --rows it prints the queries that list
the rows which do not fit the new version. Neither looks at a database, but for
--sql sqlite with --database FILE: indexes and triggers that you have made over
the table of the records are made again. Without it the migration stops before
one would be lost.

With --json it prints one object: old and new (file, machine, version, hash),
breaking, changes (code, class, message, hint, and its place in old and new), and
counts of them by class.`,
		Example: `  fsmgen diff old/job.yaml job.yaml
  fsmgen diff --against git:main job.yaml
  fsmgen diff --against git:v1.2.0 --format markdown job.yaml
  fsmgen diff --against git:origin/main --format github job.yaml   # marks lines of a pull request
  fsmgen diff --against git:v1.2.0 --sql sqlite job.yaml > migration.sql`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: specFiles,
		RunE: func(_ *cobra.Command, args []string) error {
			if asJSON {
				o.format = formatJSON
			}
			return c.diff(args, o)
		},
	}
	cmd.Flags().StringVar(&o.against, "against", "", "take the old version from git:REVISION")
	cmd.Flags().StringVar(&o.format, "format", formatText, "form of the report: text, json, markdown or github")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as --format json")
	cmd.Flags().StringVar(&o.sql, "sql", "", "print the migration for sqlite or postgres")
	cmd.Flags().StringVar(&o.rows, "rows", "", "print the queries for rows that do not fit, for sqlite or postgres")
	cmd.Flags().StringVar(&o.database, "database", "", "with --sql sqlite: the file whose own indexes and triggers the migration is to keep")
	cmd.Flags().StringVar(&o.enforce, "enforce", "full", "level of enforcement of the database: none, checks or full")
	c.quietFlag(cmd)
	cmd.MarkFlagsMutuallyExclusive("sql", "rows", "format", "json")
	oneOf(cmd, "format", formatText, formatJSON, formatMarkdown, formatGitHub)
	oneOf(cmd, "sql", migration.SQLite, migration.Postgres)
	oneOf(cmd, "rows", migration.SQLite, migration.Postgres)
	oneOf(cmd, "enforce", "none", "checks", "full")
	return cmd
}

// diffOptions are the flags of diff.
type diffOptions struct {
	against, format, sql, rows, enforce, database string
}

func (c *cli) diff(args []string, o diffOptions) error {
	if err := allowed("--format", o.format, formatText, formatJSON, formatMarkdown, formatGitHub); err != nil {
		return err
	}
	for flag, value := range map[string]string{"--sql": o.sql, "--rows": o.rows} {
		if err := allowed(flag, value, "", migration.SQLite, migration.Postgres); err != nil {
			return usagef("%s is %q; write sqlite or postgres", flag, value)
		}
	}
	if err := allowed("--enforce", o.enforce, "none", "checks", "full"); err != nil {
		return err
	}
	old, next, err := c.versions(args, o.against)
	if err != nil {
		return err
	}
	report := diff.Machines(old.machine, next.machine)
	switch {
	case o.sql != "" || o.rows != "":
		if err := c.migration(old, next, o); err != nil {
			return err
		}
	case o.format == formatJSON:
		if err := c.printJSON(report.Document()); err != nil {
			return err
		}
	case o.format == formatMarkdown:
		c.printf("%s", report.Markdown())
	case o.format == formatGitHub:
		printGitHubDiff(c.out, next.name, report)
	case c.quiet && !report.Breaking():
	default:
		c.printf("%s", report.Text())
	}
	if report.Breaking() {
		return errFindings
	}
	return nil
}

// migration prints the SQL of a migration, or the queries that belong to it.
func (c *cli) migration(old, next *source, o diffOptions) error {
	others, err := c.others(old, o.sql, o.database)
	if err != nil {
		return err
	}
	m, err := migration.New(old.machine, next.machine, cmp.Or(o.sql, o.rows), o.enforce, others...)
	switch {
	case errors.Is(err, migration.ErrNone):
		return usageError{err}
	case old.found.HasErrors():
		return usagef("%s is not sound, so its tables are not known: %w", old.name, err)
	case err != nil:
		return internalError{err}
	case o.sql != "":
		c.printf("%s", m.Script)
		return nil
	}
	for _, q := range m.Queries {
		c.printf("-- %s\n%s;\n", q.Rule, q.SQL)
	}
	return nil
}

// others reads the indexes and triggers over the table of the records in a SQLite
// file.
func (c *cli) others(old *source, dialect, path string) ([]migration.Object, error) {
	switch {
	case path == "":
		return nil, nil
	case dialect != migration.SQLite:
		return nil, usagef("--database is for the migration of a SQLite file; write it with --sql sqlite")
	}
	ctx, cancel := context.WithTimeout(context.Background(), gitLimit)
	defer cancel()
	found, err := traffic.Objects(ctx, path, old.machine.Name)
	if err != nil {
		return nil, usagef("cannot read %s: %w", path, err)
	}
	var list []migration.Object
	for _, o := range found {
		list = append(list, migration.Object(o))
	}
	return list, nil
}

// versions loads the old and the new specification. The new one must be sound;
// the old one may have findings of rules that it is older than.
func (c *cli) versions(args []string, against string) (old, next *source, err error) {
	switch {
	case against == "" && len(args) == 1:
		return nil, nil, usagef("the old version is missing; name it first, or take it from git with --against git:REVISION")
	case against != "" && len(args) == 2:
		return nil, nil, usagef("--against takes the place of the old file; name the new one only")
	case against != "":
		old, err = c.fromGit("--against", against, args[0])
	case args[0] == "-" && args[1] == "-":
		err = usagef("the standard input is one version; name a file for the other one")
	default:
		old, err = c.load(args[0])
	}
	if err != nil {
		return nil, nil, err
	}
	if next, err = c.load(args[len(args)-1]); err != nil {
		return nil, nil, err
	}
	for _, s := range []*source{old, next} {
		if s.machine == nil || s == next && s.found.HasErrors() {
			c.renderAll(c.err, []*source{s}, spec.Error)
			return nil, nil, usagef("%s is not sound; mend it first", s.name)
		}
	}
	return old, next, nil
}

// gitLimit is how long git may take for one file.
const gitLimit = 30 * time.Second

// fromGit loads the specification at path as it was at a revision, which a flag
// names.
func (c *cli) fromGit(flag, against, path string) (*source, error) {
	revision, ok := strings.CutPrefix(against, "git:")
	if !ok || revision == "" || strings.HasPrefix(revision, "-") || strings.ContainsAny(revision, ":\x00\n") {
		return nil, usagef("%s is %q; write git: and a revision, such as git:main", flag, against)
	}
	if path == "-" {
		return nil, usagef("the standard input has no history; name a file for %s", flag)
	}
	ctx, cancel := context.WithTimeout(context.Background(), gitLimit)
	defer cancel()
	var out, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", "show", revision+":./"+filepath.Base(path))
	cmd.Dir = filepath.Dir(path)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, usagef("%s needs git: %w", flag, err)
		}
		why, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		if why == "" {
			why = err.Error()
		}
		return nil, usagef("cannot read %s at %s: %s", shown(path), revision, strings.TrimPrefix(why, "fatal: "))
	}
	s := &source{path: path, name: revision + ":" + shown(path), text: out.Bytes()}
	c.current = s.name
	s.machine, s.found = validate.Source(s.name, s.text)
	return s, nil
}
