package faults_test

import (
	"io"
	"log/slog"

	"github.com/fsmgen/fsmgen/runtime/postgres"
)

// quiet keeps the warnings about the throw-away server's settings out of the output.
var quiet = postgres.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
