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
// the server; that what it does to a record goes through the machine, as an event with the viewer's name; that a step
// is made at the revision that was shown, and once however often its form is sent; that no page asks another host for anything, and no
// other site can send a form; and that each of its queries ends: lists and counts are bounded, and no query runs
// longer than two seconds (an audit: a minute). An event that cannot be read hides nothing but itself.
//
// What it does not do: it knows no login, users or passwords, which the program has. It writes no column, skips no
// guard, and removes no record but its own runs (see [Options.KeepRuns]). That an effect is tried now leaves no event. A
// machine without request ids or revisions (`request_id: none`, `expected_rev: none`) sees to neither: there the console
// looks before a step, which another process may still come between.
package console
