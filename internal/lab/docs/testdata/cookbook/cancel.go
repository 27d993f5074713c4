package cookbook

import (
	"context"
	"errors"

	"example.com/cookbook/build"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// upload is the next step of a worker. A build that was cancelled meanwhile is no failure: the work just ends.
func upload(ctx context.Context, running build.RunningBuild) (cancelled bool, err error) {
	_, err = running.Upload(ctx)
	if errors.Is(err, fsm.ErrStale) || errors.Is(err, fsm.ErrTerminal) {
		return true, nil
	}
	return false, err
}
