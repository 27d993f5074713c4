package etcdstore

import (
	"errors"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What a cluster says of a user. errors.Is finds them in the errors of Open and,
// below a refusal with fsm.ErrBusy, in those of calls: nothing was applied.
var (
	// ErrLogin: the cluster does not take the user and password, or wants one and
	// was given none.
	ErrLogin = errors.New("the cluster does not take this user and password")
	// ErrForbidden: the user's roles do not reach the keys below the prefix.
	ErrForbidden = errors.New("the user may not read or write these keys")
)

var errReadOnly = errors.New("the store was opened with WithReadOnly")

// kind is what a failed call means for its caller.
type kind int

const (
	ambiguous kind = iota + 1 // it may have been applied
	busy                      // it was not applied, and another try may do better
	denied                    // it was not applied, and is refused again until somebody changes the cluster
	login                     // refused, for the user or the password
	forbidden                 // refused, for the roles of the user
	tooLarge                  // refused, for its size
	compacted                 // the revision that was read at is gone
	full                      // it was not applied: the keyspace has reached its quota
	behind                    // the member has not reached the revision yet
)

// kinds says what the answers of etcd mean. For all others the code decides.
var kinds = map[error]kind{
	rpctypes.ErrCompacted:       compacted,
	rpctypes.ErrFutureRev:       behind,
	rpctypes.ErrTooManyOps:      tooLarge,
	rpctypes.ErrRequestTooLarge: tooLarge,
	rpctypes.ErrNoSpace:         full, // until somebody compacts and disarms the alarm
	rpctypes.ErrTooManyRequests: busy,
	rpctypes.ErrNotLeader:       busy,
	rpctypes.ErrNotCapable:      busy,
	rpctypes.ErrAuthFailed:      login,
	rpctypes.ErrUserEmpty:       login,
	rpctypes.ErrUserNotFound:    login,
	rpctypes.ErrAuthOldRevision: login,
}

// codeKinds says what the codes of gRPC mean. All others are ambiguous.
var codeKinds = map[codes.Code]kind{
	codes.InvalidArgument:    denied,
	codes.NotFound:           denied,
	codes.FailedPrecondition: denied,
	codes.OutOfRange:         denied,
	codes.Unimplemented:      denied,
	codes.Unauthenticated:    login,
	codes.PermissionDenied:   forbidden,
	codes.ResourceExhausted:  tooLarge, // of gRPC itself: a message above its limit
}

// unnamed are refusals that a member sends as a text alone, with no name and no code.
var unnamed = map[string]kind{
	"raft proposal dropped":           busy, // it has no leader for a write
	"auth: revision in header is old": busy, // of etcd 3.5.0, while users change
}

// kindOf says what the error of a call means.
func kindOf(err error) kind {
	var known *callError
	if errors.As(err, &known) {
		return known.kind
	}
	code := status.Code(err)
	var named rpctypes.EtcdError
	if errors.As(rpctypes.Error(err), &named) {
		if k, found := kinds[named]; found {
			return k
		}
		code = named.Code()
	}
	if k, found := codeKinds[code]; found {
		return k
	}
	if code == codes.Unknown {
		for text, k := range unnamed {
			if strings.Contains(err.Error(), text) {
				return k
			}
		}
	}
	return ambiguous
}

// callError is a failed call, and what that means.
type callError struct {
	kind kind
	err  error
}

func (e *callError) Error() string {
	text := e.err.Error()
	if s, ok := status.FromError(e.err); ok {
		text = s.Message()
	}
	switch e.kind {
	case login:
		return ErrLogin.Error() + ": " + text
	case forbidden:
		return ErrForbidden.Error() + ": " + text
	}
	return text
}

func (e *callError) Unwrap() error { return e.err }

// Is tells errors.Is what the error means.
func (e *callError) Is(target error) bool {
	return target == ErrLogin && e.kind == login || target == ErrForbidden && e.kind == forbidden
}

// failed reports whether a call failed so.
func failed(err error, k kind) bool {
	var e *callError
	return errors.As(err, &e) && e.kind == k
}
