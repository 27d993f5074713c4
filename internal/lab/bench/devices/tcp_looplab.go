package devices

import (
	"time"

	"github.com/looplab/fsm"
)

func looplabTCP(now time.Time, act func(string)) Device {
	d := newLooplab(now, act)
	d.FSM = fsm.NewFSM("closed", fsm.Events{
		on("passive_open", "listen", "closed"), on("active_open", "syn_sent", "closed"), on("send", "syn_sent", "listen"),
		on("receive_syn", "syn_received", "listen", "syn_sent"), on("receive_syn_ack", "established", "syn_sent"),
		on("receive_ack", "established", "syn_received"), on("receive_ack", "fin_wait_2", "fin_wait_1"),
		on("receive_ack", "time_wait", "closing"), on("receive_ack", "closed", "last_ack"),
		on("receive_fin", "close_wait", "established", "syn_received"), on("receive_fin", "closing", "fin_wait_1"),
		on("receive_fin", "time_wait", "fin_wait_2"),
		on("close", "closed", "listen", "syn_sent"), on("close", "fin_wait_1", "syn_received", "established"), on("close",
			"last_ack", "close_wait"),
		on("time_out", "closed", "time_wait"),
		on("reset", "closed", "syn_sent", "syn_received", "established", "fin_wait_1", "fin_wait_2", "close_wait", "closing",
			"last_ack", "time_wait"),
	}, nil)
	return d
}
