package gen

import (
	"fmt"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// Dialects are the databases that there are schemas for.
var Dialects = []string{"sqlite", "postgres"}

// Levels are the levels of enforcement of a schema, the lowest first.
var Levels = []string{enforceNone, enforceChecks, enforceFull}

// Schema returns the SQL schema of a machine: the text that Generate puts beside
// the package, without the rest of it. It refuses a machine that has findings of
// severity error; the error is then a spec.Diagnostics.
func Schema(m *spec.Machine, dialect, enforce string) ([]byte, error) {
	opt, err := Options{Enforce: enforce}.complete(m)
	if err != nil {
		return nil, err
	}
	if err := validate.Run(m).Err(); err != nil {
		return nil, err
	}
	switch dialect {
	case "sqlite":
		return sqliteSchema(m, opt.Enforce), nil
	case "postgres":
		return postgresSchema(m, opt.Enforce), nil
	}
	return nil, fmt.Errorf("no schema for %q; expected sqlite or postgres", dialect)
}
