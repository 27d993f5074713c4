package cookbook

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"example.com/cookbook/notice"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// poster is the effect of the machine notice.
type poster struct{ client *http.Client }

// Post runs after the commit, at least once: the receiver takes each key once.
func (p poster) Post(ctx context.Context, n notice.Notice, key string, _ fsm.Event) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.URL, strings.NewReader(n.Body.String()))
	if err != nil {
		return err
	}
	req.Header.Set("Idempotency-Key", key)
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("answered %s", resp.Status) // it is sent again, after a growing pause
	}
	return nil
}

// deliver empties the outbox until ctx ends.
func deliver(ctx context.Context, notices *notice.Machine, pause time.Duration) error {
	for ctx.Err() == nil {
		n, err := notices.Deliver(ctx)
		if err != nil {
			fmt.Println("to be sent again:", err)
		}
		if n == 0 {
			time.Sleep(pause)
		}
	}
	return ctx.Err()
}
