package spec

import "strings"

// initialisms are the words that Go writes in capitals.
var initialisms = map[string]bool{
	"api": true, "cpu": true, "db": true, "dns": true, "eof": true, "html": true, "http": true, "https": true, "id": true, "ip": true,
	"json": true, "os": true, "sql": true, "ssh": true, "tcp": true, "tls": true, "ttl": true, "udp": true, "ui": true, "uid": true,
	"uri": true, "url": true, "utf8": true, "uuid": true, "vm": true, "xml": true,
}

// GoName returns the exported Go name of a name in a specification: claim_next
// becomes ClaimNext, job_id becomes JobID. Different names can have one Go
// name (a_b and ab_ do not, job_id and job__id do): rule FSM017 finds them.
func GoName(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		b.WriteString(goWord(part))
	}
	return b.String()
}

func goWord(part string) string {
	switch {
	case part == "":
		return ""
	case initialisms[part]:
		return strings.ToUpper(part)
	}
	return strings.ToUpper(part[:1]) + part[1:]
}
