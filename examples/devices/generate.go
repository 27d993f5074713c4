// Package devices holds machines of devices and forms without a store, with the work that
// belongs to their steps. README.md says what each shows.
package devices

//go:generate go tool fsmgen gen atm.yaml
//go:generate go tool fsmgen gen lift.yaml
//go:generate go tool fsmgen gen light.yaml
//go:generate go tool fsmgen gen wizard.yaml
