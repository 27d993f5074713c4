// Package specs holds the specifications of five machines and the tests of the
// rules that they capture; docs has a page for each.
package specs

//go:generate go tool fsmgen docs execution.yaml -o docs/execution.md
//go:generate go tool fsmgen docs ingest.yaml -o docs/ingest.md
//go:generate go tool fsmgen docs jobstate.yaml -o docs/jobstate.md
//go:generate go tool fsmgen docs lifecycle.yaml -o docs/lifecycle.md
//go:generate go tool fsmgen docs task.yaml -o docs/task.md
