package etcdstore_test

import fsm "github.com/fsmgen/fsmgen/runtime"

type planted struct {
	name  string
	plant func(h *hand) // nil: crammed
	resum *fsm.Event    // the event whose checksum is made right afterwards
	want  string        // check and id
	open  string        // what the check at open counts; "refused": it does not open
	keep  bool          // with resum: the chain is left as it was
}

func at(id string, rev, n int64) *fsm.Event { return &fsm.Event{ID: id, Rev: rev, N: n} }

// members plants a fault that is members of the object under a key.
func members(key string, m object) func(*hand) { return func(h *hand) { h.edit(key, m) } }

func values(m object) object { return object{"values": m} }

func gone(key string) func(*hand) { return func(h *hand) { h.drop(key) } }

func all(plants ...func(*hand)) func(*hand) {
	return func(h *hand) {
		for _, p := range plants {
			p(h)
		}
	}
}

var corpus = []planted{
	{"nothing", func(*hand) {}, nil, "", "", false},
	{"C01 an unknown state", members(row("p4"), object{"state": "LIMBO"}), nil, "decode p4", "decode", false},
	{"C01 an unknown word", members(row("p1"), values(object{"size": "huge"})), nil, "decode p1", "decode", false},
	{"C01 no object at all", func(h *hand) { h.put(row("p4"), "{") }, nil, "decode p4", "decode", false},
	{"C01 a text for a number", members(row("p2"), values(object{"moves": "many"})), nil, "decode p2", "decode", false},
	{"C01 no time", members(row("p2"), object{"updated_at": "yesterday"}), nil, "decode p2", "decode", false},
	{"C02 a revision below 1", members(row("p4"), object{"rev": 0}), nil, "decode p4", "decode", false},
	{"C02 a counter below 0", members(row("p2"), values(object{"moves": -3})), nil, "decode p2", "decode", false},
	{"C03 a missing field", members(row("p1"), values(object{"holder": nil})), nil, "rule p1", "rule", false},
	{"C03 a field too many", members(row("p4"), values(object{"slot": "x"})), nil, "rule p4", "rule", false},
	{"C04 a place held twice", all(members(row("p3"), values(object{"slot": "slot-p2"})),
		members(event("p3", 3, 0), object{"changes": object{"slot": "slot-p2"}})), at("p3", 3, 0), "unique p2", "refused", false},
	{"C04 a key used twice", all(members(row("p4"), values(object{"label": "p3"})),
		members(event("p4", 1, 0), object{"changes": object{"label": "p3"}, "image": object{"label": "p3"}})), at("p4", 1, 0), "unique p3", "refused", false},
	{"C05 a missing revision", gone(event("p1", 40, 0)), nil, "revision p1", "", false},
	{"C05 a missing record-only event", gone(event("p1", 72, 2)), nil, "number p1", "", false},
	{"C06 a broken chain", members(event("p1", 72, 0), object{"from": "shelved"}), at("p1", 72, 0), "chain p1", "", false},
	{"C07 an unknown operation", members(event("p1", 50, 0), object{"operation": "teleport", "name": "teleport"}), at("p1", 50, 0), "edge p1", "", false},
	{"C07 an illegal move", members(event("p2", 2, 0), object{"operation": "send", "name": "send"}), at("p2", 2, 0), "edge p2", "", false},
	{"C08 another state", members(row("p1"), object{"state": "waiting", "values": object{"holder": nil, "due": nil}}), nil, "fold p1", "fold", false},
	{"C08 another state, in the indexes too", all(members(row("p1"), object{"state": "waiting", "values": object{"holder": nil, "due": nil}}),
		gone("i/held\x00p1"), func(h *hand) { h.put("i/waiting\x00p1", "") }, func(h *hand) { h.put("c/one_per_slot\x00\x01none\x00", "p1") }), nil, "fold p1", "fold", false},
	{"C08 another value", members(row("p4"), values(object{"lane": "z"})), nil, "fold p4", "", false},
	{"C08 another time", members(row("p5"), object{"updated_at": "2026-05-04T03:02:01.000001Z"}), nil, "fold p5", "", false},
	{"C08 a terminal record taken up again", members(row("p5"), object{"state": "waiting"}), nil, "fold p5", "fold", false},
	{"C08 a revision too many", members(row("p2"), object{"rev": 4}), nil, "fold p2", "fold", false},
	{"C08 a record without a log", gone(event("p4", 1, 0)), nil, "fold p4", "fold", false},
	{"C09 events beyond the record", members(row("p2"), object{"rev": 2, "state": "held",
		"values": object{"slot": nil, "moves": 0, "tags": "[]", "holder": "ann", "due": "2026-05-04T03:02:01.000000Z"}}), nil, "beyond p2", "fold", false},
	{"C10 a log without its record", gone(row("p3")), nil, "orphan p3", "", false},
	{"C11 a request twice in a record", members(event("p1", 30, 0), object{"request_id": "note-3"}), at("p1", 30, 0), "request p1", "", false},
	{"C11 a request twice in the machine", members(event("p4", 1, 0), object{"request_id": "new-p3"}), at("p4", 1, 0), "request p4", "", false},
	{"an altered actor", members(event("p1", 33, 0), object{"actor": "eve"}), nil, "checksum p1", "", false},
	{"an altered time", members(event("p1", 33, 0), object{"at": "2026-05-04T03:02:00.999999Z"}), nil, "checksum p1", "", false},
	{"an altered guard", members(event("p1", 72, 1), object{"guard": nil}), nil, "checksum p1", "", false},
	{"another change", members(event("p1", 30, 0), object{"changes": object{"size": "large"}}), at("p1", 30, 0), "fold p1", "", false},
	{"another image", members(event("p1", 64, 0), object{"image": object{"lane": "b"}}), at("p1", 64, 0), "fold p1", "", false},
	{"an actor edited with care", members(event("p1", 33, 0), object{"actor": "eve"}), at("p1", 33, 0), "history p1", "", true},
	{"a recorded call edited with care", members(event("p1", 72, 2), object{"actor": "eve"}), at("p1", 72, 2), "history p1", "", true},
	{"history and record edited alike", all(members(row("p4"), values(object{"lane": "z"})),
		members(event("p4", 1, 0), object{"changes": object{"lane": "z"}, "image": object{"lane": "z"}})), at("p4", 1, 0), "history p4", "", true},
	{"a state's key that is missing", gone("i/waiting\x00p4"), nil, "index p4", "", false},
	{"a deadline's key that is missing", func(h *hand) { h.drop(h.found("x/due.release\x00", "p1")) }, nil, "index p1", "", false},
	{"a deadline's key that says another state", func(h *hand) { h.put(h.found("x/due.release\x00", "p1"), "waiting\x00p1") }, nil, "index p1", "", false},
	{"a state's key that is left over", func(h *hand) { h.put("i/waiting\x00p2", "") }, nil, "index p2", "", false},
	{"a key of no record", func(h *hand) { h.put("i/waiting\x00p9", "") }, nil, "index p9", "", false},
	{"a place that is missing", func(h *hand) { h.drop(h.found("c/one_per_slot\x00", "p2")) }, nil, "index p2", "", false},
	{"a place that another one has", func(h *hand) { h.put(h.found("c/one_per_slot\x00", "p2"), "p4") }, nil, "index p2", "", false},
	{"a place that is left over", func(h *hand) { h.put("c/one_per_slot\x00\x01none\x00", "p3") }, nil, "index p3", "", false},
	{"an event that is no JSON", func(h *hand) { h.put(event("p1", 50, 0), "{") }, nil, "checksum p1", "", false},
	{"a move that is no JSON", func(h *hand) { h.put(event("p2", 2, 0), "null null") }, nil, "checksum p2", "", false},
	{"a recorded call that is no JSON", func(h *hand) { h.put(event("p1", 72, 2), "[]") }, nil, "checksum p1", "", false},
	{"a creation that is no JSON", func(h *hand) { h.put(event("p4", 1, 0), "") }, nil, "checksum p4", "fold", false},
	{"a newest event that is no JSON", func(h *hand) { h.put(event("p5", 4, 0), "?") }, nil, "checksum p5", "fold", false},
	{"a guard that was passed by", nil, nil, "projection p7", "", false},
	{"a chain that was edited", members(event("p2", 2, 0), object{"chain": 7}), nil, "history p2", "", false},
}
