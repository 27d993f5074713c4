// Package claims holds the test of claims by several processes: workers of one
// queue in 1, 3 and 8 of them, some killed while they work; and those of what stands
// in front and cannot be taken. Counts of others are raced, where a lock is enough and where it is not.
package claims

//go:generate go tool fsmgen gen slot.yaml owner.yaml --engine-tests
//go:generate go tool fsmgen gen parcel.yaml --test-store sqlite,postgres --engine-tests
//go:generate go tool fsmgen gen load.yaml box.yaml --test-store sqlite,postgres --engine-tests
//go:generate go tool fsmgen gen account.yaml transfer.yaml
//go:generate go tool fsmgen gen van.yaml
//go:generate go tool fsmgen gen seat.yaml desk.yaml
//go:generate go tool fsmgen gen desk2.yaml --beside desk.yaml --package desk2 --output desk2
