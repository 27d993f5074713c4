// Package helper calls another service.
package helper

import "net"

// Announce tells somebody.
func Announce(what string) error { return send(what) }

func send(what string) error {
	c, err := net.Dial("tcp", "example.com:80")
	if err != nil {
		return err
	}
	_, err = c.Write([]byte(what))
	return err
}
