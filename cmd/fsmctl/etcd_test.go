package main

import (
	"fmt"
	"strings"
	"testing"
)

// An address of etcd is read, or refused without its password.
func TestParseEtcd(t *testing.T) {
	t.Parallel()
	c, err := parseEtcd("etcd://jobs:a%2Fb%40c@h1:2379,[::1]:2380/shop/x/")
	got := fmt.Sprint(c.config.Endpoints, c.config.Username, " ", c.config.Password, " ", c.prefix, " ", c.config.TLS == nil)
	if want := "[http://h1:2379 http://[::1]:2380]jobs a/b@c shop/x/ true"; err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if shown := c.address().Shown; strings.Contains(shown, "a/b@c") || !strings.Contains(shown, "h1:2379") {
		t.Errorf("it is shown as %s", shown)
	}
	if c, err := parseEtcd("ETCDS://h:1"); err != nil || c.prefix != "fsm/" || c.config.TLS == nil {
		t.Errorf("the shortest address: %+v, %v", c.prefix, err)
	}
	for _, text := range []string{
		"etcd://", "etcd://h", "etcd://:1", "etcd://h:1,", "etcd://u:s3cret/x@h:1", "etcd://u:s3cret%zz@h:1", "etcd://u:s3cret#@h:1",
		"etcd://h:1?cacert=s3cret", "etcds://h:1?password=s3cret", "etcds://h:1/?cacert=nowhere.pem", "etcds://h:1/?cert=nowhere.pem",
	} {
		if _, err := parseEtcd(text); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v, want a refusal without the password", text, err)
		}
	}
}
