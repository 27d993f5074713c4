//go:build unix

package etcdcluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TLS is a certificate authority of a test's own, with a certificate for the
// servers and one for clients. Servers demand one of it from each client.
type TLS struct {
	Roots  *x509.CertPool
	Client tls.Certificate
	dir    string
}

// NewTLS makes an authority and its certificates.
func NewTLS(tb testing.TB) *TLS {
	tb.Helper()
	key, root := issue(tb, nil, nil, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	a := &TLS{Roots: x509.NewCertPool(), dir: tb.TempDir()}
	a.Roots.AddCert(root)
	a.write(tb, "ca", nil, root)
	// The gateway of a member is a client of it, with the server's certificate.
	serverKey, server := issue(tb, key, root, &x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	a.write(tb, "server", serverKey, server)
	clientKey, client := issue(tb, key, root, &x509.Certificate{
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	a.write(tb, "client", clientKey, client)
	a.Client = tls.Certificate{Certificate: [][]byte{client.Raw}, PrivateKey: clientKey}
	return a
}

// Config is that of a client whom the servers take.
func (a *TLS) Config() *tls.Config {
	return &tls.Config{RootCAs: a.Roots, Certificates: []tls.Certificate{a.Client}}
}

// Files returns the paths of what a client needs: the authority, the client's
// certificate and its key.
func (a *TLS) Files() (ca, cert, key string) {
	return filepath.Join(a.dir, "ca.pem"), filepath.Join(a.dir, "client.pem"), filepath.Join(a.dir, "client.key")
}

func (a *TLS) flags() []string {
	return []string{
		"--client-cert-auth", "--trusted-ca-file=" + filepath.Join(a.dir, "ca.pem"),
		"--cert-file=" + filepath.Join(a.dir, "server.pem"), "--key-file=" + filepath.Join(a.dir, "server.key"),
	}
}

// issue makes a key and its certificate, signed by parent; nil: by itself.
func issue(tb testing.TB, parentKey *ecdsa.PrivateKey, parent, c *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	if c.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		tb.Fatal(err)
	}
	c.Subject = pkix.Name{Organization: []string{"fsmgen test"}}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	if parent == nil {
		parentKey, parent = key, c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, parentKey)
	if err != nil {
		tb.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return key, made
}

// write writes a certificate, and its key if there is one, as servers read them.
func (a *TLS) write(tb testing.TB, name string, key *ecdsa.PrivateKey, c *x509.Certificate) {
	tb.Helper()
	files := map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: c.Raw}}
	if key != nil {
		der, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			tb.Fatal(err)
		}
		files[".key"] = &pem.Block{Type: "EC PRIVATE KEY", Bytes: der}
	}
	for suffix, block := range files {
		if err := os.WriteFile(filepath.Join(a.dir, name+suffix), pem.EncodeToMemory(block), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
}
