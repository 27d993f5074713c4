package etcdstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fsmgen/fsmgen/runtime/etcdstore"
)

// An error never holds a password, wherever somebody put it in an address.
func FuzzPasswordInAnEndpoint(f *testing.F) {
	for _, form := range []string{
		"user:PASSWORD@host:2379", "http://user:PASSWORD@host:2379", "https://host:2379?password=PASSWORD", "http://u:a/PASSWORD@host:1",
		"http://u:1/PASSWORD@host:1", "http://u:%zzPASSWORD@host:1", "http://host:1#PASSWORD", "http://u:1?PASSWORD@host", "PASSWORD", "http://u:PASSWORD", "http://[PASSWORD",
	} {
		f.Add(form)
	}
	f.Fuzz(func(t *testing.T, form string) {
		const password = "s3cr3t-9f2"
		if !strings.Contains(form, "PASSWORD") || asHost(form) {
			t.Skip()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond) // nobody is asked
		defer cancel()
		_, err := etcdstore.Open(ctx, clientv3.Config{Endpoints: []string{strings.ReplaceAll(form, "PASSWORD", password)}, Logger: zap.NewNop()})
		if err == nil || strings.Contains(err.Error(), password) {
			t.Errorf("%s: %v", form, err)
		}
	})
}

// asHost reports whether the word stands where a host and its path do, in an
// address with nothing else that could be taken for a password.
func asHost(form string) bool { return !strings.ContainsAny(form, "@?#") }
