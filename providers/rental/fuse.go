package rental

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/providers"
)

//go:embed fuse.sh
var fuseScript string

// A SelfEnder is a platform whose machines can end themselves with a key that does
// nothing else. Without it nothing ends a machine while muster is off.
type SelfEnder interface {
	// StopItself and ReleaseItself are shell commands on the machine.
	StopItself() string
	ReleaseItself() string
}

// leastHold keeps a fuse from ending a machine that has just been heard from.
const leastHold = 2 * listening

// A SelfProver is a platform of which it is not certain that a machine's own key works:
// a shell command on the machine that uses it and changes nothing fails if it does not.
type SelfProver interface{ ProveItself() string }

// SelfCall is a shell command that makes a call of a cloud's API, by curl or Python:
// images have one of them. URL and authorization may hold variables of the shell. The
// authorization is in no process list.
func SelfCall(method, url, authorization, body string) string {
	return `u="` + url + `"; a="Authorization: ` + authorization + `"; j="Content-Type: application/json"
printf 'header = "%s"\n' "$a" | curl -fsS -K - -X ` + method + ` -H "$j" -d '` + body + `' "$u" || M=` + method + ` U=$u A=$a B='` + body + `' python3 -c 'import os, urllib.request as r
e = os.environ
print(r.urlopen(r.Request(e["U"], e["B"].encode(), {"Authorization": e["A"][15:], "Content-Type": "application/json"}, method=e["M"])).status)'`
}

// bootLimit is how long a machine waits for muster after its start before it ends itself:
// twice muster's own limit for a boot.
const bootLimit = 30 * time.Minute

// BootFuse is a shell command for the start of a machine. It runs stop where muster did
// not reach the machine within bootLimit: a muster that died meanwhile rented it, and the
// fuse is not there yet.
func BootFuse(stop string) string {
	wait := fmt.Sprintf(`cd ~/.muster-fuse && rm -f met && sleep %d && until [ -e met ]; do { %s
} >>log 2>&1; sleep 60; done`, int(bootLimit.Seconds()), stop)
	return "mkdir -p ~/.muster-fuse; setsid sh -c " + shell.Quote(wait) + " </dev/null >/dev/null 2>&1 &"
}

// met tells a machine that muster reached it.
const met = "mkdir -p ~/.muster-fuse && cd ~/.muster-fuse && touch met"

// fuse starts the switch on a machine that ends it when its jobs are done and muster is off.
// It releases only a machine that muster marked as safe, and only by on_hold.
func (b *backend) fuse(ctx context.Context, h Host) error {
	ends, ok := b.platform.(SelfEnder)
	switch {
	case !ok:
		return nil
	case b.OnHold == "keep":
		return run(ctx, h, met)
	}
	release := ""
	if b.OnHold == "release" {
		release = ends.ReleaseItself()
	}
	hold := max(b.Hold, leastHold)
	command := fmt.Sprintf(met+` && cut -d. -f1 /proc/uptime > heard && { [ -e pid ] && kill -0 "$(cat pid)" 2>/dev/null || {
printf '%%s' %s > fuse.sh && { setsid sh fuse.sh %d %s %s </dev/null >/dev/null 2>&1 & echo $! > pid; }; }; }`,
		shell.Quote(fuseScript), int(hold.Seconds()), shell.Quote(ends.StopItself()), shell.Quote(release))
	return run(ctx, h, command)
}

// heard tells a machine that muster is there, also one that was started again unseen, and
// whether all its results are safe.
func (x *box) heard(ctx context.Context, safe bool) error {
	mark := "rm -f safe"
	if safe {
		mark = "touch safe"
	}
	return run(ctx, x.host, "cd ~/.muster-fuse 2>/dev/null || exit 0; "+mark+"; touch met && cut -d. -f1 /proc/uptime > heard")
}

func run(ctx context.Context, h Host, command string) error {
	ctx, stop := context.WithTimeout(ctx, checkTime)
	defer stop()
	out, exit, err := h.Run(ctx, command)
	if err == nil && exit != 0 {
		err = providers.Errorf(providers.Unreachable, "a command on the machine failed with exit %d: %s", exit, strings.TrimSpace(out))
	}
	return err
}

// listening is how often a machine hears that muster is there.
const listening = 20 * time.Second

// listening is that time, shorter where tests look more often.
func (b *backend) listening() time.Duration { return min(listening, 4*b.beat) }

// attend tells a machine that muster is there, and saves the checkpoints of its jobs,
// until ctx ends.
func (x *box) attend(ctx context.Context) {
	for ctx.Err() == nil {
		x.mu.Lock()
		safe := len(x.demand().unsafe(x.token)) == 0
		x.mu.Unlock()
		_ = x.heard(ctx, safe) // one that cannot be reached ends itself after its hold
		x.save(ctx)
		select {
		case <-time.After(x.listening()):
		case <-ctx.Done():
		}
	}
}
