package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/postgres"
)

// An error never holds a password, in neither form of an address, whatever is wrong
// with it.
func FuzzPasswordInAnAddress(f *testing.F) {
	for _, seed := range [][2]string{
		{"postgres://u:PASSWORD@127.0.0.1:1/d", "s3cr3t"}, {"host=127.0.0.1 port=1 user=u password=PASSWORD dbname=d", "s3cr3t"},
		{"postgres://u:PASSWORD@127.0.0.1:1/d", "12/s3cr3t"}, {"postgres://u:PASSWORD@127.0.0.1:1/d", "12?s3cr3t"}, {"postgres://u:PASSWORD@127.0.0.1:1/d", "1#s3cr3t"},
		{"postgres://u:PASSWORD@127.0.0.1:1/d", "1@2/s3cr3t"}, {"postgres://u:PASSWORD@127.0.0.1:1/d", "%zzs3cr3t"}, {"postgres://127.0.0.1:1/d?password=PASSWORD", "s3cr3t"},
		{"host=127.0.0.1 port=1 password='PASSWORD", "s3cr3t"}, {"host=127.0.0.1 port=x password=PASSWORD", "s3cr3t"}, {"password=PASSWORD host=127.0.0.1 port=1 sslmode=none", "s3cr3t"},
	} {
		f.Add(seed[0], seed[1])
	}
	forms := map[string]bool{
		"postgres://u:PASSWORD@127.0.0.1:1/d": true, "postgres://127.0.0.1:1/d?password=PASSWORD": true, "host=127.0.0.1 port=1 user=u password=PASSWORD dbname=d": true,
		"host=127.0.0.1 port=1 password='PASSWORD": true, "host=127.0.0.1 port=x password=PASSWORD": true, "password=PASSWORD host=127.0.0.1 port=1 sslmode=none": true,
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel() // nobody is asked
	f.Fuzz(func(t *testing.T, form, password string) {
		secret := "s3cr3t"
		if !forms[form] || !strings.Contains(password, secret) || strings.ContainsAny(password, " \t\n\r\v\f'\\&=+;") && !strings.Contains(form, "://") {
			t.Skip()
		}
		store, err := postgres.Open(ended, strings.ReplaceAll(form, "PASSWORD", password))
		if err == nil {
			_ = store.Close()
			t.Fatalf("%s opened", form)
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s with %q: %v", form, password, err)
		}
	})
}
