// Package campaign divides the tests: what breaks processes and servers, or compiles
// many packages to throw them away, runs in the short form of its campaign
// (make campaigns, as CI does), not with every make test.
package campaign

import (
	"os"
	"testing"
)

// On says that the tests of campaigns run.
func On() bool {
	return os.Getenv("FSMGEN_CAMPAIGNS") == "1" || os.Getenv("FSMGEN_FAULTS_LONG") == "1"
}

// Only skips a test outside of a campaign.
func Only(t testing.TB) {
	t.Helper()
	if !On() {
		t.Skip("part of a campaign: make campaigns runs it, or FSMGEN_CAMPAIGNS=1")
	}
}
