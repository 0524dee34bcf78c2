// Package paperspace simulates the API of Paperspace: availability, templates, startup
// scripts, machines and their events, with its errors and odd states, after the types
// of the vendor's own client of February 2026. It has not met the live service.
// docs/reference/cloudsim.md says where the documentation leaves a choice.
//
//	create ─▶ provisioning ─▶ starting ─▶ serviceready ─▶ ready ─▶ stopping ─▶ off
//	                             ▲                                              │
//	                             └───────────────── start ──────────────────────┘
//	any of these ── delete ─▶ the same, for a while ─▶ gone
package paperspace

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/muster-run/muster/internal/cloudsim"
)

// Paperspace is the simulated cloud.
type Paperspace struct {
	*cloudsim.World

	free     map[place]int // machines that may run there
	machines []*machine    // those that are gone stay, for their bills
	scripts  []*script
	events   []*event
	lastID   int
	work     sync.WaitGroup
}

// A place is where machines of a type run.
type place struct{ kind, region string }

// New makes the cloud in a world, whose faults it sets.
func New(w *cloudsim.World) *Paperspace {
	p := &Paperspace{World: w, free: map[place]int{}}
	w.Faults = cloudsim.NewFaults(p.Routes(), p.Faults())
	for _, k := range kinds {
		for _, region := range k.regions {
			p.free[place{k.name, region}] = k.each
		}
	}
	return p
}

// Close ends all machines.
func (p *Paperspace) Close() {
	p.Clock.Do(func() {
		for _, m := range p.machines {
			m.close()
		}
	})
	p.work.Wait()
	p.Machines.Close()
}

// Routes are the calls. How often they may be made is not published: two in a second
// here.
func (p *Paperspace) Routes() []cloudsim.Route {
	type r = cloudsim.Route
	routes := []r{
		{Method: "GET", Path: "/auth/session", Op: "session", Serve: p.session},
		{Method: "GET", Path: "/machine-availability", Op: "availability", Serve: p.availability},
		{Method: "GET", Path: "/os-templates", Op: "templates", Serve: p.templates},
		{Method: "GET", Path: "/machines", Op: "list", Serve: p.list},
		{Method: "POST", Path: "/machines", Op: "create", Scope: write, Serve: p.create},
		{Method: "GET", Path: "/machines/{id}", Op: "show", Serve: p.show},
		{Method: "DELETE", Path: "/machines/{id}", Op: "delete", Scope: write, Serve: p.delete},
		{Method: "PATCH", Path: "/machines/{id}/start", Op: "start", Scope: write, Serve: p.start},
		{Method: "PATCH", Path: "/machines/{id}/stop", Op: "stop", Scope: write, Serve: p.stop},
		{Method: "PATCH", Path: "/machines/{id}/restart", Op: "restart", Scope: write, Serve: p.restart},
		{Method: "GET", Path: "/machine-events", Op: "events", Serve: p.eventList},
		{Method: "GET", Path: "/machine-events/{id}", Op: "event", Serve: p.eventShow},
		{Method: "GET", Path: "/startup-scripts", Op: "scripts", Serve: p.scriptList},
		{Method: "POST", Path: "/startup-scripts", Op: "create_script", Scope: write, Serve: p.scriptCreate},
		{Method: "DELETE", Path: "/startup-scripts/{id}", Op: "delete_script", Scope: write, Serve: p.scriptDelete},
	}
	for n := range routes {
		routes[n].Path = "/v1" + routes[n].Path
		routes[n].Shared = cloudsim.Limit{Every: 500 * time.Millisecond}
	}
	return routes
}

// write is the permission that a read-only key lacks. The service's keys have no
// scopes; an account may be refused all the same.
const write = "write"

// Faults are the faults of this cloud alone, by operation or step.
func (p *Paperspace) Faults() map[string][]string {
	return map[string][]string{
		"create": {noCapacity, locked, failsLater},
		"boot":   {bootsForever, noSSH, wrongGPU},
		"start":  {noCapacity},
		"list":   {lag, cut},
		"delete": {linger},
	}
}

// Its own faults.
const (
	noCapacity   = "no_capacity"   // an error at once; of start, off again with an event
	locked       = "locked"        // a type that support has not unlocked for the account
	failsLater   = "fails_later"   // created, and its event says that it came to nothing
	bootsForever = "boots_forever" // serviceready, and never ready
	noSSH        = "no_ssh"        // ready, and no ssh server answers
	wrongGPU     = "wrong_gpu"     // another GPU than its type's
	lag          = "lag"           // lists show the state of For ago, for that long
	cut          = "cut"           // a page that says that there is more, and not where
	linger       = "linger"        // acknowledged, and there and billed For
)

// status are the HTTP codes of the errors.
var status = map[string]int{
	"BAD_REQUEST": 400, "UNAUTHORIZED": 401, "FORBIDDEN": 403, "NOT_FOUND": 404, "METHOD_NOT_SUPPORTED": 405, "CONFLICT": 409, "PRECONDITION_FAILED": 412,
	"TOO_MANY_REQUESTS": 429, "INTERNAL_SERVER_ERROR": 500,
}

func failure(code, message string) cloudsim.Answer {
	return cloudsim.JSON(status[code], map[string]any{"code": code, "message": message})
}

func ok(v any) cloudsim.Answer { return cloudsim.JSON(http.StatusOK, v) }

// Refuse answers calls that the server does not pass on.
func (p *Paperspace) Refuse(_ cloudsim.Route, why cloudsim.Refusal) cloudsim.Answer {
	switch why {
	case cloudsim.NoKey, cloudsim.BadKey:
		return failure("UNAUTHORIZED", "Invalid API key")
	case cloudsim.Unscoped:
		return failure("FORBIDDEN", "You do not have permission to perform this action")
	case cloudsim.TooOften:
		return failure("TOO_MANY_REQUESTS", "Too many requests")
	case cloudsim.ServerBug:
		return failure("INTERNAL_SERVER_ERROR", "Internal server error")
	}
	return failure("NOT_FOUND", "No \"query\"-procedure on path")
}

// Happen makes something happen; the page about the simulator has the list.
func (p *Paperspace) Happen(e cloudsim.Event) error {
	if e.Instance != "" {
		m := p.find(nil, string(e.Instance))
		if m == nil {
			return fmt.Errorf("no instance %s", e.Instance)
		}
		return m.happen(e)
	}
	for at := range p.free {
		if at.kind+"/"+at.region != string(e.Machine) {
			continue
		}
		n, err := strconv.Atoi(e.Value)
		if e.What != "capacity" || err != nil || n < 0 {
			return fmt.Errorf("what %q, value %q: a machine has capacity, a number of machines", e.What, e.Value)
		}
		p.free[at] = n
		return nil
	}
	return fmt.Errorf("no machine %q: they are called as A4000/East Coast (NY2)", e.Machine)
}

// find is a machine by its id, of an account or (nil) of anybody.
func (p *Paperspace) find(a *cloudsim.Account, id string) *machine {
	at := slices.IndexFunc(p.machines, func(m *machine) bool { return m.id == id && !m.gone && (a == nil || m.account == a) })
	if at < 0 {
		return nil
	}
	return p.machines[at]
}

// id makes one: ps and eight characters, by the prefix of its kind.
func (p *Paperspace) id(prefix string) string {
	p.lastID += 7919
	return prefix + strconv.FormatInt(int64(p.lastID)+36*36*36*36*36*36*36, 36)
}

// Truth is every machine as it really is, with its exact bill.
func (p *Paperspace) Truth() any {
	now := p.Clock.Now()
	instances, capacity := []any{}, map[string]int{}
	for _, m := range p.machines {
		instances = append(instances, map[string]any{
			"id": m.id, "account": m.account.ID, "label": m.asked.Name, "type": m.kind.name, "region": m.asked.Region, "status": m.state, "gone": m.gone,
			"usd": m.bill(now), "usd_per_hour": m.rate(), "mails_password": m.asked.EmailPassword == nil || *m.asked.EmailPassword,
		})
	}
	for at, n := range p.free {
		capacity[at.kind+"/"+at.region] = n
	}
	scripts := []string{}
	for _, s := range p.scripts {
		scripts = append(scripts, s.Name)
	}
	reachable, why := p.Machines.Reachable()
	return map[string]any{"instances": instances, "capacity": capacity, "startup_scripts": scripts, "ssh": reachable, "ssh_why_not": why}
}

// mostRows are those of a page by default, and the most that can be asked for.
const (
	usualRows = 20
	mostRows  = 120
)

// page is a page of rows. At the end there is no nextPage.
func page[T any](c *cloudsim.Call, rows []T, row func(T) map[string]any) cloudsim.Answer {
	limit, from := usualRows, 0
	if text := c.Query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > mostRows {
			return failure("BAD_REQUEST", "Input validation failed: limit")
		}
		limit = n
	}
	if text := c.Query.Get("after"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > len(rows) {
			return failure("BAD_REQUEST", "Input validation failed: after")
		}
		from = n
	}
	items := []any{}
	for _, r := range rows[from:min(from+limit, len(rows))] {
		items = append(items, row(r))
	}
	out := map[string]any{"items": items, "hasMore": from+limit < len(rows)}
	if from+limit < len(rows) {
		out["nextPage"] = strconv.Itoa(from + limit)
	}
	return ok(out)
}

func (p *Paperspace) session(c *cloudsim.Call) cloudsim.Answer {
	return ok(map[string]any{
		"user": map[string]any{"id": c.Account.Name, "email": c.Account.Name + "@example.org"},
		"team": map[string]any{"id": "t" + strconv.Itoa(c.Account.ID), "namespace": c.Account.Name, "maxMachines": 10},
	})
}
