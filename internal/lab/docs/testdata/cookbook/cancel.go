package cookbook

import (
	"context"

	"example.com/cookbook/build"
)

// upload is the next step of a worker. A build that was cancelled meanwhile is no failure: the work just ends.
func upload(ctx context.Context, running build.RunningBuild) (cancelled bool, err error) {
	_, err = running.Upload(ctx)
	if state, ok := build.StateOf(err); ok && state == build.StateCancelled {
		return true, nil
	}
	return false, err
}
