package taskinstance

import (
	"testing"

	"github.com/fsmgen/fsmgen/runtime/enginetest"
)

// TestEngine judges what fsmgen makes of the machine. A project that uses fsmgen has no such test.
func TestEngine(t *testing.T) { enginetest.Run(t, testTable, testDriver) }
