// Package world knows what a store has to hold after many calls. A user's test walks over
// each store by it; package enginetest judges the engine, the stores and the handles by it.
//
// It asks package oracle what a call does to one record. A World adds what follows from
// other records: places that are taken, picks, numbers, replays, triggers and effects. A
// Harness makes a call on an opened machine and on the World beside it, and compares both.
package world
