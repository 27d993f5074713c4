// Package etcdstore keeps machines in an etcd cluster, 3.5 or later, for users
// who have outgrown one database server. It is a module of its own and uses etcd's
// client (go.etcd.io/etcd/client/v3). The conformance suite, the corpus of planted
// faults, TLS with client certificates, and passwords are tested on real servers of
// the versions 3.5.0, 3.5.35, 3.6.16 and 3.7.3; faults of servers on 3.7.3.
//
//	store, err := etcdstore.Open(ctx, clientv3.Config{
//		Endpoints: []string{"https://etcd-1:2379", "https://etcd-2:2379", "https://etcd-3:2379"},
//		TLS:       tlsConfig, Username: "jobs", Password: password,
//	}, etcdstore.WithPrefix("shop/"))
//
// New takes a client that the program has. The user needs a role that reads and writes
// the keys which begin with the prefix, no other. Without TLS, the password is sent as
// it is. The client says on stderr what fails; clientv3.Config.Logger changes that.
//
// # What holds
//
// A transition is one transaction of etcd: the row, its event, the request id,
// the indexes, the unique places and the outbox are put together, under compares
// of all that the decision was made on. An acknowledged one is on the disks of a
// quorum. Reads are linearizable; one View reads one revision of the store. If
// that is compacted meanwhile the View ends with fsm.ErrBusy, so keep more than
// some seconds of revisions (--auto-compaction-retention).
//
// A caller who holds the record needs one round trip, in which the row is
// compared byte by byte; the other branch of the same transaction says why not.
// Everything else reads, decides and writes under compares of what it read
// (Update), and runs again when another writer came between. An atomic effect is
// part of that: it may run more than once, and its writes take part once.
//
// The row also holds the chain of its newest event (fsm.Event.Chain), so the next
// event is chained to it without a look at the log. A holder whose record was
// neither read nor written through this store lately has one round trip more.
//
// Purge leaves two events of a record, emptied, and their request ids; Repair
// reads all index keys of the machine, since nobody knows what a hand did there.
// The audit compares the index keys with the rows (audit.CheckIndex), and Repair
// makes those of a record anew; a key that names no record at all is told by its
// name, and deleted by hand.
//
// The client spreads the tries over the members that it has a connection to. A try has
// one second (WithTryTimeout); reads are repeated, and writes that were surely not
// applied. A member that hangs keeps its connection until the client's keep-alive
// notices, 13 s by default. Until then some tries meet it. The client of Open draws the
// less busy of two members for each try. A client of your own takes them by turns, and
// may meet the one that hangs at each write of one caller.
//
// When the answer to a write is lost after it was sent, by a
// timeout, a cut or an error of the server, the outcome is open: the engine
// looks the request id up, and when it cannot, the call returns
// *fsm.AmbiguousError. What no member could be sent is fsm.ErrBusy. When the
// leader is lost, the cluster elects another one within some seconds; calls
// wait for it as long as their context lets them.
//
// How long a cluster is without a leader is the members' affair, and the store adds
// at most one try. Measured in internal/lab/e2e, from the start of two members of three
// that were killed to the next acknowledgement: 0.5 to 1.4 s. A member that stands
// still for longer than the election timeout (--election-timeout, 1 s) spoils the
// election, and another one begins: with stalls of up to 0.5, 1 and 2 s at a time,
// each member for itself, it took up to 2.6, 2.7 and 14.7 s. Such stalls come from
// a disk or a machine that is shared with too much else; a longer election timeout
// outlasts them.
//
// # What does not
//
// There is no transaction of SQL to join: a Store is no fsm.Transactional, so
// code generated for atomic effects on a *sql.Tx does not compile with it.
// Effects in other systems go through the outbox, at least once.
//
// Everything of a record is in etcd, which is made for gigabytes at most: its
// quota is 2 GiB unless --quota-backend-bytes says otherwise (8 GiB is advised as
// the most). Every transition adds its event for good. Switch
// --auto-compaction-retention on and defragment now and then.
//
// A transaction takes 1.5 MiB (--max-request-bytes), payloads and, for a caller
// who holds the record, the row before it included, and 128 operations at a
// level (--max-txn-ops); the store nests levels, so that about 300 records fit
// into one batch. What is larger is refused with fsm.ErrTooLarge. A batch that
// reads more than about 50 records compares the whole table: under a steady load
// of other writers it may end with fsm.ErrBusy.
//
// Queries use the indexes that the specification leads to: unique rules, `next`,
// deadlines, groups, the projection's key, states. Other conditions and orders
// read all rows of the states asked for and sort them here.
//
// # Keys
//
// Below the prefix and the name of the machine's table, with NUL between the
// parts that callers choose:
//
//	layout, meta          what the keys are made for; every write compares layout
//	written               put by every write: one compare holds the table still
//	r/ID                  the record
//	e/ID NUL REV[.N]      its log
//	l/SINCE NUL ID NUL .. the log of all records, by a revision of etcd before the event's
//	q/ID NUL REQUEST      where the event of a request is, in the scope of the record
//	m/REQUEST NUL N       and in that of the machine
//	c/RULE NUL VALUES     whose a unique place is
//	i/STATE NUL ID        the records of a state
//	x/INDEX NUL VALUES    the indexes, in their order; of a sequence too, where its group has an absent value
//	g/INDEX NUL VALUES    put when a group's members change
//	n/SEQUENCE NUL VALUES the last number of a sequence
//	o/ID NUL REV[.N]      the outbox; N: of what a commit asked for beside the first
//	d/EFFECT NUL 0|1 DUE NUL ID NUL REV[.N]  and when it is due; 0: it was not tried yet
//
// Values are JSON. The store uses the deadlines in the records and none of
// etcd's leases: what leaves a state by time is a transition with an event.
package etcdstore
