// Package fsmotel makes OpenTelemetry spans and metrics of what a machine, its
// effects and its workers do. It is a module of its own, so that a program
// without it needs none of OpenTelemetry's.
//
//	watch, err := fsmotel.New()
//	m, err := lifecycle.Open(ctx, store, fsm.WithObserver(watch.Observer()))
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
// An outcome is "ok", "replayed", the code of a refusal ("stale"), or "error".
package fsmotel
