package spec_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

func TestGoNames(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, exported, local string }{
		{"claim_next", "ClaimNext", "claimNext"},
		{"job_id", "JobID", "jobID"},
		{"id", "ID", "id"},
		{"id_list", "IDList", "idList"},
		{"http_url", "HTTPURL", "httpURL"},
		{"type", "Type", "type_"},
		{"a__b_", "AB", "aB"},
		{"retry2", "Retry2", "retry2"},
		{"", "", ""},
	}
	for _, tt := range tests {
		if got := spec.GoName(tt.name); got != tt.exported {
			t.Errorf("GoName(%q) = %q, want %q", tt.name, got, tt.exported)
		}
		if got := spec.GoLocal(tt.name); got != tt.local {
			t.Errorf("GoLocal(%q) = %q, want %q", tt.name, got, tt.local)
		}
	}
}
