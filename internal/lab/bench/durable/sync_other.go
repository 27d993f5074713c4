//go:build !linux

package durable

import "os"

// dataSync waits until what was written to the file is on the disk.
func dataSync(f *os.File) error { return f.Sync() }
