package host

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/retry"
)

// TestForbidden: what a job prints ends it while it runs, and fails it also where
// it exits 0 before anybody looked, with its outputs in place.
func TestForbidden(t *testing.T) {
	// Requirement: WCH-12
	t.Parallel()
	for name, command := range map[string]string{
		"it would run on":     `echo loss = nan; echo x > a; sleep 600`,
		"it ignores TERM":     `trap "" TERM; echo loss = nan >&2; echo x > a; while :; do sleep 1; done`,
		"it exits 0":          `echo x > a; echo loss = nan`,
		"it exits 0 on TERM":  `trap "exit 0" TERM; echo x > a; echo loss = nan; while :; do sleep 0.1; done`,
		"its queue is killed": `echo x > a; echo loss = nan; touch said; sleep 600`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			j := w.job(command, "a")
			j.Watch = providers.Watch{Forbid: []string{`\bnan\b`}}
			j.Grace = time.Second
			w.submit(j)
			if strings.Contains(name, "killed") {
				w.poll("it said so", func() bool { _, err := os.Stat(w.path("said")); return err == nil })
				w.kill()
			}
			o := w.wait(j)[0]
			if o.Status != offer.Failed || o.Class != failure.Forbidden || len(o.Tail) == 0 || o.Tail[len(o.Tail)-1] != "loss = nan" {
				t.Errorf("%s, class %q, %q, %q", o.Status, o.Class, o.Reason, o.Tail)
			}
		})
	}
}

// TestStalledIsTold: a silent job is reported, and reported to go on when it does.
func TestStalledIsTold(t *testing.T) {
	// Requirement: WCH-11
	t.Parallel()
	w := newWorld(t)
	j := w.job(`echo begin; until [ -e go ]; do sleep 0.1; done; echo on; until [ -e end ]; do sleep 0.1; done; echo x > a`, "a")
	j.Watch = providers.Watch{StalledAfter: 2 * time.Second}
	w.submit(j)
	w.poll("it stalls", func() bool {
		o := w.find(j)
		return o.Status == offer.Running && strings.HasPrefix(o.Reason, "stalled: no output for ")
	})
	touch(t, w.path("go"))
	w.poll("it goes on", func() bool { o := w.find(j); return o.Status == offer.Running && o.Reason == "" })
	touch(t, w.path("end"))
	if o := w.wait(j)[0]; o.Status != offer.Completed {
		t.Errorf("%s %s", o.Status, o.Reason)
	}
}

// TestStalledIsEnded: where its watch block says so, it fails, and its policy may
// start it again.
func TestStalledIsEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job(`[ -e before ] || { touch before; exec sleep 600; }; echo x > a`, "a")
	j.Watch = providers.Watch{StalledAfter: 2 * time.Second, End: true}
	j.Retry = retry.Policy{On: []string{failure.Stalled}, Max: 2}
	k := w.job(`trap "exit 0" TERM; echo x > b; while :; do sleep 0.1; done`, "b")
	k.Watch = j.Watch
	w.submit(j, k)
	o := w.wait(j, k)
	if o[0].Status != offer.Completed || o[0].Attempt != 2 {
		t.Errorf("%s, attempt %d: %s", o[0].Status, o[0].Attempt, o[0].Reason)
	}
	if o[1].Status != offer.Failed || o[1].Class != failure.Stalled || !strings.Contains(o[1].Reason, "no output for ") {
		t.Errorf("%s, class %q, %q", o[1].Status, o[1].Class, o[1].Reason)
	}
}

// TestNeverReady: a job that prints, but not what shows that its work began, is ended in time
// and started again.
func TestNeverReady(t *testing.T) {
	// Requirement: SUB-12
	t.Parallel()
	w := newWorld(t)
	j := w.job(`[ -e before ] || { touch before; while :; do echo waiting for the server; sleep 0.1; done; }; echo serving; until [ -e end ]; do sleep 0.1; done; echo x > a`, "a")
	j.Watch = providers.Watch{Ready: "^serving$", ReadyWithin: 2 * time.Second, End: true}
	j.Retry = retry.Policy{On: []string{failure.Stalled}, Max: 2}
	k := w.job(`echo waiting for the server; until [ -e end ]; do sleep 0.1; done; echo x > b`, "b")
	k.Watch = providers.Watch{Ready: "^serving$", ReadyWithin: 2 * time.Second}
	w.submit(j, k)
	w.poll("one is reported", func() bool {
		o := w.find(k)
		return o.Status == offer.Running && o.Reason == `stalled: no line matches "^serving$" within 2s`
	})
	w.poll("the other runs again", func() bool { o := w.find(j); return o.Status == offer.Running && o.Attempt == 2 })
	touch(t, w.path("end"))
	for _, o := range w.wait(j, k) {
		if o.Status != offer.Completed {
			t.Errorf("%s, class %q: %s", o.Status, o.Class, o.Reason)
		}
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}
