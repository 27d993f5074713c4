package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
)

// Hosts says what a request may name as its host.
type Hosts struct {
	Names []string // host:port as a browser writes it
	// AnyAddress lets every IP address in, for a page that is listened for on all
	// of them. Names are what a stranger can make lead here; addresses are not.
	AnyAddress bool
}

// HostsOf returns the hosts of a listener; asked is the host that was asked for.
func HostsOf(l net.Listener, asked string) (h Hosts, loopback bool) {
	address, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return Hosts{Names: []string{l.Addr().String()}}, false
	}
	name := func(host string) {
		h.Names = append(h.Names, net.JoinHostPort(host, fmt.Sprint(address.Port)))
	}
	loopback = address.IP.IsLoopback()
	h.AnyAddress = address.IP.IsUnspecified()
	name(address.IP.String())
	name("localhost")
	if asked != "" {
		name(strings.ToLower(asked))
	}
	return h, loopback
}

func (h Hosts) allow(host string) bool {
	host = strings.ToLower(host)
	if !strings.Contains(host, ":") || strings.HasSuffix(host, "]") {
		host += ":80"
	}
	if slices.Contains(h.Names, host) {
		return true
	}
	name, _, err := net.SplitHostPort(host)
	return h.AnyAddress && err == nil && net.ParseIP(name) != nil
}

// policy lets the page use its own files and nothing else; what it shows reaches
// it as text alone.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// guarded refuses what does not come from the page itself.
func guarded(hosts Hosts, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		switch {
		case !hosts.allow(r.Host):
			fail(w, http.StatusForbidden, fmt.Sprintf("the request names the host %q; open the address that fsmgen printed", r.Host))
			return
		case !sameOrigin(r):
			fail(w, http.StatusForbidden, "the request comes from another page; open the address that fsmgen printed")
			return
		}
		if r.Method == http.MethodPost {
			if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
				fail(w, http.StatusUnsupportedMediaType, "the request is not application/json")
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// sameOrigin reports whether a request can come from the page: browsers say where
// it comes from, other programs may say nothing. Following a link to the page
// itself is fine.
func sameOrigin(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && !strings.EqualFold(origin, "http://"+r.Host) {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return r.Method == http.MethodGet && r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Mode") == "navigate"
}

// fail answers with a sentence.
func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": text}) // a browser that went away is no error of ours
}

// reply answers with a value.
func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// maxBody bounds what is read of a request.
const maxBody = 1 << 20

// body reads the body of a request, and answers when it is too large.
func body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return text, true
	case errors.As(err, &large):
		fail(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the request has more than %d bytes", maxBody))
	default:
		fail(w, http.StatusBadRequest, "the request cannot be read: "+err.Error())
	}
	return nil, false
}
