package paperspace

import (
	"net/http"
	"slices"
	"time"

	"github.com/muster-run/muster/internal/cloudsim"
)

// A creation is the body of a create.
type creation struct {
	Name                  string   `json:"name"`
	MachineType           string   `json:"machineType"`
	TemplateID            string   `json:"templateId"`
	Region                string   `json:"region"`
	DiskSize              int      `json:"diskSize"`
	PublicIPType          string   `json:"publicIpType"`
	NetworkID             *string  `json:"networkId"`
	StartOnCreate         *bool    `json:"startOnCreate"`
	StartupScriptID       string   `json:"startupScriptId"`
	EmailPassword         *bool    `json:"emailPassword"` // true without it
	EnableNvlink          *bool    `json:"enableNvlink"`
	TakeInitialSnapshot   *bool    `json:"takeInitialSnapshot"`
	AutoShutdownEnabled   *bool    `json:"autoShutdownEnabled"`
	AutoShutdownTimeout   int      `json:"autoShutdownTimeout"` // hours
	AutoShutdownForce     *bool    `json:"autoShutdownForce"`
	AutoSnapshotEnabled   *bool    `json:"autoSnapshotEnabled"`
	AutoSnapshotFrequency *string  `json:"autoSnapshotFrequency"`
	AutoSnapshotSaveCount *int     `json:"autoSnapshotSaveCount"`
	RestorePointEnabled   *bool    `json:"restorePointEnabled"`
	RestorePointFrequency *string  `json:"restorePointFrequency"`
	AccessorIDs           []string `json:"accessorIds"`
}

// mostTimeout is the longest auto shutdown, in hours: a week.
const mostTimeout = 168

func invalid(field string) cloudsim.Answer {
	return failure("BAD_REQUEST", "Input validation failed: "+field)
}

// create makes a machine; capacity is an error at once, or of its event.
func (p *Paperspace) create(c *cloudsim.Call) cloudsim.Answer {
	r := &creation{PublicIPType: "none"}
	if err := cloudsim.Parse(c.Body, r); err != nil {
		return invalid(err.Error())
	}
	k := findKind(r.MachineType)
	at := place{r.MachineType, r.Region}
	_, sold := p.free[at]
	s := p.script(c.Account, r.StartupScriptID)
	switch {
	case r.Name == "":
		return invalid("name")
	case k == nil:
		return invalid("machineType")
	case !sold:
		return failure("BAD_REQUEST", "Machine type "+r.MachineType+" is not sold in "+r.Region)
	case !allows(r.TemplateID, k):
		return failure("BAD_REQUEST", "Template is not available for machine type "+r.MachineType)
	case monthly[r.DiskSize] == "":
		return invalid("diskSize")
	case !slices.Contains([]string{"none", "static", "dynamic"}, r.PublicIPType):
		return invalid("publicIpType")
	case r.AutoShutdownTimeout < 0 || r.AutoShutdownTimeout > mostTimeout:
		return invalid("autoShutdownTimeout")
	case r.StartupScriptID != "" && s == nil:
		return failure("NOT_FOUND", "Startup script not found")
	}
	switch f := p.World.Faults.Take("create", r.Name, noCapacity, locked); {
	case f != nil && f.Do == locked:
		return failure("FORBIDDEN", "Machine type "+r.MachineType+" requires approval. Please contact support.")
	case f != nil:
		p.free[at] = 0
	}
	if p.free[at] < 1 {
		return failure("PRECONDITION_FAILED", "We are currently out of capacity for the selected machine type.")
	}
	m, e := p.begin(c.Account, k, r, s)
	return done(m, e)
}

func done(m *machine, e *event) cloudsim.Answer {
	return ok(map[string]any{"data": m.row(), "event": e.row()})
}

// list has all machines that there are.
func (p *Paperspace) list(c *cloudsim.Call) cloudsim.Answer {
	seen := c.Now
	switch f := p.World.Faults.Take("list", "", lag, cut); {
	case f != nil && f.Do == cut:
		return ok(map[string]any{"items": []any{}, "hasMore": true})
	case f != nil:
		seen = seen.Add(-time.Duration(f.For))
	}
	var rows []*machine
	for _, m := range p.machines {
		fits := func(name, value string) bool { return c.Query.Get(name) == "" || c.Query.Get(name) == value }
		if m.account == c.Account && !m.created.After(seen) && (!m.gone || m.ended.After(seen)) && fits("name", m.asked.Name) && fits("region", m.asked.Region) && fits("machineType", m.kind.name) {
			rows = append(rows, m)
		}
	}
	return page(c, rows, (*machine).row)
}

var noMachine = failure("NOT_FOUND", "Machine not found")

func (p *Paperspace) show(c *cloudsim.Call) cloudsim.Answer {
	m := p.find(c.Account, c.Var("id"))
	if m == nil {
		return noMachine
	}
	return ok(m.row())
}

// told is the machine that a call without arguments is about. A JSON content type
// wants a body.
func (p *Paperspace) told(c *cloudsim.Call) (*machine, cloudsim.Answer) {
	m := p.find(c.Account, c.Var("id"))
	switch {
	case m == nil:
		return nil, noMachine
	case len(c.Body) == 0 || cloudsim.Parse(c.Body, &struct{}{}) != nil:
		return nil, failure("BAD_REQUEST", "Body cannot be empty when content-type is set to 'application/json'")
	}
	return m, cloudsim.Answer{}
}

func (p *Paperspace) start(c *cloudsim.Call) cloudsim.Answer {
	m, a := p.told(c)
	switch {
	case m == nil:
		return a
	case m.state != off:
		return failure("BAD_REQUEST", "This machine is currently "+m.state+".")
	}
	at := place{m.kind.name, m.asked.Region}
	e := p.happened(m, "start", "in progress", "")
	if p.World.Faults.Take("start", m.asked.Name, noCapacity) != nil || p.free[at] < 1 {
		m.state = starting
		m.after(starts, func() { m.state = off; e.ends("Out of capacity") })
		return done(m, e)
	}
	m.hold()
	m.boots(e)
	return done(m, e)
}

func (p *Paperspace) stop(c *cloudsim.Call) cloudsim.Answer {
	m, a := p.told(c)
	switch {
	case m == nil:
		return a
	case m.state == off || m.state == stopping:
		return failure("BAD_REQUEST", "This machine is currently "+m.state+".")
	}
	e := p.happened(m, "stop", "in progress", "")
	m.halts(e)
	return done(m, e)
}

func (p *Paperspace) restart(c *cloudsim.Call) cloudsim.Answer {
	m, a := p.told(c)
	switch {
	case m == nil:
		return a
	case m.state != ready:
		return failure("BAD_REQUEST", "This machine is currently "+m.state+".")
	}
	e := p.happened(m, "restart", "in progress", "")
	m.state = restarting
	m.boot()
	m.after(starts, func() { m.state = ready; e.ends("") })
	return done(m, e)
}

// delete answers at once, and takes a moment. Snapshots and claimed addresses would
// stay; muster makes none.
func (p *Paperspace) delete(c *cloudsim.Call) cloudsim.Answer {
	m, a := p.told(c)
	if m == nil {
		return a
	}
	e := p.happened(m, "deactivate", "in progress", "")
	m.doom(e)
	return done(m, e)
}

func (p *Paperspace) eventList(c *cloudsim.Call) cloudsim.Answer {
	var rows []*event
	for _, e := range slices.Backward(p.events) {
		if e.machine.account == c.Account && (c.Query.Get("machineId") == "" || e.machine.id == c.Query.Get("machineId")) {
			rows = append(rows, e)
		}
	}
	return page(c, rows, (*event).row)
}

func (p *Paperspace) eventShow(c *cloudsim.Call) cloudsim.Answer {
	for _, e := range p.events {
		if e.machine.account == c.Account && e.id == c.Var("id") {
			return ok(e.row())
		}
	}
	return failure("NOT_FOUND", "Machine event not found")
}

// A script is run by root when a machine starts.
type script struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Script      string `json:"script"`
	RunOnce     bool   `json:"isRunOnce"`
	Enabled     *bool  `json:"isEnabled"`

	id      string
	account *cloudsim.Account
	created time.Time
}

func (p *Paperspace) script(a *cloudsim.Account, id string) *script {
	at := slices.IndexFunc(p.scripts, func(s *script) bool { return s.account == a && s.id == id })
	if at < 0 {
		return nil
	}
	return p.scripts[at]
}

// row has no script in it, and is not wrapped in data.
func (s *script) row() map[string]any {
	return map[string]any{"id": s.id, "name": s.Name, "description": s.Description, "isEnabled": s.Enabled == nil || *s.Enabled, "isRunOnce": s.RunOnce, "assignedMachineIds": []any{}, "dtCreated": stamp(s.created), "dtDeleted": nil}
}

func (p *Paperspace) scriptList(c *cloudsim.Call) cloudsim.Answer {
	var rows []*script
	for _, s := range p.scripts {
		if s.account == c.Account {
			rows = append(rows, s)
		}
	}
	return page(c, rows, (*script).row)
}

func (p *Paperspace) scriptCreate(c *cloudsim.Call) cloudsim.Answer {
	s := &script{id: p.id("ss"), account: c.Account, created: c.Now}
	if err := cloudsim.Parse(c.Body, s); err != nil || s.Name == "" || s.Script == "" {
		return invalid("name and script")
	}
	p.scripts = append(p.scripts, s)
	return ok(s.row())
}

func (p *Paperspace) scriptDelete(c *cloudsim.Call) cloudsim.Answer {
	s := p.script(c.Account, c.Var("id"))
	if s == nil {
		return failure("NOT_FOUND", "Startup script not found")
	}
	p.scripts = slices.DeleteFunc(p.scripts, func(o *script) bool { return o == s })
	return cloudsim.JSON(http.StatusOK, s.row())
}
