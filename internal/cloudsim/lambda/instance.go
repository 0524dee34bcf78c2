package lambda

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/cloudsim"
)

// How long an instance's steps take, by the cloud's clock.
const (
	restarting  = 40 * time.Second
	terminating = 20 * time.Second
	listed      = time.Minute // after it was terminated
)

// The statuses; newer documents add the last.
const (
	booting    = "booting"
	healthy    = "active"
	unhealthy  = "unhealthy"
	leaving    = "terminating"
	terminated = "terminated"
	preempted  = "preempted"
)

// An instance is a machine that an account has launched.
type instance struct {
	l       *Lambda
	id      string
	account *cloudsim.Account
	kind    *kind
	region  string
	asked   *launching
	name    string
	key     *sshKey
	status  string
	created time.Time
	from    time.Time // since when it is billed: it passed its health checks
	to      time.Time // until when; zero while it is
	ended   time.Time // when it was terminated
	noSSH   bool
	box     cloudsim.Machine
	runner  *cloudsim.Runner
	cancel  func() // the step that comes next
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// begin boots an instance that was launched.
func (l *Lambda) begin(a *cloudsim.Account, k *kind, r *launching, key *sshKey) *instance {
	i := &instance{l: l, id: newID(), account: a, kind: k, region: r.Region, asked: r, name: r.Name, key: key, status: booting, created: l.Clock.Now(), cancel: func() {}, runner: cloudsim.NewRunner()}
	l.instances = append(l.instances, i)
	l.free[place{k.name, r.Region}]--
	spec := cloudsim.MachineSpec{Name: "vm-" + i.id[:8], GPU: k.device, GPUs: k.gpus, GPUMiB: k.mib, User: "ubuntu"}
	fault := l.World.Faults.Take("boot", r.Name, bootsForever, bootsIll, noSSH, wrongGPU)
	if fault == nil {
		fault = &cloudsim.Fault{}
	}
	if fault.Do == wrongGPU {
		spec.GPU, spec.GPUMiB = "NVIDIA GeForce GTX 1080 Ti", 11264
	}
	i.noSSH = fault.Do == noSSH
	box, err := l.Machines.New(spec)
	if err == nil {
		i.box = box
	} else if l.Trouble != nil {
		l.Trouble(err)
	}
	// Its machine is there before its health checks end.
	i.after(k.boots()/2, func() {
		i.start()
		if fault.Do != bootsForever {
			i.after(k.boots()/2, func() { i.checked(fault.Do == bootsIll) })
		}
	})
	return i
}

// after makes f the next step, in place of any other.
func (i *instance) after(d time.Duration, f func()) {
	i.cancel()
	i.cancel = i.l.Clock.After(d, f)
}

// start has its machine boot.
func (i *instance) start() {
	if i.box == nil || i.noSSH {
		return
	}
	box, keys, script, trouble := i.box, []string{i.key.text}, i.asked.UserData, i.l.Trouble
	i.runner.Then(func() {
		if err := box.Start(keys, script, nil); err != nil && trouble != nil {
			trouble(err)
		}
	})
}

// checked is when its health checks end. One that fails them is not billed for having
// passed them, but it was seen to be billed all the same.
func (i *instance) checked(ill bool) {
	i.status = healthy
	if ill {
		i.status = unhealthy
	}
	if i.from.IsZero() {
		i.from = i.l.Clock.Now()
	}
}

// ip is its address, "" before it has one. Without a machine behind it, it is one
// that nobody answers at.
func (i *instance) ip() string {
	if i.status != leaving && i.status != terminated && (i.noSSH || !reachable(i.l)) && i.l.Clock.Now().Sub(i.created) > i.kind.boots()/2 {
		return "192.0.2.10"
	}
	if i.box == nil {
		return ""
	}
	return i.box.Address()
}

func reachable(l *Lambda) bool {
	ok, _ := l.Machines.Reachable()
	return ok
}

// end terminates it, in a moment. Its disk is gone at once.
func (i *instance) end() {
	if i.status == leaving || i.gone() {
		return
	}
	i.status = leaving
	if box := i.box; box != nil {
		i.runner.Then(box.Remove)
	}
	d := terminating
	if f := i.l.World.Faults.Take("terminate", i.name, linger); f != nil {
		d = time.Duration(f.For)
	}
	i.after(d, func() {
		i.status, i.ended = terminated, i.l.Clock.Now()
		if !i.from.IsZero() {
			i.to = i.ended
		}
		i.l.free[place{i.kind.name, i.region}]++
		i.close()
	})
}

func (i *instance) gone() bool { return i.status == terminated }

// close ends its machine.
func (i *instance) close() {
	i.cancel()
	if i.runner != nil {
		i.l.work.Go(i.runner.Close)
		i.runner = nil
	}
	i.box = nil
}

// reboot starts its machine again; the disk stays, and the bill goes on.
func (i *instance) reboot() {
	i.status = booting
	if box := i.box; box != nil {
		i.runner.Then(box.Kill)
	}
	i.start()
	i.after(restarting, func() { i.checked(false) })
}

// rate is its price an hour now.
func (i *instance) rate() decimal.Decimal {
	if i.from.IsZero() || !i.to.IsZero() {
		return decimal.Zero
	}
	return i.kind.hourly()
}

// bill is its cost up to now: each minute that began.
func (i *instance) bill(now time.Time) decimal.Decimal {
	if i.from.IsZero() {
		return decimal.Zero
	}
	to := i.to
	if to.IsZero() {
		to = now
	}
	minutes := int64((to.Sub(i.from) + time.Minute - 1) / time.Minute)
	return decimal.New(i.kind.cents*minutes, -2).DivRound(decimal.NewFromInt(60), 6)
}

// happen makes something happen to one instance.
func (i *instance) happen(e cloudsim.Event) error {
	switch e.What {
	case "unhealthy", "healthy":
		i.checked(e.What == "unhealthy")
	case "shutdown": // from within: an alert, and billed on
		i.status = unhealthy
		if box := i.box; box != nil {
			i.runner.Then(box.Kill)
		}
	case "preempt":
		i.end()
		i.status = preempted
	case "terminate": // in the console
		i.end()
	default:
		return fmt.Errorf("what %q: an instance has unhealthy, healthy, shutdown, preempt and terminate", e.What)
	}
	return nil
}

// action says whether something can be done to an instance.
func action(blocked, why string) map[string]any {
	if blocked == "" {
		return map[string]any{"available": true}
	}
	return map[string]any{"available": false, "reason_code": blocked, "reason_description": why}
}

func (i *instance) actions() map[string]any {
	blocked, why := "", ""
	switch i.status {
	case booting:
		blocked, why = "vm-has-not-launched", "Instance has not launched yet."
	case leaving, terminated:
		blocked, why = "vm-is-terminating", "Instance is terminating."
	}
	out := map[string]any{}
	for _, name := range []string{"migrate", "rebuild", "restart", "cold_reboot", "terminate"} {
		out[name] = action(blocked, why)
	}
	return out
}

// row is an instance as the API shows it.
func (i *instance) row() map[string]any {
	row := map[string]any{
		"id": i.id, "status": i.status, "ssh_key_names": []string{i.key.name}, "file_system_names": append([]string{}, i.asked.FileSystems...), "region": region(i.region),
		"instance_type": i.kind.row(i.l.newer), "is_reserved": false, "actions": i.actions(),
	}
	if i.name != "" {
		row["name"] = i.name
	}
	if ip := i.ip(); ip != "" {
		row["ip"], row["private_ip"] = ip, "10.19.60.24"
		row["hostname"] = strings.ReplaceAll(ip, ".", "-") + ".cloud.lambdalabs.com"
		row["jupyter_token"] = i.id // a secret on the live service
		row["jupyter_url"] = "https://jupyter-" + i.id + ".lambdaspaces.com/?token=" + i.id
	}
	if i.l.newer {
		row["tags"], row["file_system_mounts"], row["firewall_rulesets"] = i.asked.tags(), []any{}, []any{}
	}
	return row
}
