package sqlstore

import (
	"errors"
	"fmt"
	"strings"
)

// ErrServer says that the server speaks PostgreSQL's protocol and is not PostgreSQL, by
// its own word. The promises of a store rest on what PostgreSQL does.
var ErrServer = errors.New("the server is not PostgreSQL")

// known refuses a server that says that it is another one, as CockroachDB and
// YugabyteDB do.
func (p *postgres) known(version string) error {
	if !strings.HasPrefix(version, "PostgreSQL ") || strings.Contains(version, "-YB-") {
		return fmt.Errorf("sqlstore: the server says %.80q, expected PostgreSQL 15 or later: %w", version, ErrServer)
	}
	p.met.Store(true)
	return nil
}
