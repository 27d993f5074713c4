package cli

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// speak lets the mistakes that cobra finds in a command line be said as all others
// are: what is there, what was expected, and how to fix it.
func speak(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.SetFlagErrorFunc(flagMistake)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return emptyFlag(cmd) }
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" {
			cmd.RunE, cmd.Run = helpOf(cmd.Run), nil
			continue
		}
		if check := cmd.Args; check != nil {
			cmd.Args = func(cmd *cobra.Command, args []string) error {
				if check(cmd, args) == nil {
					return nil
				}
				return fmt.Errorf("%s; usage: %s", given(cmd, args), strings.TrimSuffix(cmd.UseLine(), " [flags]"))
			}
		}
	}
	root.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(cmd, args[0])
	}
}

// helpWidth is how many characters a line of a help has at most.
const helpWidth = 80

// beforeText is what stands left of the text of a flag or a command.
var beforeText = regexp.MustCompile(`^ *(\S.*?  +)?`)

// narrow lets a help have lines of helpWidth: a longer text goes on below its beginning.
func narrow(help func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, args []string) {
		out := cmd.OutOrStdout()
		var b bytes.Buffer
		cmd.SetOut(&b)
		help(cmd, args)
		cmd.SetOut(out)
		for line := range strings.Lines(b.String()) {
			if utf8.RuneCountInString(line) > helpWidth+1 { // with its end
				left := beforeText.FindString(line)
				line = left + validate.Wrapped(line[len(left):], helpWidth, strings.Repeat(" ", len(left)))[len(left):]
			}
			_, _ = fmt.Fprint(out, line)
		}
	}
}

// Group puts commands under a title of the help.
func Group(root *cobra.Command, title string, names ...string) {
	root.AddGroup(&cobra.Group{ID: title, Title: title + ":"})
	for _, cmd := range root.Commands() {
		if slices.Contains(names, cmd.Name()) {
			cmd.GroupID = title
		}
	}
}

// given says what a command was given instead of what it wants.
func given(cmd *cobra.Command, args []string) string {
	switch len(args) {
	case 0:
		first := strings.Trim(strings.Fields(cmd.Use + " argument")[1], "[].")
		return "missing " + first
	case 1:
		return fmt.Sprintf("the only argument is %q", args[0])
	}
	return fmt.Sprintf("there are %d arguments", len(args))
}

// unknownCommand refuses a word that is no command of cmd.
func unknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return fmt.Errorf("unknown command %q; %s", word, spec.DidYouMean(spec.Nearest(word, names), "write one of", names))
}

// helpOf lets help about a command that there is not fail.
func helpOf(help func(*cobra.Command, []string)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		about, rest, err := cmd.Root().Find(args)
		if err != nil || len(rest) > 0 {
			return unknownCommand(about, append(rest, args...)[0])
		}
		help(cmd, args)
		return nil
	}
}

// flagMistake says what is wrong with a flag.
func flagMistake(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var wrong *pflag.InvalidValueError
	var bare *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return fmt.Errorf("unknown flag -%s", unknown.GetSpecifiedName())
	case errors.As(err, &unknown):
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		})
		name := "--" + unknown.GetSpecifiedName()
		if near := spec.Nearest(name, names); near != "" {
			return fmt.Errorf("unknown flag %s; did you mean %s?", name, near)
		}
		return fmt.Errorf("unknown flag %s", name)
	case errors.As(err, &wrong):
		want := map[string]string{"int": "a whole number", "bool": "true or false, or the flag alone"}[wrong.GetFlag().Value.Type()]
		if want == "" {
			want = "a " + wrong.GetFlag().Value.Type()
		}
		return fmt.Errorf("--%s is %q; write %s", wrong.GetFlag().Name, wrong.GetValue(), want)
	case errors.As(err, &bare):
		name, _ := pflag.UnquoteUsage(bare.GetFlag())
		return fmt.Errorf("--%s has no value; write --%s %s", bare.GetFlag().Name, bare.GetFlag().Name, strings.ToUpper(name))
	}
	return err
}

// emptyFlag refuses a flag that was given an empty text: mostly the variable of a
// script that was not set.
func emptyFlag(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && err == nil {
			err = Usagef("--%s is empty; give it a value or leave it out", f.Name)
		}
	})
	return err
}

var together = regexp.MustCompile(`\[([^\]]+)\] were all set$`)

// clearer rewrites what cobra says of flags that do not go together.
func clearer(err error) error {
	m := together.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	names := strings.Fields(m[1])
	for i, n := range names {
		names[i] = "--" + n
	}
	return fmt.Errorf("%s do not go together; write one of them", listed(names, "and"))
}

// listed writes a, b and c.
func listed(names []string, and string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " " + and + " " + names[n-1]
	}
	return strings.Join(names, "")
}

// Allowed refuses a flag's value that is not in the list.
func Allowed(flag, value string, values ...string) error {
	if slices.Contains(values, value) {
		return nil
	}
	return Usagef("%s is %q; write %s", flag, value, listed(values, "or"))
}
