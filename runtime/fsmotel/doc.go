// Package fsmotel makes OpenTelemetry spans and metrics of what a machine, its
// effects and its workers do. It is a module of its own, so that a program
// without it needs none of OpenTelemetry's.
//
//	watch, err := fsmotel.New()
//	m, err := lifecycle.Open(ctx, store, fsm.WithObserver(watch.Observer()))
//	stop, err := fsmotel.Measure(watch, m, fsmotel.MeasureOptions{})
//	w, err := lifecycle.NewWorker(m, "w1", lifecycle.WorkerConfig{
//		Work:          fsmotel.Work(watch, "lifecycle", work),
//		Failed:        failed,
//		Options: worker.Options{Lease: time.Minute, Observe: watch.Worker("lifecycle")},
//	})
//
// # Spans
//
// A span for each call ("lifecycle.complete"), of kind internal, within the span
// of the caller's context; one for each run of an effect ("lifecycle.pay
// effect charge"), within that of its call when it is atomic; and with Work one
// for each piece of work ("lifecycle work"), in which the calls of the work
// stand. What the driver of the database traces stands within the call. The ids
// of records and requests and the actor are attributes of spans only, never of
// metrics: there are too many of them.
//
// A refusal is an answer and no failure: the span has error.type, the code of the
// refusal, and no error status. The status is Error for what the operator has to
// know: an answer that was lost, an effect that failed, a store that does not
// serve, a record in quarantine.
//
// # Metrics
//
//	fsm.call.duration    histogram, s   of each call, by machine, operation and outcome
//	fsm.transitions      counter        of each event written, by machine, operation, from and to
//	fsm.replays          counter        of each call that was known, by machine and operation
//	fsm.effect.duration  histogram, s   of each run of an effect, by machine, effect and outcome
//	fsm.audit.duration   histogram, s   of each audit, by machine and outcome
//	fsm.audit.findings   gauge          of the findings of the last audit, by machine and check; 0 where there are none
//	fsm.clock.skew       gauge, s       how far the database's clock is ahead of the process's; 0: close enough
//	fsm.log.lag          gauge, s       age of the oldest committed event that Log and Watch hold back; 0: none
//	fsm.worker.events    counter        of what happens to a worker, by machine and kind
//	fsm.worker.work      up-down counter of the records worked on now, by machine
//	fsm.worker.stuck     up-down counter of the records whose work still runs though its context has ended, by machine
//	fsm.worker.duration  histogram, s   of each piece of work, by machine and kind
//
// What Measure adds asks the database: once in a minute at most, within 2 s, for no more than it can tell soon.
//
//	stop, err := fsmotel.Measure(watch, m, fsmotel.MeasureOptions{})
//
//	fsm.records          gauge          of the records, by machine and state; 100 000 stands for more
//	fsm.oldest.age       gauge, s       since when the record that moved last longest ago has not moved, by machine and
//	                                    state; not of terminal states
//	fsm.overdue          gauge          of the records whose deadline is over, by machine, operation and trigger
//	fsm.overdue.age      gauge, s       for how long the first of those deadlines is over
//	fsm.outbox.due       gauge          of the entries of the outbox that are due, of the first 1 000, by machine and effect
//	fsm.outbox.age       gauge, s       for how long the first of them is due
//	fsm.outbox.refused   gauge          of the deliveries that gave up and whose step is refused, by machine and effect
//	fsm.sweep.age        gauge, s       since when no sweep of this process has come to its end, by machine; none before the first
//	fsm.store.up         gauge          1: the store answered the last reading and takes writes; else 0
//	fsm.sound            gauge          1: the last check of all records found nothing (audit.Health.Sound); else 0
//	fsm.quarantined      gauge          of the records in quarantine, as the last check found them
//
// The oldest record of a state with more than 10 000 is the one in front of its line, where an operation with `next`
// takes records in the order of a time; where none does, its age is left out: no index serves it, and a scan of so
// many would cost the database too much. What was not answered in time is left out too.
//
// An outcome is "ok", "replayed", the code of a refusal ("stale"), or "error".
package fsmotel
