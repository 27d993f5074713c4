package cookbook

import (
	"context"
	"time"

	"example.com/cookbook/reminder"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// remind sends the reminders whose time has come.
func remind(ctx context.Context, reminders *reminder.Machine, send func(text string) error) error {
	if _, err := reminders.Sweep(ctx); err != nil { // scheduled -> due
		return err
	}
	for r, err := range reminders.List(ctx, reminder.StateDue) {
		if err == nil {
			err = send(r.Text)
		}
		if err == nil {
			_, err = reminders.Send(ctx, r, fsm.Call{RequestID: "send"})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// postpone gives a reminder that has not started another time. The caller makes a request id for each intention.
func postpone(ctx context.Context, reminders *reminder.Machine, r reminder.Reminder,
	requestID string, to time.Time) error {
	_, err := reminders.Move(ctx, r, reminder.MoveInput{StartAt: to}, fsm.Call{RequestID: requestID})
	return err
}
