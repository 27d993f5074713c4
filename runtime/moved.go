package fsm

import (
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// Names that have moved to package driver, which stores implement, and to package
// fsmimpl, which generated code calls.
type (
	Blurred              = driver.Blurred
	Bulk                 = driver.Bulk
	Column               = driver.Column
	Cond                 = driver.Cond
	ConflictError        = driver.ConflictError
	Cursor               = driver.Cursor
	Delivery             = driver.Delivery
	Demand               = driver.Demand
	Double               = driver.Double
	Entry                = driver.Entry
	Event                = driver.Event
	EventError           = driver.EventError
	Failing              = driver.Failing
	Forgetter            = driver.Forgetter
	Index                = driver.Index
	Indexed              = driver.Indexed
	Input                = driver.Input
	Inspector            = driver.Inspector
	JSON                 = driver.JSON
	Kind                 = driver.Kind
	ManyTx               = driver.ManyTx
	Misindexed           = driver.Misindexed
	Op                   = driver.Op
	Order                = driver.Order
	ParkRule             = driver.ParkRule
	Parked               = driver.Parked
	Parking              = driver.Parking
	ParkingTx            = driver.ParkingTx
	Patient              = driver.Patient
	PeerQuery            = driver.PeerQuery
	Query                = driver.Query
	Reader               = driver.Reader
	Redactor             = driver.Redactor
	Ref                  = driver.Ref
	Repairer             = driver.Repairer
	RetiredError         = driver.RetiredError
	Retirer              = driver.Retirer
	Row                  = driver.Row
	Schema               = driver.Schema
	Set                  = driver.Set
	SpecID               = driver.SpecID
	StateInfo            = driver.StateInfo
	Store                = driver.Store
	Table                = driver.Table
	TombstoneReader      = driver.TombstoneReader
	Transactional[T any] = driver.Transactional[T]
	Tx                   = driver.Tx
	UniqueRule           = driver.UniqueRule
	Write                = driver.Write
	Actor                = fsmimpl.Actor
	Call[R any]          = fsmimpl.Call[R]
	Class                = fsmimpl.Class
	Descriptor[R any]    = fsmimpl.Descriptor[R]
	EffectFunc[R any]    = fsmimpl.EffectFunc[R]
	EffectInfo[R any]    = fsmimpl.EffectInfo[R]
	Feed                 = fsmimpl.Feed
	Item[R any]          = fsmimpl.Item[R]
	Move                 = fsmimpl.Move
	Operation[R any]     = fsmimpl.Operation[R]
	Projection           = fsmimpl.Projection
	ProjectionRule       = fsmimpl.ProjectionRule
	Step                 = fsmimpl.Step
	Target               = fsmimpl.Target
	Trigger              = fsmimpl.Trigger
	Violation            = fsmimpl.Violation
)

const (
	AsItIs          = driver.AsItIs
	KindBool        = driver.KindBool
	KindCounter     = driver.KindCounter
	KindEnum        = driver.KindEnum
	KindInt         = driver.KindInt
	KindJSON        = driver.KindJSON
	KindSequence    = driver.KindSequence
	KindSet         = driver.KindSet
	KindString      = driver.KindString
	KindTime        = driver.KindTime
	MaxCall         = driver.MaxCall
	MaxDepth        = driver.MaxDepth
	MaxID           = driver.MaxID
	MaxIndexed      = driver.MaxIndexed
	Never           = driver.Never
	OpAbsent        = driver.OpAbsent
	OpEq            = driver.OpEq
	OpGe            = driver.OpGe
	OpGt            = driver.OpGt
	OpLe            = driver.OpLe
	OpLt            = driver.OpLt
	OpNe            = driver.OpNe
	OpPresent       = driver.OpPresent
	Optionally      = driver.Optionally
	Required        = driver.Required
	SystemActor     = driver.SystemActor
	ByCaller        = fsmimpl.ByCaller
	ByOperator      = fsmimpl.ByOperator
	BySystem        = fsmimpl.BySystem
	ClassRecordOnly = fsmimpl.ClassRecordOnly
	ClassReject     = fsmimpl.ClassReject
	ClassTransition = fsmimpl.ClassTransition
	Generated1      = fsmimpl.Generated1
)

var (
	Chained         = driver.Chained
	CheckID         = driver.CheckID
	CheckSet        = driver.CheckSet
	CheckText       = driver.CheckText
	Checksum        = driver.Checksum
	ErrClosed       = driver.ErrClosed
	ErrCursor       = driver.ErrCursor
	ErrHeld         = driver.ErrHeld
	ErrIDTaken      = driver.ErrIDTaken
	ErrInside       = driver.ErrInside
	ErrMoved        = driver.ErrMoved
	ErrRequestTaken = driver.ErrRequestTaken
	ErrStir         = driver.ErrStir
	Fingerprint     = driver.Fingerprint
	FoldRow         = driver.FoldRow
	Inside          = driver.Inside
	MarshalValue    = driver.MarshalValue
	MustJSON        = driver.MustJSON
	NewID           = driver.NewID
	NewSet          = driver.NewSet
	ParseJSON       = driver.ParseJSON
	Time            = driver.Time
	EffectKey       = fsmimpl.EffectKey
	EndRollOut      = fsmimpl.EndRollOut
	Migrate         = fsmimpl.Migrate
)

// Fold is fsmimpl.Fold.
func Fold[R any](d *Descriptor[R], events []Event) (R, error) { return fsmimpl.Fold(d, events) }
