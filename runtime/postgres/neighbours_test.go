package postgres_test

import (
	crand "crypto/rand"
	"errors"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

var parcelTables = []string{"fsm_meta", "parcel", "parcel_events", "parcel_outbox", "parcel_groups"}

// some draws few of n cases, and all of them in a campaign.
func some(n, few int) []int {
	all := rand.New(rand.NewPCG(36, uint64(n))).Perm(n)
	if campaign.On() {
		return all
	}
	return all[:few]
}

// neighbour is a depot, and another role that may do all with its tables.
type neighbour struct {
	*depot
	role, dsn string
}

func newNeighbour(t *testing.T) *neighbour {
	d := newDepot(t, pgtest.DSN(t))
	n := &neighbour{depot: d, role: "app_" + strings.ToLower(crand.Text()[:12])}
	n.run(t, `CREATE ROLE "`+n.role+`" LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO "`+n.role+`"`)
	t.Cleanup(func() { d.db.Exec(`DROP OWNED BY "` + n.role + `"; DROP ROLE "` + n.role + `"`) })
	u, err := url.Parse(d.dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(n.role)
	n.dsn = u.String()
	return n
}

func (n *neighbour) run(t *testing.T, text string) {
	t.Helper()
	if _, err := n.db.Exec(text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// open opens the machine as the other role, and makes a record.
func (n *neighbour) open(t *testing.T, opts ...postgres.Option) error {
	t.Helper()
	store, err := postgres.Open(t.Context(), n.dsn, append(opts, quiet)...)
	if err != nil {
		return err
	}
	defer store.Close()
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(n.schema), effects)
	if err == nil {
		_, err = registerIn(t.Context(), m, "", "l")
	}
	return err
}

// refused returns the object that Open refuses for, whose message holds the words.
func refused(t *testing.T, err error, kind string, words ...string) {
	t.Helper()
	var others *sqlstore.UserObjectError
	if !errors.As(err, &others) || others.Kind != kind || !errors.Is(err, fsm.ErrSchemaMismatch) {
		t.Errorf("%v, want a refusal for the %s", err, kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v, want %q in it", err, w)
		}
	}
}

// A policy that hides rows of any table is refused at Open, whatever the policy says, and what the
// message advises helps. One that comes later is an error of the call.
func TestRowSecurityIsRefused(t *testing.T) {
	t.Parallel()
	n := newNeighbour(t)
	if err := n.open(t); err != nil {
		t.Fatal(err)
	}
	policies := []string{"", ` USING (true) WITH CHECK (true)`, ` FOR SELECT USING (false)`}
	for _, i := range some(len(parcelTables), 3) {
		table := parcelTables[i]
		n.run(t, `ALTER TABLE `+table+` ENABLE ROW LEVEL SECURITY`)
		if policy := policies[i%len(policies)]; policy != "" {
			n.run(t, `CREATE POLICY p ON `+table+policy)
		}
		refused(t, n.open(t), "row security", `"`+table+`"`, n.role)
		n.run(t, `ALTER ROLE "`+n.role+`" BYPASSRLS`)
		if err := n.open(t); err != nil {
			t.Errorf("%s: a role that sees all rows: %v", table, err)
		}
		n.run(t, `ALTER ROLE "`+n.role+`" NOBYPASSRLS; ALTER TABLE `+table+` DISABLE ROW LEVEL SECURITY; DROP POLICY IF EXISTS p ON `+table)
	}
	store, err := postgres.Open(t.Context(), n.dsn, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(n.schema), effects)
	if err != nil {
		t.Fatal(err)
	}
	n.run(t, `ALTER TABLE parcel ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON parcel USING ("id" <> 'hidden')`)
	if _, err := m.Count(t.Context()); !errors.Is(err, fsm.ErrDenied) {
		t.Errorf("a count under a policy that came later: %v, want ErrDenied", err)
	}
	if _, err := registerIn(t.Context(), m, "later", "l"); !errors.Is(err, fsm.ErrDenied) {
		t.Errorf("a creation under a policy that came later: %v, want ErrDenied", err)
	}
	if _, err := n.m.Count(t.Context()); err != nil {
		t.Errorf("the owner: %v", err)
	}
	refused(t, fsmimpl.Migrate(t.Context(), store, n.schema), "row security")
}

// A transaction of the caller's whose role sees fewer rows is refused.
func TestRowSecurityInATransaction(t *testing.T) {
	t.Parallel()
	n := newNeighbour(t)
	n.run(t, `ALTER TABLE parcel_events ENABLE ROW LEVEL SECURITY`)
	for _, role := range []string{"", n.role} {
		tx, err := n.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if role != "" {
			if _, err := tx.Exec(`SET LOCAL ROLE "` + role + `"`); err != nil {
				t.Fatal(err)
			}
		}
		joined, err := n.m.In(t.Context(), fsm.Join(n.store, tx))
		if err == nil {
			_, err = registerIn(t.Context(), joined, "p"+role, "l")
		}
		if hidden := (*sqlstore.UserObjectError)(nil); (role != "") != errors.As(err, &hidden) {
			t.Errorf("as %q: %v", role, err)
		}
		tx.Rollback()
	}
}

// A policy on a table of one machine stops no other one of the same store in a transaction of the
// caller's, whichever table it is, and whichever machine was opened first.
func TestRowSecurityOfAnotherMachine(t *testing.T) {
	t.Parallel()
	n := newNeighbour(t)
	crate := func(text string) string { return strings.ReplaceAll(text, "parcel", "crate") }
	other := storetest.Schema()
	other.Machine, other.Table, other.Hash, other.SQL = crate(other.Machine), crate(other.Table), crate(other.Hash), parcelSQL(t)
	other.SQL["postgres"] = crate(other.SQL["postgres"])
	if err := fsmimpl.Migrate(t.Context(), n.store, other); err != nil {
		t.Fatal(err)
	}
	crates, err := fsm.NewMachine(t.Context(), n.store, storetest.Descriptor(other), effects)
	if err != nil {
		t.Fatal(err)
	}
	n.run(t, `GRANT ALL ON ALL TABLES IN SCHEMA public TO "`+n.role+`"`)
	machines := map[string]*fsm.Machine[storetest.Parcel]{"parcel": n.m, "crate": crates}
	ends := []string{"", "_events", "_outbox", "_groups"}
	for _, i := range some(2*len(ends), 4) {
		hidden := []string{"parcel", "crate"}[i%2]
		table := hidden + ends[i/2]
		n.run(t, `ALTER TABLE `+table+` ENABLE ROW LEVEL SECURITY`)
		for name, m := range machines {
			tx, err := n.db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(`SET LOCAL ROLE "` + n.role + `"`); err != nil {
				t.Fatal(err)
			}
			in, err := m.In(t.Context(), fsm.Join(n.store, tx))
			if err == nil {
				_, err = registerIn(t.Context(), in, table, "l")
			}
			if kept := (*sqlstore.UserObjectError)(nil); errors.As(err, &kept) != (name == hidden) || name != hidden && err != nil {
				t.Errorf("a policy on %s, a call of %s: %v", table, name, err)
			}
			tx.Rollback()
		}
		n.run(t, `ALTER TABLE `+table+` DISABLE ROW LEVEL SECURITY`)
	}
}

// Each right that a role lacks is named at Open, and the GRANT of the message gives it. A program that
// only reads needs to read.
func TestRightsAreNamed(t *testing.T) {
	t.Parallel()
	n := newNeighbour(t)
	rights := []string{"SELECT", "INSERT", "UPDATE", "DELETE"}
	for _, i := range some(len(parcelTables)*len(rights), 8) {
		table, right := parcelTables[i/len(rights)], rights[i%len(rights)]
		n.run(t, `REVOKE `+right+` ON `+table+` FROM "`+n.role+`"`)
		err := n.open(t)
		if err != nil {
			refused(t, err, "role", table, right)
			_, grant, _ := strings.Cut(err.Error(), "; run ")
			n.run(t, strings.TrimSuffix(grant, " as the owner"))
			if err := n.open(t); err != nil {
				t.Errorf("%s on %s: after the GRANT of the message: %v", right, table, err)
			}
		} else if right == "SELECT" || right == "INSERT" && table != "fsm_meta" {
			t.Errorf("%s on %s: nothing is refused", right, table)
		}
		n.run(t, `GRANT `+right+` ON `+table+` TO "`+n.role+`"`)
	}
	n.run(t, `REVOKE ALL ON ALL TABLES IN SCHEMA public FROM "`+n.role+`"; GRANT SELECT ON fsm_meta, parcel, parcel_events TO "`+n.role+`"`)
	if err := n.open(t, postgres.WithReadOnly()); !errors.Is(err, sqlstore.ErrReadOnly) {
		t.Errorf("a program that reads: %v, want that it is open, and ErrReadOnly for the creation", err)
	}
}

// What stands between the store and a table is refused at Open and by Migrate.
func TestWhatStandsBetween(t *testing.T) {
	t.Parallel()
	n := newNeighbour(t)
	kinds := []string{"view", "child table", "rule", "partitioned table"}
	for _, i := range some(len(parcelTables)*len(kinds), 8) {
		table, kind := parcelTables[i/len(kinds)], kinds[i%len(kinds)]
		other := table + "_other"
		c := map[string][2]string{
			"view": {`ALTER TABLE ` + table + ` RENAME TO ` + other + `; CREATE VIEW ` + table + ` AS SELECT * FROM ` + other + `; GRANT ALL ON ` + table + ` TO "` + n.role + `"`,
				`DROP VIEW ` + table + `; ALTER TABLE ` + other + ` RENAME TO ` + table},
			"child table": {`CREATE TABLE ` + other + ` () INHERITS (` + table + `)`, `DROP TABLE ` + other},
			"rule":        {`CREATE RULE r AS ON DELETE TO ` + table + ` DO INSTEAD NOTHING`, `DROP RULE r ON ` + table},
			"partitioned table": {`ALTER TABLE ` + table + ` RENAME TO ` + other + `; CREATE TABLE ` + table + ` (LIKE ` + other + `) PARTITION BY HASH (` + key(table) + `)`,
				`DROP TABLE ` + table + `; ALTER TABLE ` + other + ` RENAME TO ` + table},
		}[kind]
		n.run(t, c[0])
		refused(t, n.open(t), kind, table)
		refused(t, fsmimpl.Migrate(t.Context(), n.store, n.schema), kind, table)
		n.run(t, c[1])
	}
	if err := n.open(t); err != nil {
		t.Errorf("without them: %v", err)
	}
}

// key is a column of a table that can divide it.
func key(table string) string {
	switch table {
	case "fsm_meta":
		return "machine"
	case "parcel_groups":
		return "name"
	}
	return "id"
}

// A role whose transactions only read is refused at Open, with the setting's name.
func TestReadOnlyByDefault(t *testing.T) {
	t.Parallel()
	n := newNeighbour(t)
	n.run(t, `ALTER ROLE "`+n.role+`" SET default_transaction_read_only = on`)
	if err := n.open(t); err == nil || !strings.Contains(err.Error(), "default_transaction_read_only") {
		t.Errorf("%v, want default_transaction_read_only in it", err)
	}
	n.run(t, `ALTER ROLE "`+n.role+`" RESET default_transaction_read_only`)
	if err := n.open(t); err != nil {
		t.Error(err)
	}
}
