package etcdstore

import (
	"encoding/json"
	"errors"
	"strings"
)

// What the JSON gateway takes and returns. Keys and values are bytes, which
// encoding/json writes in base64 as the gateway does; int64 are quoted.

type rangeRequest struct {
	Key          []byte `json:"key"`
	RangeEnd     []byte `json:"range_end,omitempty"`
	Limit        int64  `json:"limit,omitempty,string"`
	Revision     int64  `json:"revision,omitempty,string"`
	Serializable bool   `json:"serializable,omitempty"`
	KeysOnly     bool   `json:"keys_only,omitempty"`
	CountOnly    bool   `json:"count_only,omitempty"`
	SortOrder    string `json:"sort_order,omitempty"`  // DESCEND, with
	SortTarget   string `json:"sort_target,omitempty"` // KEY: the last keys first
}

type putRequest struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value,omitempty"`
}

type deleteRequest struct {
	Key      []byte `json:"key"`
	RangeEnd []byte `json:"range_end,omitempty"`
}

type requestOp struct {
	Range  *rangeRequest  `json:"request_range,omitempty"`
	Put    *putRequest    `json:"request_put,omitempty"`
	Delete *deleteRequest `json:"request_delete_range,omitempty"`
	Txn    *txnRequest    `json:"request_txn,omitempty"`
}

// compare is one condition of a transaction. The zero revision is written too:
// it is what a key has that does not exist.
type compare struct {
	Key            []byte `json:"key"`
	RangeEnd       []byte `json:"range_end,omitempty"`
	Target         string `json:"target"` // MOD, CREATE or VALUE
	Result         string `json:"result"` // EQUAL, LESS
	ModRevision    *int64 `json:"mod_revision,omitempty,string"`
	CreateRevision *int64 `json:"create_revision,omitempty,string"`
	Value          []byte `json:"value,omitempty"`
}

// unchanged holds while the key is as it was at a revision of its own; 0: absent.
func unchanged(key string, mod int64) compare {
	return compare{Key: []byte(key), Target: "MOD", Result: "EQUAL", ModRevision: &mod}
}

// absent holds while no key of [from, to) exists; an empty to is the one key.
func absent(from, to string) compare {
	var zero int64
	c := compare{Key: []byte(from), Target: "CREATE", Result: "EQUAL", CreateRevision: &zero}
	if to != "" {
		c.RangeEnd = []byte(to)
	}
	return c
}

// holding holds while the key exists with this value.
func holding(key string, value []byte) compare {
	return compare{Key: []byte(key), Target: "VALUE", Result: "EQUAL", Value: value}
}

// before holds while the last change of a key, if it exists, is before a revision.
func before(key string, mod int64) compare {
	return compare{Key: []byte(key), Target: "MOD", Result: "LESS", ModRevision: &mod}
}

type txnRequest struct {
	Compare []compare   `json:"compare,omitempty"`
	Success []requestOp `json:"success,omitempty"`
	Failure []requestOp `json:"failure,omitempty"`
}

type header struct {
	Revision int64 `json:"revision,string"`
}

type keyValue struct {
	Key         []byte `json:"key"`
	Value       []byte `json:"value"`
	ModRevision int64  `json:"mod_revision,string"`
}

type rangeResponse struct {
	Header header     `json:"header"`
	KVs    []keyValue `json:"kvs"`
	More   bool       `json:"more"`
	Count  int64      `json:"count,string"`
}

type responseOp struct {
	Range *rangeResponse `json:"response_range"`
}

type txnResponse struct {
	Header    header       `json:"header"`
	Succeeded bool         `json:"succeeded"`
	Responses []responseOp `json:"responses"`
}

// at returns the revision of the store that an answer tells.
func (r *rangeResponse) at() int64 { return r.Header.Revision }
func (r *txnResponse) at() int64   { return r.Header.Revision }

// ranges returns the answers of the range requests of a transaction, in their
// order. The gateway writes an empty answer as {} or leaves it out.
func (r *txnResponse) ranges(n int) []rangeResponse {
	list := make([]rangeResponse, n)
	for i := range min(n, len(r.Responses)) {
		if got := r.Responses[i].Range; got != nil {
			list[i] = *got
		}
	}
	return list
}

// status is an error of the gateway: the code of gRPC and its text.
type status struct {
	HTTP    int
	Code    int
	Message string
}

// The codes of gRPC that decide something.
const (
	codeUnknown            = 2
	codeInvalidArgument    = 3
	codeNotFound           = 5
	codePermissionDenied   = 7
	codeResourceExhausted  = 8
	codeFailedPrecondition = 9
	codeOutOfRange         = 11
	codeUnimplemented      = 12
	codeUnauthenticated    = 16
)

// What a cluster says of a user. errors.Is finds them in the errors of Open and,
// below a refusal with fsm.CodeBusy, in those of calls: nothing was applied.
var (
	// ErrLogin: the cluster does not take the user and password, or wants one and
	// was given none. See WithUser.
	ErrLogin = errors.New("the cluster does not take this user and password")
	// ErrForbidden: the user's roles do not reach the keys below the prefix.
	ErrForbidden = errors.New("the user may not read or write these keys")
)

func (s *status) Error() string { return s.Message }

// Is tells errors.Is what the status means.
func (s *status) Is(target error) bool {
	switch target {
	case ErrLogin:
		return s.Code == codeUnauthenticated || s.says("authentication failed") || s.says("user name is empty") || s.says("user name not found")
	case ErrForbidden:
		return s.Code == codePermissionDenied
	}
	return false
}

func (s *status) says(words string) bool { return strings.Contains(s.Message, words) }

// readStatus makes an error out of an answer that is not 200. Whatever no
// gateway has written keeps code 0.
func readStatus(httpStatus int, line string, body []byte) *status {
	var said struct {
		Code    *int   `json:"code"`
		Message string `json:"message"`
		Error   string `json:"error"`
	}
	s := &status{HTTP: httpStatus, Message: "the server answered " + line}
	if json.Unmarshal(body, &said) != nil || said.Code == nil {
		return s
	}
	s.Code, s.Message = *said.Code, said.Message
	if s.Message == "" {
		s.Message = said.Error
	}
	return s
}

// refused reports whether the request was surely not applied.
func (s *status) refused() bool {
	switch s.Code {
	case codeInvalidArgument, codeNotFound, codePermissionDenied, codeResourceExhausted,
		codeFailedPrecondition, codeOutOfRange, codeUnimplemented, codeUnauthenticated:
		return true
	case codeUnknown:
		return s.says("raft proposal dropped")
	case 0:
		return s.HTTP >= 300 && s.HTTP < 500 && s.HTTP != 408
	}
	return false
}

// elsewhere reports whether another try, or another server, may do better.
func (s *status) elsewhere() bool {
	switch s.Code {
	case codeInvalidArgument, codeNotFound, codePermissionDenied, codeOutOfRange, codeUnimplemented, codeUnauthenticated:
		return false
	case codeResourceExhausted:
		return s.says("too many requests")
	case codeFailedPrecondition:
		return s.says("not leader") || s.says("not capable")
	case 0:
		return s.HTTP >= 500 || s.HTTP == 408 || s.HTTP == 429
	}
	return true
}

func (s *status) stale() bool {
	return s.says("invalid auth token") || s.says("revision of auth store is old") || s.says("user name is empty")
}

func (s *status) compacted() bool { return s.says("required revision has been compacted") }

func (s *status) future() bool { return s.says("required revision is a future revision") }

func (s *status) tooLarge() bool {
	return s.says("request is too large") || s.says("too many operations in txn request") ||
		s.says("message larger than max") || s.HTTP == 413
}
