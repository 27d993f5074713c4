package pgtest

import (
	"errors"
	"fmt"
	"os"
)

// ErrNoServer says that neither FSMGEN_POSTGRES_URL nor PostgreSQL's programs are
// there.
var ErrNoServer = errors.New("there is no PostgreSQL: set FSMGEN_POSTGRES_URL to a server where databases may be created, or install one (apt-get install postgresql)")

// Boot gives a program that is no test the address of a server: that of
// FSMGEN_POSTGRES_URL, or one of its own with these settings (name=value), which
// stop removes. It returns ErrNoServer when there is neither.
func Boot(settings ...string) (dsn string, stop func(), err error) {
	if url := os.Getenv("FSMGEN_POSTGRES_URL"); url != "" {
		return url, func() {}, nil
	}
	c := &cluster{settings: settings}
	dsn, err = c.acquire()
	if errors.Is(err, errNoPrograms) {
		return "", nil, ErrNoServer
	}
	if err != nil {
		return "", nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	return dsn, c.release, nil
}
