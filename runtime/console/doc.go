// Package console shows the machines of a program in a browser: how many records are
// where, which are late, what happened to one of them, and whether the data are sound.
// It is an http.Handler that a program mounts beside its own pages:
//
//	h, err := console.New(console.Options{
//		Who: func(r *http.Request) (console.Viewer, error) { return console.Reader(userOf(r)), nil },
//		Machines: []console.Machine{console.Of(console.Place{Name: "production"}, jobs)},
//	})
//	mux.Handle("/console/", http.StripPrefix("/console", h))
//
// It guarantees that it writes nothing; that each request is judged by [Options.Who] and by
// the rights of who asks, on the server; that no page asks another host for anything; and
// that each of its queries ends: lists and counts are bounded, and no query runs longer than two seconds
// (an audit: a minute).
//
// What it does not do: it knows no login, users or passwords, which the program has.
package console
