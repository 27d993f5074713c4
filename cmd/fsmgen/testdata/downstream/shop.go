// Package shop sends parcels.
package shop

//go:generate go tool fsmgen gen parcel.yaml
