// Package serve is the local page of `fsmgen serve`: it shows machines, lets a
// person step through them, runs the bounded model checker and shows what a
// database holds.
//
// What it answers about a specification is in package answers. What an operation does
// is decided by package interp and nowhere else: the page
// sends the steps so far, and the server plays them from the beginning. So the
// server keeps no session, undo is a shorter list, and a session survives a change
// of the file as long as it can be played again.
//
// It guarantees that nothing is written, neither a file nor a database; that the
// page needs nothing from another host; that names and values, which may be
// hostile, reach the page as text alone; and that a page of another origin cannot
// use it: requests must name the address that is listened on (a name that a
// stranger's DNS leads there is refused) and come from the page itself.
//
// It has no login. Who can reach the address can read what it shows.
package serve
