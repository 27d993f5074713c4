package spec_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

func TestGoNames(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, exported string }{
		{"claim_next", "ClaimNext"},
		{"job_id", "JobID"},
		{"id", "ID"},
		{"id_list", "IDList"},
		{"http_url", "HTTPURL"},
		{"type", "Type"},
		{"a__b_", "AB"},
		{"retry2", "Retry2"},
		{"", ""},
	}
	for _, tt := range tests {
		if got := spec.GoName(tt.name); got != tt.exported {
			t.Errorf("GoName(%q) = %q, want %q", tt.name, got, tt.exported)
		}
	}
}
