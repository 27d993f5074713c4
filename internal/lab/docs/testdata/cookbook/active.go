package cookbook

import (
	"context"

	"example.com/cookbook/export"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// request starts an export, unless one of the account is queued or running: then it returns that one.
func request(ctx context.Context, exports *export.Machine, requestID, account string) (id string, existing bool, err error) {
	out, err := exports.Request(ctx, "", export.RequestInput{Account: account}, fsm.Call{RequestID: requestID})
	return out.Record.ID, out.Existing, err
}
