package migration

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/evolve"
)

// kept returns the columns for indexes that programs of the old version name, and the new
// version does not have. They stay until the roll-out ends.
func (p *plan) kept() []evolve.Column {
	if len(p.alone) > 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.old.Computed), func(c evolve.Column) bool { return p.next.column(c.Name) != nil })
}

// besideName is the name of an index that stays with such a column. The generator gives none
// with a space; a long name is told from others by its hash.
func besideName(name string) string {
	const most, suffix = 63, " beside" // bytes of a name on PostgreSQL
	if sum := sha256.Sum256([]byte(name)); len(name) > most-len(suffix) {
		name = name[:most-len(suffix)-9] + "_" + hex.EncodeToString(sum[:4])
	}
	return name + suffix
}

// beside writes the trigger that keeps those columns right: programs of the new version
// do not know them. The comment on its function names them. EndRollOut of the runtime removes
// all of it, or else the next migration.
func (p *plan) beside() {
	kept := p.kept()
	if len(kept) == 0 {
		return
	}
	name, t := p.table("_beside"), p.table("")
	var set, wrong, names []string
	for _, c := range kept {
		names = append(names, c.Name)
		value := strings.NewReplacer(`"state"`, `NEW."state"`, `date_trunc('minute', `, `date_trunc('minute', NEW.`).Replace(c.Def)
		set = append(set, "    NEW."+quoteName(c.Name)+" := "+value+";")
		wrong = append(wrong, "NEW."+quoteName(c.Name)+" IS DISTINCT FROM ("+value+")")
	}
	p.line("-- Columns that programs of version %d name, until they are retired.", p.old.m.Version)
	p.line("CREATE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql AS $fsm$", name)
	p.line("BEGIN")
	p.line("%s", strings.Join(set, "\n"))
	p.line("    RETURN NEW;")
	p.line("END")
	p.line("$fsm$;")
	list, _ := json.Marshal(names)
	p.line("COMMENT ON FUNCTION %s() IS %s;", name, quoteText(string(list)))
	p.line("CREATE TRIGGER %s BEFORE INSERT OR UPDATE ON %s", name, t)
	p.line("    FOR EACH ROW WHEN (%s) EXECUTE FUNCTION %s();", strings.Join(wrong, " OR "), name)
	p.line("")
}

// endBeside writes what removes the columns that an earlier migration kept, as EndRollOut
// of the runtime does. The same version, made again, ends no roll-out.
func (p *plan) endBeside() {
	if p.next.m.Version == p.old.m.Version {
		return
	}
	name, t := p.table("_beside"), p.table("")
	p.line("")
	p.line("-- What an earlier migration kept for programs that are retired now.")
	p.line("DO $fsm$")
	p.line("DECLARE")
	p.line("    which text;")
	p.line("BEGIN")
	p.line("    IF to_regproc(%[1]s) IS NOT NULL AND obj_description(to_regproc(%[1]s), 'pg_proc') IS NULL THEN", quoteText(name))
	p.line("        RAISE EXCEPTION 'the comment on the function %s is gone, which has the columns that it keeps, "+
		"as a JSON array; write it again';",
		strings.ReplaceAll(strings.ReplaceAll(name, "'", "''"), "%", "%%"))
	p.line("    END IF;")
	p.line("    DROP TRIGGER IF EXISTS %s ON %s;", name, t)
	p.line("    FOR which IN SELECT json_array_elements_text(obj_description(to_regproc(%s), 'pg_proc')::json) LOOP", quoteText(name))
	p.line("        EXECUTE 'ALTER TABLE %s DROP COLUMN IF EXISTS ' || quote_ident(which);", strings.ReplaceAll(t, "'", "''"))
	p.line("    END LOOP;")
	p.line("    DROP FUNCTION IF EXISTS %s();", name)
	p.line("END")
	p.line("$fsm$;")
}
