//go:build !linux

package main

import "os"

// syncData writes a file to its disk.
func syncData(f *os.File) error { return f.Sync() }
