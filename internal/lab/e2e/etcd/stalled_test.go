package etcd_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/e2e/etcdcluster"
	"github.com/fsmgen/fsmgen/internal/lab/faults"
)

// stall makes each member stand still again and again, for up to most at a time,
// until the function it returns is called: as on a machine, or a disk, that has
// too much to do.
func stall(members []*etcdcluster.Process, most time.Duration) (end func()) {
	stop := make(chan struct{})
	var group sync.WaitGroup
	for _, p := range members {
		group.Go(func() {
			for {
				p.Stop()
				time.Sleep(rand.N(most))
				p.Continue()
				select {
				case <-stop:
					return
				case <-time.After(rand.N(300 * time.Millisecond)):
				}
			}
		})
	}
	return func() { close(stop); group.Wait() }
}

// How long a cluster takes to serve again after it has lost its quorum depends on
// how long its members stand still: whoever does so for longer than the election
// timeout of a second spoils an election. Nothing is lost meanwhile.
func TestStalledMembers(t *testing.T) {
	if !faults.Long() {
		t.Skip("measures how long elections take; run with FSMGEN_FAULTS_LONG=1")
	}
	for i, most := range []time.Duration{0, 500 * time.Millisecond, time.Second, 2 * time.Second} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			began := time.Now()
			c := etcdcluster.Start(t, 3)
			l := startLoad(t, c, fmt.Sprintf("stalled%d/", i))
			l.await(100, time.Minute)
			var gaps []float64
			const times = 4
			for range times {
				leader, followers := c.Leader()
				leader.Kill()
				followers[0].Kill()
				time.Sleep(time.Second)
				l.reset()
				leader.Start()
				followers[0].Start()
				feed := func() {}
				if most > 0 {
					feed = stall(c.Members(), most)
				}
				l.await(1, 2*time.Minute)
				gaps = append(gaps, l.longest().Seconds())
				feed()
				for _, p := range c.Members() {
					p.WaitReady(time.Minute)
				}
				l.await(100, time.Minute)
			}
			l.finish()
			v := l.verify()
			if v.lost > 0 || len(v.wrong) > 0 {
				t.Errorf("%d of %d acknowledged calls are lost; %d wrong: %s", v.lost, v.acked, len(v.wrong), v.text())
			}
			slices.Sort(gaps)
			faults.Report(t, faults.Row{
				Test: "etcd: quorum lost, members stall", Store: fmt.Sprintf("etcd, three nodes, stalls up to %v", most), Took: time.Since(began),
				How: "SIGKILL of two members; all are started and then stand still (SIGSTOP) again and again, each for itself", Control: "that without stalls",
				Figures: fmt.Sprintf("%d times: %d acknowledged, lost %d, wrong %d; from the start of the members to the first acknowledgement %.1f s in the middle, longest %.1f s",
					times, v.acked, v.lost, len(v.wrong), gaps[len(gaps)/2], gaps[len(gaps)-1]),
			})
		})
	}
}
