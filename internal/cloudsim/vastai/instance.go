package vastai

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/cloudsim"
)

// How long an instance's steps take, by the cloud's clock.
const (
	assigning  = 4 * time.Second  // until its host reports
	pulling    = 45 * time.Second // until the image is there
	restarting = 12 * time.Second // of a container that was there before
	stopping   = 5 * time.Second
	deleting   = 3 * time.Second // between the answer to a destroy and the end of its bill
	expiring   = 48 * time.Hour  // between the end of its contract and its deletion
)

// Kinds of bills.
const (
	gpuBill  = "gpu"
	diskBill = "disk"
	downBill = "bwd"
	upBill   = "bwu"
)

// An instance is a contract, and the container of it.
type instance struct {
	v       *Vast
	id      int
	account *cloudsim.Account
	key     *cloudsim.Key // for the container itself
	machine *machine
	asked   *creation
	label   *string
	bid     decimal.Decimal // dollars an hour; zero is on demand
	gpu     decimal.Decimal // price of its GPUs, dollars an hour
	sshKeys []*sshKey

	// The fields of the API; actual "" is null.
	actual, intended, cur, next, msg string
	created, up                      time.Time

	booted  bool // its container was there
	on      bool // its container is there: its GPUs are billed
	holds   bool // has a part of its machine
	outbid  bool
	offline bool // its host is
	doomed  bool // asked to be destroyed
	gone    bool
	ended   time.Time
	noSSH   bool
	meter   cloudsim.Meter
	box     cloudsim.Machine
	runner  *cloudsim.Runner
	ports   []*cloudsim.Port // direct, where it has one, and through the proxy
	direct  bool
	cancel  func() // the step that comes next
}

// rent makes the instance of an offer.
func (v *Vast) rent(a *cloudsim.Account, m *machine, r *creation, start bool) *instance {
	now := v.Clock.Now()
	v.lastID++
	i := &instance{v: v, id: v.lastID, account: a, machine: m, asked: r, label: r.Label, gpu: m.perHour, created: now,
		intended: "running", cur: "stopped", next: "running", cancel: func() {}, sshKeys: v.keysOf(a)}
	if r.Price != nil {
		i.bid = decimal.NewFromFloat(*r.Price)
		i.gpu = i.bid
	}
	i.outbid = !i.wins()
	if r.TargetState == "stopped" || i.outbid {
		i.intended, i.next = "stopped", "stopped"
	}
	i.key = v.Accounts.Grant(a, i.id)
	v.instances[i.id] = i
	i.connect()
	i.bill()
	v.Clock.After(m.end().Sub(now), i.contractEnds)
	if start {
		i.start()
	}
	return i
}

// connect gives an instance its machine, and the ports that lead there.
func (i *instance) connect() {
	m := i.machine
	spec := cloudsim.MachineSpec{Name: "C." + strconv.Itoa(i.id), GPU: "NVIDIA " + longName(m.gpu), GPUs: m.part, GPUMiB: m.mib, API: i.v.API, URLVar: "VAST_URL",
		Driver: m.driver, CUDA: strconv.FormatFloat(m.cuda, 'f', 1, 64)}
	if f := i.v.World.Faults.Take("boot", i.asked.label, wrongGPU); f != nil {
		spec.GPU, spec.GPUMiB = "NVIDIA GeForce GTX 1080 Ti", 11264
	}
	if f := i.v.World.Faults.Take("boot", i.asked.label, cloudsim.Ills...); f != nil {
		spec.Ill = f.Do
	}
	i.runner = cloudsim.NewRunner()
	box, err := i.v.Machines.New(spec)
	if err != nil {
		i.msg = err.Error()
		return
	}
	i.box = box
	i.direct = strings.Contains(i.asked.runtype, "direc") && m.ports > 0
	n := 0
	if strings.Contains(i.asked.runtype, "ssh") || strings.Contains(i.asked.runtype, "jupyter") {
		n = 1 + btoi(i.direct)
	}
	for range n {
		p, err := cloudsim.Listen(box.Dial)
		if err != nil {
			i.msg = err.Error()
			return
		}
		i.ports = append(i.ports, p)
	}
}

func longName(gpu string) string {
	if strings.HasPrefix(gpu, "RTX") {
		return "GeForce " + gpu
	}
	return map[string]string{"A100 SXM4": "A100-SXM4-80GB", "H100 SXM": "H100 80GB HBM3"}[gpu]
}

// after makes f the next step, in place of any other.
func (i *instance) after(d time.Duration, f func()) {
	i.cancel()
	i.cancel = i.v.Clock.After(d, f)
}

// start lets it run: at once where its machine has a part for it, else when one is
// free.
func (i *instance) start() {
	i.intended, i.next = "running", "running"
	m := i.machine
	if !i.holds && (m.free() <= 0 || m.offline || !i.wins()) {
		return // the web interface calls it scheduling
	}
	if !i.holds {
		i.holds = true
		m.ours++
		i.v.list(m)
	}
	i.outbid = false
	i.cur = "running"
	if i.booted {
		i.actual, i.msg = "loading", "restarting"
		i.after(restarting, i.runs)
		return
	}
	i.after(assigning, i.loads)
}

// wins reports whether its bid is high enough.
func (i *instance) wins() bool { return i.bid.IsZero() || !i.bid.LessThan(i.machine.minBid) }

// loads is when its host reports for the first time.
func (i *instance) loads() {
	i.actual, i.msg = "loading", "pulling "+i.asked.Image
	switch f := i.v.World.Faults.Take("boot", i.asked.label, loadingForever, neverStarts, noSSH, hostSilent); {
	case f == nil:
		i.after(pulling, i.runs)
	case f.Do == hostSilent:
		i.actual, i.msg = "unknown", ""
	case f.Do == neverStarts:
		i.after(pulling, func() {
			i.actual, i.msg = "created", "Error response from daemon: failed to create task for container: OCI runtime create failed: runc create failed: unable to start container process"
		})
	case f.Do == noSSH:
		i.noSSH = true
		i.after(pulling, i.runs)
	}
}

// runs is when its container is up. Its ssh server comes up after that.
func (i *instance) runs() {
	now := i.v.Clock.Now()
	i.actual, i.msg = "running", "success, running "+i.asked.Image+"/"+strings.Fields(i.asked.runtype)[0]
	i.cur, i.booted, i.on, i.up = "running", true, true, now
	i.bill()
	if i.box == nil || i.noSSH {
		return
	}
	box, keys, script, env := i.box, i.keyTexts(), deref(i.asked.OnStart), i.environ()
	trouble := i.v.Trouble
	i.runner.Then(func() {
		if err := box.Start(keys, script, env); err != nil && trouble != nil {
			trouble(err)
		}
	})
	i.open(!i.offline)
}

// bill bills the instance from now on: its GPUs while its container exists, its
// disk as long as it exists, and nothing while its host is away.
func (i *instance) bill() {
	gpu, disk := decimal.Zero, decimal.Zero
	if !i.offline {
		disk = i.machine.diskHour(i.asked.disk)
		if i.on {
			gpu = i.gpu
		}
	}
	now := i.v.Clock.Now()
	i.meter.Run(gpuBill, gpu, now)
	i.meter.Run(diskBill, disk, now)
}

// environ is the environment of its onstart.
func (i *instance) environ() []string {
	env := []string{
		fmt.Sprintf("CONTAINER_ID=%d", i.id), "CONTAINER_API_KEY=" + i.key.Text, fmt.Sprintf("VAST_CONTAINERLABEL=C.%d", i.id),
		"PUBLIC_IPADDR=127.0.0.1", fmt.Sprintf("GPU_COUNT=%d", i.machine.part), "DATA_DIRECTORY=/root/",
		"SSH_PUBLIC_KEY=" + strings.Join(i.keyTexts(), "\n"),
	}
	if i.direct {
		env = append(env, fmt.Sprintf("VAST_TCP_PORT_22=%d", i.ports[0].Number()))
	}
	for _, p := range pairs(i.asked.Env) {
		if !strings.HasPrefix(p[0], "-") { // a flag of docker
			env = append(env, p[0]+"="+p[1])
		}
	}
	return env
}

func (i *instance) open(open bool) {
	for _, p := range i.ports {
		p.Open(open)
	}
}

// stop ends its container in a moment, as its user wants.
func (i *instance) stop() {
	i.intended, i.next = "stopped", "stopped"
	i.outbid = false
	if i.cur == "stopped" {
		return
	}
	i.after(stopping, i.halt)
}

// halt ends its container now: the disk stays, and is billed.
func (i *instance) halt() {
	i.cancel()
	if i.actual != "" {
		i.actual, i.msg = "exited", ""
	}
	i.cur, i.on = "stopped", false
	i.kill()
	i.bill()
	i.leave()
}

func (i *instance) kill() {
	i.open(false)
	if box := i.box; box != nil {
		i.runner.Then(box.Kill)
	}
}

// leave gives its part of the machine to whoever waits for it.
func (i *instance) leave() {
	if i.holds {
		i.holds = false
		i.machine.ours--
		i.v.list(i.machine)
		i.v.auction(i.machine)
	}
}

// auction ends outbid instances on a machine, and starts those that wait for a part.
func (v *Vast) auction(m *machine) {
	for id := v.firstID(); id <= v.lastID; id++ {
		i := v.instances[id]
		switch {
		case i.machine != m || i.gone || i.doomed:
		case i.holds && !i.wins():
			i.lose()
		case !i.holds && (i.outbid || i.next == "running" && i.cur == "stopped") && i.wins() && m.free() > 0:
			i.start()
		}
	}
}

func (v *Vast) firstID() int { return v.lastID - len(v.instances) + 1 }

// lose is when somebody bids more: it stops without notice, and looks as if its
// user had wanted that.
func (i *instance) lose() {
	i.intended, i.next = "stopped", "stopped"
	i.halt()
	i.outbid = true
}

// contractEnds is when its host takes the machine back.
func (i *instance) contractEnds() {
	if i.gone || i.doomed {
		return
	}
	i.intended, i.next = "stopped", "stopped"
	i.halt()
	i.v.Clock.After(expiring, i.doom)
}

// doom destroys it, in a moment.
func (i *instance) doom() {
	if i.gone || i.doomed {
		return
	}
	i.doomed = true
	d := deleting
	if f := i.v.World.Faults.Take("destroy", i.asked.label, linger); f != nil {
		d = time.Duration(f.For)
	}
	i.open(false)
	if box := i.box; box != nil {
		i.runner.Then(box.Remove)
	}
	i.after(d, i.vanish)
}

// vanish is when it is gone, and its bill complete.
func (i *instance) vanish() {
	i.transferred()
	i.gone, i.ended = true, i.v.Clock.Now()
	i.meter.Stop(i.ended)
	i.v.Accounts.Revoke(i.key)
	i.leave()
	i.close()
}

// close ends its machine.
func (i *instance) close() {
	i.cancel()
	for _, p := range i.ports {
		p.Close()
	}
	if i.runner != nil {
		i.v.work.Go(i.runner.Close)
		i.runner = nil
	}
	i.box = nil
}

// hostIs is when its host goes or comes back: nothing is billed while it is away,
// and what runs there goes on.
func (i *instance) hostIs(online bool) {
	i.offline = !online
	i.bill()
	i.open(online && i.actual == "running" && !i.noSSH)
}

// transferred bills the bytes that its ports carried.
func (i *instance) transferred() {
	now := i.v.Clock.Now()
	for _, p := range i.ports {
		in, out := p.Bytes()
		i.meter.Transferred(downBill, in, i.machine.downGB, now)
		i.meter.Transferred(upBill, out, i.machine.upGB, now)
	}
}

// happen makes something happen to one instance.
func (i *instance) happen(e cloudsim.Event) error {
	switch e.What {
	case "outbid":
		if i.bid.IsZero() {
			return fmt.Errorf("instance %d is on demand: nobody outbids it", i.id)
		}
		if i.holds {
			i.lose()
		}
	case "rebid":
		if i.outbid && i.machine.free() > 0 {
			i.start()
		}
	case "exit":
		i.cancel()
		i.actual, i.msg = "exited", "container exited"
		i.kill()
	case "end":
		i.contractEnds()
	default:
		return fmt.Errorf("what %q: an instance has outbid, rebid, exit and end", e.What)
	}
	return nil
}
