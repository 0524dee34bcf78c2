package paperspace

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/cloudsim"
)

// How long a machine's steps take, by the cloud's clock.
const (
	provisions = 60 * time.Second
	starts     = 40 * time.Second
	agentUp    = 20 * time.Second // from the host's agent to a login
	stops      = 30 * time.Second
	deleting   = 10 * time.Second
)

// The states.
const (
	off          = "off"
	starting     = "starting"
	stopping     = "stopping"
	restarting   = "restarting"
	serviceReady = "serviceready"
	ready        = "ready"
	provisioning = "provisioning"
)

// A machine is one of an account.
type machine struct {
	p        *Paperspace
	id       string
	account  *cloudsim.Account
	kind     *kind
	asked    *creation
	script   *script
	state    string
	created  time.Time
	modified time.Time
	sessions []session // that were billed; the last may go on
	holds    bool      // has a part of the capacity
	doomed   bool
	gone     bool
	ended    time.Time
	ran      bool // its startup script did
	fault    string
	box      cloudsim.Machine
	runner   *cloudsim.Runner
	cancel   func() // the step that comes next
	timer    func() // its auto shutdown
}

// A session is from a start to off. Compute is billed by the hour that began.
type session struct{ from, to time.Time }

// An event is something that was done to a machine.
type event struct {
	id, name, state, why string
	machine              *machine
	created, finished    time.Time
}

func (p *Paperspace) happened(m *machine, name, state, why string) *event {
	e := &event{id: p.id("me"), name: name, state: state, why: why, machine: m, created: p.Clock.Now()}
	p.events = append(p.events, e)
	return e
}

func (e *event) ends(why string) {
	e.state, e.why, e.finished = "done", why, e.machine.p.Clock.Now()
	if why != "" {
		e.state = "error"
	}
}

func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func (e *event) row() map[string]any {
	var why any
	if e.why != "" {
		why = e.why
	}
	return map[string]any{"id": e.id, "name": e.name, "state": e.state, "error": why, "machineId": e.machine.id, "dtCreated": stamp(e.created), "dtStarted": stamp(e.created), "dtFinished": stamp(e.finished)}
}

// begin makes a machine, and starts it.
func (p *Paperspace) begin(a *cloudsim.Account, k *kind, r *creation, s *script) (*machine, *event) {
	m := &machine{p: p, id: p.id("ps"), account: a, kind: k, asked: r, script: s, state: provisioning, created: p.Clock.Now(), modified: p.Clock.Now(), cancel: func() {}, timer: func() {}, runner: cloudsim.NewRunner()}
	p.machines = append(p.machines, m)
	spec := cloudsim.MachineSpec{Name: m.id, GPU: k.device, GPUs: k.gpus, GPUMiB: k.mib, User: "paperspace"}
	if f := p.World.Faults.Take("boot", r.Name, bootsForever, noSSH, wrongGPU); f != nil {
		m.fault = f.Do
	}
	if m.fault == wrongGPU {
		spec.GPU, spec.GPUMiB = "NVIDIA GeForce GTX 1080 Ti", 11264
	}
	box, err := p.Machines.New(spec)
	if err == nil {
		m.box = box
	} else if p.Trouble != nil {
		p.Trouble(err)
	}
	e := p.happened(m, "create", "in progress", "")
	if p.World.Faults.Take("create", r.Name, failsLater) != nil {
		m.after(provisions, func() { m.state = off; e.ends("Machine could not be provisioned") })
		return m, e
	}
	m.hold()
	m.after(provisions, func() {
		e.ends("")
		if r.StartOnCreate == nil || *r.StartOnCreate {
			m.boots(p.happened(m, "start", "in progress", ""))
		} else {
			m.leave()
			m.state = off
		}
	})
	return m, e
}

// after makes f the next step, in place of any other.
func (m *machine) after(d time.Duration, f func()) {
	m.cancel()
	m.cancel = m.p.Clock.After(d, func() { m.modified = m.p.Clock.Now(); f() })
}

func (m *machine) hold() {
	if !m.holds {
		m.holds = true
		m.p.free[place{m.kind.name, m.asked.Region}]--
	}
}

func (m *machine) leave() {
	if m.holds {
		m.holds = false
		m.p.free[place{m.kind.name, m.asked.Region}]++
	}
}

// boots starts it: compute is billed from now on, and its timer counts.
func (m *machine) boots(e *event) {
	m.state = starting
	m.sessions = append(m.sessions, session{from: m.p.Clock.Now()})
	if on := m.asked.AutoShutdownEnabled; on != nil && *on && m.asked.AutoShutdownTimeout > 0 {
		m.timer = m.p.Clock.After(time.Duration(m.asked.AutoShutdownTimeout)*time.Hour, func() { m.halts(m.p.happened(m, "vm-shutdown-force", "in progress", "")) })
	}
	m.boot()
	m.after(starts, func() {
		m.state = serviceReady
		if m.fault != bootsForever {
			m.after(agentUp, func() { m.state = ready; e.ends("") })
		}
	})
}

// boot boots its machine, with its startup script.
func (m *machine) boot() {
	if m.box == nil || m.fault == noSSH {
		return
	}
	text := ""
	if m.script != nil && !(m.script.RunOnce && m.ran) {
		text = m.script.Script
	}
	m.ran = true
	box, trouble := m.box, m.p.Trouble
	m.runner.Then(func() {
		if err := box.Start(nil, text, nil); err != nil && trouble != nil {
			trouble(err)
		}
	})
}

// halts stops it. Its disk stays, and is billed.
func (m *machine) halts(e *event) {
	if m.state == off || m.state == stopping {
		return
	}
	m.timer()
	m.state = stopping
	if box := m.box; box != nil {
		m.runner.Then(box.Kill)
	}
	m.after(stops, func() {
		m.state = off
		m.pause()
		m.leave()
		e.ends("")
	})
}

// pause ends the bill of its compute.
func (m *machine) pause() {
	if n := len(m.sessions); n > 0 && m.sessions[n-1].to.IsZero() {
		m.sessions[n-1].to = m.p.Clock.Now()
	}
}

// doom deletes it, in a moment.
func (m *machine) doom(e *event) {
	if m.doomed {
		return
	}
	m.doomed = true
	m.timer()
	if box := m.box; box != nil {
		m.runner.Then(box.Remove)
	}
	d := deleting
	if f := m.p.World.Faults.Take("delete", m.asked.Name, linger); f != nil {
		d = time.Duration(f.For)
	}
	m.after(d, func() {
		m.pause()
		m.leave()
		m.gone, m.ended = true, m.p.Clock.Now()
		e.ends("")
		m.close()
	})
}

// close ends its machine.
func (m *machine) close() {
	m.cancel()
	m.timer()
	if m.runner != nil {
		m.p.work.Go(m.runner.Close)
		m.runner = nil
	}
	m.box = nil
}

func (m *machine) hourly() decimal.Decimal { return decimal.RequireFromString(m.kind.hourly) }

func (m *machine) keptHour() decimal.Decimal {
	kept := decimal.RequireFromString(monthly[m.asked.DiskSize]).Div(hoursOfMonth)
	if m.addressed() {
		kept = kept.Add(addressHour)
	}
	return kept
}

// rate is its price an hour now.
func (m *machine) rate() decimal.Decimal {
	if m.gone {
		return decimal.Zero
	}
	sum := m.keptHour()
	if n := len(m.sessions); n > 0 && m.sessions[n-1].to.IsZero() {
		sum = sum.Add(m.hourly())
	}
	return sum.Round(6)
}

// bill is its cost up to now: compute by the hour that began, its disk and its address by the second.
func (m *machine) bill(now time.Time) decimal.Decimal {
	end := now
	if m.gone {
		end = m.ended
	}
	sum := m.keptHour().Mul(decimal.NewFromInt(int64(end.Sub(m.created) / time.Second))).Div(decimal.NewFromInt(3600))
	for _, s := range m.sessions {
		to := s.to
		if to.IsZero() {
			to = end
		}
		hours := int64((to.Sub(s.from) + time.Hour - 1) / time.Hour)
		sum = sum.Add(m.hourly().Mul(decimal.NewFromInt(hours)))
	}
	return sum.Round(6)
}

// happen makes something happen to one machine.
func (m *machine) happen(e cloudsim.Event) error {
	switch e.What {
	case "stop": // in the console
		m.halts(m.p.happened(m, "stop", "in progress", ""))
	case "delete":
		m.doom(m.p.happened(m, "deactivate", "in progress", ""))
	default:
		return fmt.Errorf("what %q: an instance has stop and delete", e.What)
	}
	return nil
}

// addressed reports whether it was created with a public address.
func (m *machine) addressed() bool {
	return m.asked.PublicIPType == "dynamic" || m.asked.PublicIPType == "static"
}

// ip is its public address: another one after each start. Without a machine behind
// it, it is one that nobody answers at.
func (m *machine) ip() any {
	if !m.addressed() || !slices.Contains([]string{starting, serviceReady, ready}, m.state) {
		return nil
	}
	if reachable, _ := m.p.Machines.Reachable(); !reachable || m.fault == noSSH {
		return "192.0.2.20"
	}
	if m.box != nil && m.box.Address() != "" {
		return m.box.Address()
	}
	return nil
}

// row is a machine as the API shows it.
func (m *machine) row() map[string]any {
	storage, err := strconv.ParseFloat(monthly[m.asked.DiskSize], 64)
	if err != nil {
		panic(err) // our own table
	}
	row := map[string]any{
		"id": m.id, "name": m.asked.Name, "state": m.state, "os": "Ubuntu 22.04.4 LTS", "machineType": m.kind.name, "agentType": "LinuxHeadless", "cpus": m.kind.cpus, "ram": m.kind.ramGiB << 30,
		"storageTotal": m.asked.DiskSize * 1e9, "storageUsed": 0, "region": m.asked.Region, "privateIp": "10.64.0.5", "networkId": nil, "publicIp": m.ip(), "publicIpType": m.asked.PublicIPType,
		"accelerators":        []any{map[string]any{"name": m.kind.gpu, "memory": m.kind.mib << 20, "count": m.kind.gpus}},
		"autoShutdownEnabled": m.asked.AutoShutdownEnabled != nil && *m.asked.AutoShutdownEnabled, "autoShutdownTimeout": nil, "autoShutdownForce": m.asked.AutoShutdownForce,
		"autoSnapshotEnabled": false, "usageRate": m.hourly().InexactFloat64(), "storageRate": storage, "updatesPending": false, "restorePointEnabled": false, "reservation": nil,
		"dtCreated": stamp(m.created), "dtModified": stamp(m.modified), "dtDeleted": nil,
	}
	if m.asked.AutoShutdownTimeout > 0 {
		row["autoShutdownTimeout"] = m.asked.AutoShutdownTimeout
	}
	return row
}
