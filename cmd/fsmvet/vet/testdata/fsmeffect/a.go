// Package fsmeffect has handlers of effects that leave the transaction, and some that do not.
package fsmeffect

import (
	"context"
	"database/sql"
	"net/http"
	"os/exec"

	"github.com/fsmgen/fsmgen/cmd/fsmvet/vet/testdata/fsmeffect/helper"
	"github.com/fsmgen/fsmgen/examples/fm001/execution"
	"github.com/fsmgen/fsmgen/examples/fm001/naive"
	"github.com/fsmgen/fsmgen/examples/webhook/notice"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

type wrong struct {
	client *http.Client
	db     *sql.DB
}

func (w wrong) ApplyResult(ctx context.Context, tx *sql.Tx, e naive.Execution, key string, _ fsm.Event) error { // want ApplyResult:"leaves via http.Get"
	if _, err := w.client.Get("http://example.com/" + key); err != nil { // want `the atomic effect ApplyResult calls http.Get within the transaction of the step: that is not taken back with it, and may be done again; let the effect run after the commit`
		return err
	}
	if err := exec.CommandContext(ctx, "mail").Run(); err != nil { // want `calls exec.Run`
		return err
	}
	w.tell(e)                                    // want `calls tell, which calls http.Do`
	if err := helper.Announce(key); err != nil { // want `calls helper.Announce, which calls net.Dial`
		return err
	}
	_, err := w.db.ExecContext(ctx, "INSERT INTO ledger VALUES (?)", key) // want `the atomic effect ApplyResult uses a connection beside the transaction of the step; use its parameter`
	return err
}

func (w wrong) tell(naive.Execution) { // want tell:"leaves via http.Do"
	_, _ = w.client.Do(nil)
}

type right struct{}

// ApplyResult writes through the transaction alone.
func (right) ApplyResult(ctx context.Context, tx *sql.Tx, e execution.Execution, key string, _ fsm.Event) error {
	h := http.Header{}
	_, err := tx.ExecContext(ctx, "INSERT INTO effects VALUES (?, ?)", key, h.Get("X"))
	return err
}

type later struct{ client *http.Client }

// Post runs after the commit.
func (l later) Post(_ context.Context, n notice.Notice, key string, _ fsm.Event) error { // want Post:"leaves via http.Get"
	_, err := l.client.Get("http://example.com/" + key)
	return err
}
