package migration

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
)

// What the events of moved rows say besides the move.
const (
	eventName   = "migrate"
	eventActor  = "system"
	eventInputs = "{}"
)

func (v move) reason() string { return "state " + v.from + " was removed" }

// part is a text of the checksum: one that is known, or one that SQL computes.
type part struct {
	text string
	sql  string // used when it is not empty
}

// parts are the texts that the runtime's checksum covers, in its order.
func (p *plan) parts(v move) []part {
	return []part{
		{sql: "id"}, {sql: "rev"}, {text: eventName}, {text: eventName}, {text: v.from}, {text: v.to.Stored()}, {sql: "at"},
		{text: eventActor}, {text: v.reason()}, {sql: "request"}, {text: "-1"}, {}, {text: "0"}, {text: eventInputs}, {sql: "changes"}, {},
		{text: fmt.Sprint(p.next.m.Version)}, {}, {},
	}
}

// changes returns the JSON object of the fields that the new state has no room
// for and the row has.
func (v move) changes() string {
	if len(v.cleared) == 0 {
		return "'{}'"
	}
	var parts []string
	for _, c := range v.cleared {
		parts = append(parts, fmt.Sprintf("CASE WHEN %s IS NULL THEN '' ELSE %s END", quoteName(c), quoteText(`,"`+c+`":null`)))
	}
	return "'{' || substr(" + strings.Join(parts, " || ") + ", 2) || '}'"
}

const eventColumns = `"id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "inputs", "changes", "version", "checksum"`

// eventValues returns the values of eventColumns; row names what SQL computes.
func (p *plan) eventValues(v move, row, inputs, changes, sum string) string {
	return fmt.Sprintf(`%[1]s."id", %[1]s."rev", 0, %[2]s, %[2]s, %[3]s, %[4]s, %[1]s."at", %[5]s, %[6]s, %[1]s."request", -1, '', %[7]s, %[8]s, %[9]d, %[10]s`,
		row, quoteText(eventName), quoteText(v.from), quoteText(v.to.Stored()), quoteText(eventActor), quoteText(v.reason()),
		inputs, changes, p.next.m.Version, sum)
}

// chained is the chain of the log up to the event v, as stores write it.
func (p *plan) chained() string {
	return fmt.Sprintf(`(coalesce((SELECT p."chain" FROM %s AS p WHERE p."id" = "v"."id" AND p."rev" = "v"."rev" - 1 AND p."n" = 0), 0) * 16777619 + "v"."checksum") %% 4294967296`,
		p.table("_events"))
}

// nibbles is the table of CRC-32C for four bits.
func nibbles() [16]uint32 {
	var table [16]uint32
	for n := range table {
		c := uint32(n)
		for range 4 {
			if c&1 == 1 {
				c = c>>1 ^ crc32.Castagnoli
			} else {
				c >>= 1
			}
		}
		table[n] = c
	}
	return table
}

// sqliteHex returns the texts as SQLite computes them: in hexadecimal digits,
// each one after its length.
func sqliteHex(parts []part) string {
	var pieces []string
	known := ""
	flush := func() {
		if known != "" {
			pieces = append(pieces, "'"+known+"'")
			known = ""
		}
	}
	for _, x := range parts {
		if x.sql == "" {
			known += fmt.Sprintf("%X", append(binary.AppendUvarint(nil, uint64(len(x.text))), x.text...))
			continue
		}
		flush()
		bytes := `CAST("` + x.sql + `" AS BLOB)`
		pieces = append(pieces, fmt.Sprintf("CASE WHEN length(%[1]s) < 128 THEN printf('%%02X', length(%[1]s)) ELSE printf('%%02X%%02X', (length(%[1]s) & 127) | 128, length(%[1]s) >> 7) END || hex(%[1]s)", bytes))
	}
	flush()
	return strings.Join(pieces, "\n        || ")
}

// xor is SQL for SQLite, which has no such operator.
func xor(a, b string) string { return fmt.Sprintf("((%[1]s | %[2]s) - (%[1]s & %[2]s))", a, b) }

// sqliteEvents writes the events of the rows that move. The checksum is computed
// digit by digit, the low one of each byte first.
func (p *plan) sqliteEvents(v move) {
	digit := `(instr('0123456789ABCDEF', substr(m."hex", s."k" + 2 - 2 * (s."k" % 2), 1)) - 1)`
	p.line(`CREATE TEMP TABLE "fsm_moved" AS
SELECT *, %s AS "hex"
FROM (
    SELECT "id", "rev" + 1 AS "rev", 'sys:%s:' || ("rev" + 1) AS "request", (SELECT "at" FROM temp."fsm_migration") AS "at",
        %s AS "changes"
    FROM %s WHERE "state" = %s
)
ORDER BY "id";`, sqliteHex(p.parts(v)), eventName, v.changes(), p.table(""), quoteText(v.from))
	sum := fmt.Sprintf(`(
        WITH RECURSIVE "sum" ("k", "c") AS (
            SELECT 0, 4294967295
            UNION ALL
            SELECT s."k" + 1, %s
            FROM "sum" AS s JOIN temp."fsm_crc" AS t ON t."n" = %s
            WHERE s."k" < length(m."hex")
        )
        SELECT 4294967295 - "c" FROM "sum" WHERE "k" = length(m."hex"))`,
		xor(`t."v"`, `(s."c" >> 4)`), xor(`(s."c" & 15)`, digit))
	p.line(`WITH "v" (%[2]s) AS (
SELECT %[3]s
FROM temp."fsm_moved" AS m
)
INSERT INTO %[1]s (%[2]s, "chain")
SELECT "v".*, %[4]s
FROM "v";
DROP TABLE temp."fsm_moved";`, p.table("_events"), eventColumns, p.eventValues(v, "m", quoteText(eventInputs), `m."changes"`, sum), p.chained())
}

// postgresSum writes the function that computes the runtime's checksum over
// texts. It is gone with the session.
func (p *plan) postgresSum() {
	var table []string
	for _, v := range nibbles() {
		table = append(table, fmt.Sprint(v))
	}
	p.line(`CREATE FUNCTION pg_temp.fsm_sum(VARIADIC parts text[]) RETURNS bigint LANGUAGE plpgsql AS $fsm$
DECLARE
    crc bigint := 4294967295;
    entries bigint[] := ARRAY[%s];
    part text;
    bytes bytea;
    byte int;
BEGIN
    FOREACH part IN ARRAY parts LOOP
        bytes := convert_to(part, 'UTF8');
        IF length(bytes) < 128 THEN
            bytes := set_byte('\x00'::bytea, 0, length(bytes)) || bytes;
        ELSE
            bytes := set_byte(set_byte('\x0000'::bytea, 0, (length(bytes) & 127) | 128), 1, length(bytes) >> 7) || bytes;
        END IF;
        FOR i IN 0 .. length(bytes) - 1 LOOP
            byte := get_byte(bytes, i);
            crc := entries[((crc & 15)::int # (byte & 15)) + 1] # (crc >> 4);
            crc := entries[((crc & 15)::int # (byte >> 4)) + 1] # (crc >> 4);
        END LOOP;
    END LOOP;
    RETURN crc # 4294967295;
END
$fsm$;`, strings.Join(table, ", "))
}

// postgresEvents writes the events of the rows that move.
func (p *plan) postgresEvents(v move) {
	var args []string
	for _, x := range p.parts(v) {
		switch x.sql {
		case "":
			args = append(args, quoteText(x.text))
		case "at":
			args = append(args, `(extract(epoch FROM m."at") * 1000000)::bigint::text`)
		default:
			args = append(args, `m."`+x.sql+`"::text`)
		}
	}
	p.line(`WITH "v" (%[2]s) AS (
SELECT %[3]s
FROM (
    SELECT "id", "rev" + 1 AS "rev", 'sys:%[4]s:' || ("rev" + 1) AS "request", transaction_timestamp() AS "at",
        %[5]s AS "changes"
    FROM %[6]s WHERE "state" = %[7]s
) AS m
)
INSERT INTO %[1]s (%[2]s, "chain")
SELECT "v".*, %[8]s
FROM "v"
ORDER BY "v"."id";`, p.table("_events"), eventColumns,
		p.eventValues(v, "m", quoteText(eventInputs)+"::json", `m."changes"::json`, "pg_temp.fsm_sum("+strings.Join(args, ", ")+")"),
		eventName, v.changes(), p.table(""), quoteText(v.from), p.chained())
}
