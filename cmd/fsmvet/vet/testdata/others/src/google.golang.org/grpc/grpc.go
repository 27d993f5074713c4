// Package grpc stands for gRPC.
package grpc

// CallOption is an option of a call.
type CallOption interface{ before() }
