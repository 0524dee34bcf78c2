package runpod

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/cloudsim"
)

// How long a pod's steps take, by the cloud's clock.
const (
	allocating  = 4 * time.Second
	pulling     = 30 * time.Second // until the image is there and the container runs
	restarting  = 10 * time.Second
	mapping     = 3 * time.Second // until port 22 is mapped
	terminating = 2 * time.Second // between the answer to a terminate and the end of its bill
)

// The statuses.
const (
	provisioning = "PROVISIONING"
	starting     = "STARTING"
	running      = "RUNNING"
	exited       = "EXITED"
	failed       = "ERROR"
)

// actions are those that a status permits.
var actions = map[string][]string{
	provisioning: {"stop", "terminate"}, starting: {"stop", "terminate"}, running: {"stop", "restart", "terminate"}, exited: {"start", "terminate"}, failed: {"start", "terminate"},
}

// Kinds of bills.
const (
	gpuBill  = "gpu"
	diskBill = "disk" // of the container
	keptBill = "volume"
)

// A pod is a container on a machine.
type pod struct {
	r       *RunPod
	n       int
	id      string
	account *cloudsim.Account
	key     *cloudsim.Key // for the pod itself
	host    *host
	asked   *creation
	count   int // GPUs, as they were asked for

	status           string
	created, started time.Time
	holds            bool // has its GPUs
	locked           bool
	wrong, silent    bool // another GPU than was asked for; no ssh server
	poor             bool // runs without its GPUs
	doomed, gone     bool
	ended            time.Time
	meter            cloudsim.Meter
	box              cloudsim.Machine
	runner           *cloudsim.Runner
	port             *cloudsim.Port // of ssh, while it is mapped
	cancel           func()
}

// idAlphabet is that of pods' ids.
const idAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789"

func newID() string {
	var b [14]byte
	_, _ = rand.Read(b[:]) // it never fails
	for i := range b {
		b[i] = idAlphabet[int(b[i])%len(idAlphabet)]
	}
	return string(b[:])
}

// begin makes a pod on a host.
func (r *RunPod) begin(a *cloudsim.Account, h *host, q *creation) *pod {
	p := &pod{r: r, n: len(r.pods) + 1, id: newID(), account: a, host: h, asked: q, count: q.count(), status: provisioning, created: r.second(), holds: true, runner: cloudsim.NewRunner()}
	h.ours += p.count
	p.key = r.Accounts.Grant(a, p.n)
	p.cancel = func() {}
	r.pods = append(r.pods, p)
	p.bill()
	p.after(allocating, p.starts)
	return p
}

// second is now, to the second: bills count whole ones, in whatever pieces.
func (r *RunPod) second() time.Time { return r.Clock.Now().Truncate(time.Second) }

// pod is one that is not gone, by its id.
func (r *RunPod) pod(id string) *pod {
	for _, p := range r.pods {
		if p.id == id && !p.gone {
			return p
		}
	}
	return nil
}

// after makes f the next step, in place of any other.
func (p *pod) after(d time.Duration, f func()) {
	p.cancel()
	p.cancel = p.r.Clock.After(d, f)
}

// starts is when its machine pulls the image.
func (p *pod) starts() {
	p.status = starting
	switch f := p.r.World.Faults.Take("boot", p.asked.Name, stuck, breaks, exits, noPort, noSSH, wrongGPU); {
	case f == nil:
		p.after(pulling, p.runs)
	case f.Do == stuck:
	case f.Do == breaks:
		p.after(pulling, func() { p.status = failed; p.bill() })
	case f.Do == exits:
		p.after(pulling, func() { p.halt(exited) })
	case f.Do == noPort:
		p.after(pulling, func() { p.status, p.started = running, p.r.Clock.Now() })
	default:
		p.silent, p.wrong = f.Do == noSSH, f.Do == wrongGPU
		p.after(pulling, p.runs)
	}
}

// runs is when its container runs. Its port is mapped after that.
func (p *pod) runs() {
	p.status, p.started = running, p.r.Clock.Now()
	p.bill()
	if !slices.Contains(p.asked.Ports, "22/tcp") {
		return
	}
	p.after(mapping, p.listens)
}

// listens maps another port than before, and boots its machine.
func (p *pod) listens() {
	t := p.host.gpu
	spec := cloudsim.MachineSpec{Name: p.id, GPU: t.id, GPUs: p.count, GPUMiB: t.mib, Kept: p.kept(), API: p.r.API, URLVar: "RUNPOD_API_URL"}
	switch {
	case p.poor:
		spec.GPUs = 0
	case p.wrong:
		spec.GPU, spec.GPUMiB = "NVIDIA GeForce GTX 1080 Ti", 11264
	}
	box, err := p.r.Machines.New(spec)
	if err == nil {
		p.box = box
		p.port, err = cloudsim.Listen(box.Dial)
	}
	trouble := p.r.Trouble
	if err != nil {
		if trouble != nil {
			trouble(err)
		}
		return
	}
	p.port.Open(!p.silent)
	if p.silent {
		return
	}
	keys, script, env := p.keys(), p.asked.Args, p.environ()
	p.runner.Then(func() {
		if err := box.Start(keys, script, env); err != nil && trouble != nil {
			trouble(err)
		}
	})
}

// kept is the mount of the storage that survives a stop.
func (p *pod) kept() string {
	switch m := p.asked.Mounts; {
	case m.Persistent != nil:
		return m.Persistent.Path
	case len(m.Network) > 0: // the simulator has one folder for each pod, and no file of it is shared
		return m.Network[0].Path
	}
	return ""
}

// public are the ssh keys in the environment: those of the request, else with startSsh
// those of the account.
func (p *pod) public() string {
	if text := p.asked.Env["PUBLIC_KEY"]; text != "" || !p.asked.StartSSH {
		return text
	}
	return strings.Join(p.r.sshKeys[p.account.ID], "\n")
}

// keys are those that an ssh server of the image lets in. RunPod's own images start one
// from PUBLIC_KEY, unless args replace their command.
func (p *pod) keys() []string {
	if strings.HasPrefix(p.asked.Image, "runpod/") && p.asked.Args == "" {
		return strings.Split(p.public(), "\n")
	}
	return nil
}

func (p *pod) environ() []string {
	env := []string{
		"RUNPOD_POD_ID=" + p.id, "RUNPOD_DC_ID=" + p.host.center, fmt.Sprintf("RUNPOD_GPU_COUNT=%d", p.count), "RUNPOD_API_KEY=" + p.key.Text,
		"RUNPOD_PUBLIC_IP=127.0.0.1", fmt.Sprintf("RUNPOD_TCP_PORT_22=%d", p.port.Number()), "PUBLIC_KEY=" + p.public(),
	}
	for name, value := range p.asked.Env {
		if name != "PUBLIC_KEY" {
			env = append(env, name+"="+value)
		}
	}
	slices.Sort(env[7:])
	return env
}

// Prices of disks, dollars a GB and month of 730 hours.
var (
	diskPrice    = decimal.RequireFromString("0.10")
	stoppedPrice = decimal.RequireFromString("0.20")
	monthHours   = decimal.NewFromInt(730)
)

func hourly(gb int, month decimal.Decimal) decimal.Decimal {
	return month.Mul(decimal.NewFromInt(int64(gb))).Div(monthHours)
}

// defaultDisk is that of a container whose request names none, GB.
const defaultDisk = 50

func (p *pod) disk() int {
	if p.asked.Disk == nil {
		return defaultDisk
	}
	return *p.asked.Disk
}

// cost is the hourly cost of its GPUs, as the API shows it.
func (p *pod) cost() decimal.Decimal {
	if p.status == exited || p.poor {
		return decimal.Zero
	}
	return p.host.price().Mul(decimal.NewFromInt(int64(p.count)))
}

// bill bills its present state: a stopped pod's container disk costs nothing, and its volume
// twice as much.
func (p *pod) bill() {
	now, on := p.r.second(), p.status != exited
	disk, kept := decimal.Zero, stoppedPrice
	if on {
		disk, kept = hourly(p.disk(), diskPrice), diskPrice
	}
	p.meter.Run(gpuBill, p.cost(), now)
	p.meter.Run(diskBill, disk, now)
	if m := p.asked.Mounts.Persistent; m != nil {
		p.meter.Run(keptBill, hourly(m.Size, kept), now)
	}
}

// halt ends its container: its own disk is wiped, and its GPUs are free for others.
func (p *pod) halt(status string) {
	p.cancel()
	p.status = status
	p.unmap()
	if box := p.box; box != nil {
		p.runner.Then(box.Wipe)
		p.box = nil
	}
	p.leave()
	p.bill()
}

func (p *pod) unmap() {
	if p.port != nil {
		p.port.Close()
		p.port = nil
	}
}

func (p *pod) leave() {
	if p.holds {
		p.holds = false
		p.host.ours -= p.count
	}
}

// start starts it again on its host, which may have no GPU for it: "" if it does, else
// why not.
func (p *pod) start() string {
	fault := p.r.World.Faults.Take("start", p.asked.Name, zeroGPUs, gpuTaken)
	p.poor = fault != nil && fault.Do == zeroGPUs
	if !p.poor && (fault != nil || p.host.free() < p.count) {
		return "There are not enough free GPUs on the host machine to start this pod."
	}
	if !p.poor {
		p.holds = true
		p.host.ours += p.count
	}
	p.again()
	return ""
}

// again runs its container from the beginning.
func (p *pod) again() {
	p.status = starting
	p.unmap()
	if box := p.box; box != nil {
		p.runner.Then(box.Wipe)
		p.box = nil
	}
	p.bill()
	p.after(restarting, p.runs)
}

// doom terminates it, in a moment.
func (p *pod) doom() {
	if p.gone || p.doomed {
		return
	}
	p.doomed = true
	d := terminating
	if f := p.r.World.Faults.Take("terminate", p.asked.Name, linger); f != nil {
		d = time.Duration(f.For)
	}
	p.unmap()
	p.after(d, p.vanish)
}

// vanish is when it is gone, and its bill complete.
func (p *pod) vanish() {
	if p.gone {
		return
	}
	p.gone, p.ended = true, p.r.second()
	p.meter.Stop(p.ended)
	p.r.Accounts.Revoke(p.key)
	p.leave()
	if p.box == nil { // its disk may be there
		p.box, _ = p.r.Machines.New(cloudsim.MachineSpec{Name: p.id, Kept: p.kept()})
	}
	if box := p.box; box != nil {
		p.runner.Then(box.Remove)
	}
	p.close()
}

// close ends its machine.
func (p *pod) close() {
	p.cancel()
	p.unmap()
	if p.runner != nil {
		p.r.work.Go(p.runner.Close)
		p.runner = nil
	}
	p.box = nil
}

// happen makes something happen to one pod.
func (p *pod) happen(e cloudsim.Event) error {
	switch e.What {
	case "exit":
		p.halt(exited)
	case "error":
		p.halt(failed)
	case "vanish":
		p.vanish()
	case "lock", "unlock":
		p.locked = e.What == "lock"
	default:
		return fmt.Errorf("what %q: a pod has exit, error, vanish, lock and unlock", e.What)
	}
	return nil
}
