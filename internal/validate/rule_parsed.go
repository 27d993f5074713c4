package validate

import "github.com/fsmgen/fsmgen/spec"

// parsedRules are the findings of [spec.Parse]. They stand in the table so that
// every code can be explained; they have nothing to run.
var parsedRules = []Rule{
	{
		Code: "FSM001", Name: "unknown key", Severity: spec.Error,
		Doc: `No key is ignored: a misspelt ` + "`require`" + ` would be a missing guard. The message lists the keys that are
allowed at the place and names the one that looks alike.`,
	},
	{
		Code: "FSM002", Name: "wrong kind of node", Severity: spec.Error,
		Doc: `The place takes a mapping, a list or a scalar, and the file has another one there; often the indentation slipped or
the colon has no space after it.`,
	},
	{
		Code: "FSM003", Name: "duplicate key", Severity: spec.Error,
		Doc: `A key or a name is there twice in the same place. Most YAML readers silently take the last one, so the first one
would be lost.`,
	},
	{
		Code: "FSM004", Name: "unknown type", Severity: spec.Error,
		Doc: `Types are string (with the bounds of its length: ` + "`string 1..64`" + `), int (with bounds: ` + "`int 1..5`" + `), bool, time, duration
(with bounds: ` + "`duration 1s..1h`" + `), json, counter, set, sequence, or words divided by |, each with ` + "`optional`" + ` before it where a value may be missing.`,
	},
	{
		Code: "FSM005", Name: "unreadable fact", Severity: spec.Error,
		Doc: "Facts are single comparisons: `x is present`, `x is absent`, `a == b` (also != < <= > >=), `x in set`, `x not in set`,\n" +
			"`set covers set`. There is no `and` (a list means and), no `or` (write `any`), no product and no function.",
	},
	{
		Code: "FSM006", Name: "unknown trigger", Severity: spec.Error,
		Doc: "An operation is fired by `startup`, or by `after <time field>` with a duration where one is wanted. For any\n" +
			"other timer, let your program call the operation.",
	},
	{
		Code: "FSM007", Name: "YAML syntax error", Severity: spec.Error,
		Doc: `The file is not YAML. The reader stops at the first such error, so this finding stands alone; the cause is often a
line above the place.`,
	},
	{
		Code: "FSM008", Name: "YAML feature outside the language", Severity: spec.Error,
		Doc: `Anchors, aliases, merge keys, tags and several documents make a file mean something that does not stand where the
reader looks. One file is one machine, written out.`,
	},
	{
		Code: "FSM009", Name: "file that cannot be read", Severity: spec.Error,
		Doc: `The file is too large, nested too deep, not UTF-8, or has control characters. Nothing in it was checked.`,
	},
	{
		Code: "FSM010", Name: "undeclared name", Severity: spec.Error,
		Doc: `The name of a state, a field, a guard, an input, an operation, a probe or an enum value is used and nowhere declared.
The message names the declared one that looks alike.`,
	},
	{
		Code: "FSM014", Name: "operation or branch without start or target", Severity: spec.Error,
		Doc: "An operation makes a record (`creates`) or starts in states (`from`), and it leads somewhere: `to`, `to: same`, or\n" +
			"`choose`. A branch has exactly one of `to`, `record_only` and `reject`.",
	},
	{
		Code: "FSM015", Name: "value not allowed", Severity: spec.Error,
		Doc: `The value does not fit the field or the key: a word that the enum does not have, a number out of its bounds, text
where a duration was expected.`,
	},
	{
		Code: "FSM020", Name: "terms that cannot be compared", Severity: spec.Error,
		Doc: `Both sides of a comparison must be of one kind, and < needs an order: numbers with numbers, times with times. A
comparison that can never hold is a guard that always refuses.`,
	},
	{
		Code: "FSM021", Name: "keys or values that do not go together", Severity: spec.Error,
		Doc: `Each key is allowed where it stands, but not beside the other one: ` + "`terminal`" + ` with ` + "`final`" + `, ` + "`optional`" + ` with a counter,
bounds in the wrong order.`,
	},
	{
		Code: "FSM022", Name: "mandatory key is missing", Severity: spec.Error,
		Doc: `A specification cannot be understood without the key: the language version, the name of the machine, its states and
operations, the condition of a guard.`,
	},
	{
		Code: "FSM026", Name: "machines that use each other in a circle", Severity: spec.Error,
		Doc: `A transaction locks a record of the machine that uses, and then one of the machine that is used. So no two transactions wait for
each other. A circle has no such order, and a machine that uses itself is the smallest one. Let one of the machines ask for an
effect that the program performs after the commit.`,
	},
}
