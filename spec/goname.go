package spec

import "strings"

// initialisms are the words that Go writes in capitals.
var initialisms = map[string]bool{
	"api": true, "cpu": true, "db": true, "dns": true, "eof": true, "html": true, "http": true, "https": true, "id": true, "ip": true,
	"json": true, "os": true, "sql": true, "ssh": true, "tcp": true, "tls": true, "ttl": true, "udp": true, "ui": true, "uid": true,
	"uri": true, "url": true, "utf8": true, "uuid": true, "vm": true, "xml": true,
}

// GoName returns the exported Go name of a name in a specification: claim_next
// becomes ClaimNext, job_id becomes JobID, the word 'in-progress' InProgress. Different
// names can have one Go name (a_b and ab_ do not, job_id and job__id do): rule FSM017
// finds them.
func GoName(name string) string {
	var b strings.Builder
	for part := range strings.FieldsFuncSeq(name, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}) {
		b.WriteString(goWord(part))
	}
	return b.String()
}

// known are methods that Go's library looks for in any value, or whose signature
// `go vet` knows: those of fmt, errors, the encodings, database/sql, log/slog and io.
var known = map[string]bool{
	"String": true, "GoString": true, "Format": true, "Scan": true, "Error": true, "Is": true, "As": true, "Unwrap": true,
	"MarshalText": true, "UnmarshalText": true, "AppendText": true, "MarshalBinary": true, "UnmarshalBinary": true, "AppendBinary": true,
	"MarshalJSON": true, "UnmarshalJSON": true, "MarshalJSONTo": true, "UnmarshalJSONFrom": true, "IsZero": true,
	"MarshalXML": true, "UnmarshalXML": true, "MarshalXMLAttr": true, "UnmarshalXMLAttr": true, "GobEncode": true, "GobDecode": true,
	"Value": true, "LogValue": true, "Seek": true,
	"ReadByte": true, "ReadRune": true, "ReadFrom": true, "UnreadByte": true, "UnreadRune": true, "WriteByte": true, "WriteTo": true,
}

// MethodName returns the Go name of a method: that of the name in the
// specification, or Do and that name where Go's library knows such a method.
func MethodName(name string) string {
	if g := GoName(name); !known[g] {
		return g
	}
	return "Do" + GoName(name)
}

func goWord(part string) string {
	if initialisms[part] {
		return strings.ToUpper(part)
	}
	return strings.ToUpper(part[:1]) + part[1:]
}
