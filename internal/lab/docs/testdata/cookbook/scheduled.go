package cookbook

import (
	"context"
	"time"

	"example.com/cookbook/reminder"
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
			_, err = reminders.Send(ctx, r, reminder.SendRequest{RequestID: "send"})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// postpone gives a reminder that has not started another time.
func postpone(ctx context.Context, reminders *reminder.Machine, r reminder.Reminder, to time.Time) error {
	_, err := reminders.Move(ctx, r, reminder.MoveRequest{RequestID: "move to " + to.String(), StartAt: to})
	return err
}
