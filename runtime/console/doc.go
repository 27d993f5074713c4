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
// It guarantees that each request is judged by [Options.Who] and by the rights of who asks, on
// the server; that all it does goes through the machine, as a step or an event with the viewer's name, at the
// revision that was shown, and once however often a form is sent; that no page asks another host for anything, and no
// other site can send a form; and that each of its queries ends: lists and counts are bounded, and no query runs
// longer than two seconds (an audit: a minute).
//
// What it does not do: it knows no login, users or passwords, which the program has. It writes no column, removes no
// record, and skips no guard. A machine that takes no revisions (`expected_rev: none`) compares none: there the
// console looks before the step, and a step that comes between is not seen.
package console
