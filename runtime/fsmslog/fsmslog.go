// Package fsmslog writes the transitions of machines to a log of log/slog.
//
//	m, err := lifecycle.Open(ctx, store, fsm.WithObserver(fsmslog.Observer(slog.Default(), fsmslog.Options{})))
//
// Each event is one record at Info: "transition", or "recorded" for a call that was only recorded, with machine, id,
// operation, event, from, to, rev, actor, reason, request_id and duration; states, operations and events in their stored
// words. A call that was known is "replayed". A refusal is at Debug, with its code. A fault ([fsm.Observation.Fault]) is at
// Error with its text, and an effect that failed is at Warn: mostly it is tried again. No input and no field is
// written; the text of a fault is that of the database or of the effect.
//
// What the handler does not take at its level costs nothing but that question.
package fsmslog

import (
	"context"
	"errors"
	"log/slog"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// Options say what the records leave out.
type Options struct {
	NoActor  bool // who made a call
	NoReason bool // and why
}

// Observer returns what [fsm.WithObserver] takes, for any machine.
func Observer(l *slog.Logger, o Options) fsm.Observer {
	return func(ctx context.Context, c fsm.Observed) (context.Context, func(fsm.Observation)) {
		if c.Clock || c.Log || c.Audit || !l.Enabled(ctx, slog.LevelError) {
			return ctx, nil
		}
		call, began := c, time.Now() // the copy goes to the heap, and only here
		return ctx, func(end fsm.Observation) { logged(ctx, l, o, &call, &end, began) }
	}
}

// logged writes how a call ended.
func logged(ctx context.Context, l *slog.Logger, o Options, c *fsm.Observed, end *fsm.Observation, began time.Time) {
	level, text := slog.LevelInfo, ""
	switch {
	case end.Err != nil && c.Effect != "":
		level, text = slog.LevelWarn, "effect failed"
	case errors.Is(end.Err, context.Canceled) && !errors.Is(end.Err, fsm.ErrAmbiguous):
		level, text = slog.LevelDebug, "cancelled"
	case end.Err != nil && end.Fault():
		level, text = slog.LevelError, "fault"
	case end.Err != nil:
		level, text = slog.LevelDebug, "refused"
	case c.Effect != "":
		return
	}
	if !l.Enabled(ctx, level) {
		return
	}
	took := time.Since(began)
	said := func(list []slog.Attr, name, value string) []slog.Attr {
		if value == "" {
			return list
		}
		return append(list, slog.String(name, value))
	}
	call := append(make([]slog.Attr, 0, 12), slog.String("machine", c.Machine))
	if text == "" && end.Replayed > 0 {
		list := said(append(call, slog.String("operation", c.Operation)), "id", c.ID)
		list = said(list, "request_id", c.RequestID)
		l.LogAttrs(ctx, level, "replayed", append(list, slog.Int("calls", end.Replayed), slog.Duration("duration", took))...)
	}
	for i := range end.Events {
		e := &end.Events[i]
		word := "transition"
		if e.RecordOnly() {
			word = "recorded"
		}
		list := append(call, slog.String("id", e.ID), slog.String("operation", e.Operation), slog.String("event", e.Name),
			slog.String("from", e.From), slog.String("to", e.To), slog.Int64("rev", e.Rev))
		if !o.NoActor {
			list = said(list, "actor", e.Actor)
		}
		if !o.NoReason {
			list = said(list, "reason", e.Reason)
		}
		list = said(said(list, "guard", e.Guard), "request_id", e.RequestID)
		l.LogAttrs(ctx, level, word, append(list, slog.Duration("duration", took))...)
	}
	if text == "" {
		return
	}
	list := said(said(append(call, slog.String("operation", c.Operation)), "effect", c.Effect), "id", c.ID)
	if !o.NoActor {
		list = said(list, "actor", c.Actor)
	}
	list = append(said(list, "request_id", c.RequestID), slog.String("code", end.Outcome()))
	if level >= slog.LevelWarn {
		list = append(list, slog.String("error", end.Err.Error()))
	}
	l.LogAttrs(ctx, level, text, append(list, slog.Duration("duration", took))...)
}
