module github.com/fsmgen/fsmgen/internal/bench

go 1.26.0

require (
	github.com/anggasct/fluo v1.0.0
	github.com/fsmgen/fsmgen v0.0.0
	github.com/google/go-cmp v0.7.0
	github.com/looplab/fsm v1.0.3
	github.com/qmuntal/stateless v1.7.2
)

replace github.com/fsmgen/fsmgen => ../..
