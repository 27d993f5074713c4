package gen

import "strings"

// initialisms are the words that Go writes in capitals.
var initialisms = map[string]bool{"api": true, "cpu": true, "db": true, "dns": true, "eof": true, "html": true, "http": true, "https": true, "id": true, "ip": true, "json": true, "os": true, "sql": true, "ssh": true, "tcp": true, "tls": true, "ttl": true, "udp": true, "ui": true, "uid": true, "uri": true, "url": true, "utf8": true, "uuid": true, "vm": true, "xml": true}

// goName returns the exported Go name of a snake_case name.
func goName(s string) string {
	var b strings.Builder
	for _, w := range strings.Split(s, "_") {
		switch {
		case w == "":
		case initialisms[w]:
			b.WriteString(strings.ToUpper(w))
		default:
			b.WriteString(strings.ToUpper(w[:1]) + w[1:])
		}
	}
	return b.String()
}
