// Package fsmsqlmore is read with -tables=jobs, since it imports no generated package.
package fsmsqlmore

const (
	wrong = "UPDATE jobs SET state = 'done'" // want `UPDATE on jobs writes a table of the machine jobs past it`
	right = "UPDATE others SET state = 'done'"
)
