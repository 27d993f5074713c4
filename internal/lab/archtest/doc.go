// Package archtest holds the test of the architecture: which package may import
// which. It has no other code.
package archtest
