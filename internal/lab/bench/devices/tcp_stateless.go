package devices

import "time"

func statelessTCP(now time.Time, act func(string)) Device {
	d := newStateless("closed", now, act)
	d.Configure("alive").Permit("reset", "closed")
	d.Configure("closed").Permit("passive_open", "listen").Permit("active_open", "syn_sent")
	d.Configure("listen").Permit("send", "syn_sent").Permit("receive_syn", "syn_received").Permit("close", "closed")
	d.Configure("syn_sent").SubstateOf("alive").
		Permit("receive_syn", "syn_received").Permit("receive_syn_ack", "established").Permit("close", "closed")
	d.Configure("syn_received").SubstateOf("alive").
		Permit("receive_ack", "established").Permit("receive_fin", "close_wait").Permit("close", "fin_wait_1")
	d.Configure("established").SubstateOf("alive").Permit("receive_fin", "close_wait").Permit("close", "fin_wait_1")
	d.Configure("fin_wait_1").SubstateOf("alive").Permit("receive_ack", "fin_wait_2").Permit("receive_fin", "closing")
	d.Configure("fin_wait_2").SubstateOf("alive").Permit("receive_fin", "time_wait")
	d.Configure("close_wait").SubstateOf("alive").Permit("close", "last_ack")
	d.Configure("closing").SubstateOf("alive").Permit("receive_ack", "time_wait")
	d.Configure("last_ack").SubstateOf("alive").Permit("receive_ack", "closed")
	d.Configure("time_wait").SubstateOf("alive").Permit("time_out", "closed")
	return d
}
