// Package lambda simulates the API of Lambda Cloud: instance types with their
// capacity, launching and terminating instances, ssh keys, images and file systems,
// with its errors, rate limits and odd states, after its OpenAPI document of April
// 2025 and what public clients know of newer ones. It has not met the live service.
// docs/reference/cloudsim.md says where the documentation leaves a choice.
//
//	launch ─▶ booting ─▶ active ⇄ unhealthy
//	             └──────────┴─ terminate ─▶ terminating ─▶ terminated ─▶ not listed
package lambda

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/muster-run/muster/internal/cloudsim"
)

// Lambda is the simulated cloud.
type Lambda struct {
	*cloudsim.World

	free      map[place]int  // instances that may be launched there
	shown     map[place]bool // the catalogue's entry of that
	instances []*instance    // those that are gone stay, for their bills
	keys      []*sshKey
	systems   []*fileSystem
	newer     bool // answers as the API of 2026 does: tags, architecture, preempted
	work      sync.WaitGroup
}

// A place is where instances of a type are launched.
type place struct{ kind, region string }

// catalogueAge is how old the catalogue may be: capacity that it shows may be gone.
const catalogueAge = 30 * time.Second

// New makes the cloud in a world, whose faults it sets.
func New(w *cloudsim.World) *Lambda {
	l := &Lambda{World: w, free: map[place]int{}, shown: map[place]bool{}}
	w.Faults = cloudsim.NewFaults(l.Routes(), l.Faults())
	for _, k := range kinds {
		for _, region := range k.regions {
			l.free[place{k.name, region}] = k.each
		}
	}
	w.Clock.Do(l.publish)
	return l
}

// publish brings the catalogue up to date, now and then.
func (l *Lambda) publish() {
	for p, n := range l.free {
		l.shown[p] = n > 0
	}
	l.Clock.After(catalogueAge, l.publish)
}

// Close ends all machines.
func (l *Lambda) Close() {
	l.Clock.Do(func() {
		for _, i := range l.instances {
			i.close()
		}
	})
	l.work.Wait()
	l.Machines.Close()
}

// Routes are the calls. All share a limit of one in a second; launches have one of
// their own.
func (l *Lambda) Routes() []cloudsim.Route {
	type r = cloudsim.Route
	const v1 = "/api/v1"
	routes := []r{
		{Method: "GET", Path: "/instance-types", Op: "types", Serve: l.types},
		{Method: "GET", Path: "/regions", Op: "regions", Serve: l.regions},
		{Method: "GET", Path: "/images", Op: "images", Serve: l.images},
		{Method: "GET", Path: "/instances", Op: "list", Serve: l.list},
		{Method: "GET", Path: "/instances/{id}", Op: "show", Serve: l.show},
		{Method: "POST", Path: "/instances/{id}", Op: "rename", Scope: write, Serve: l.rename},
		{Method: "POST", Path: "/instance-operations/launch", Op: "launch", Scope: write, Limit: cloudsim.Limit{Every: 12 * time.Second}, Serve: l.launch},
		{Method: "POST", Path: "/instance-operations/restart", Op: "restart", Scope: write, Serve: l.restart},
		{Method: "POST", Path: "/instance-operations/terminate", Op: "terminate", Scope: write, Serve: l.terminate},
		{Method: "GET", Path: "/ssh-keys", Op: "ssh_keys", Serve: l.sshKeys},
		{Method: "POST", Path: "/ssh-keys", Op: "add_ssh_key", Scope: write, Serve: l.addKey},
		{Method: "DELETE", Path: "/ssh-keys/{id}", Op: "delete_ssh_key", Scope: write, Serve: l.deleteKey},
		{Method: "GET", Path: "/file-systems", Op: "file_systems", Serve: l.fileSystems},
		{Method: "POST", Path: "/filesystems", Op: "create_file_system", Scope: write, Serve: l.createSystem},
		{Method: "DELETE", Path: "/filesystems/{id}", Op: "delete_file_system", Scope: write, Serve: l.deleteSystem},
	}
	for n := range routes {
		routes[n].Path = v1 + routes[n].Path
		routes[n].Shared = cloudsim.Limit{Every: time.Second}
		routes[n].Serve = l.active(routes[n])
	}
	return routes
}

// write is the permission that a read-only key lacks. The service has no scopes;
// newer documents have a 403 for a key that may not do something.
const write = "write"

// active refuses the calls of an account that is not: one without credit here, whom
// the service cannot send an invoice.
func (l *Lambda) active(r cloudsim.Route) func(*cloudsim.Call) cloudsim.Answer {
	serve := r.Serve
	return func(c *cloudsim.Call) cloudsim.Answer {
		if !c.Account.Credit.IsPositive() {
			return failure(http.StatusForbidden, "global/account-inactive", "Your account is inactive.", "Make sure you have verified your email address and have a valid payment method.")
		}
		return serve(c)
	}
}

// Faults are the faults of this cloud alone, by operation or step.
func (l *Lambda) Faults() map[string][]string {
	return map[string][]string{
		"launch":    {noCapacity, quota, badAddress},
		"boot":      {bootsForever, bootsIll, noSSH, wrongGPU},
		"list":      {lag},
		"terminate": {linger, refused},
	}
}

// Its own faults.
const (
	noCapacity   = "no_capacity"     // although the catalogue shows some
	quota        = "quota"           // of the account
	badAddress   = "invalid_address" // the account's billing address
	bootsForever = "boots_forever"
	bootsIll     = "unhealthy" // right after it booted
	noSSH        = "no_ssh"    // active, and no ssh server answers
	wrongGPU     = "wrong_gpu" // another GPU than its type says
	lag          = "lag"       // lists show the state of For ago, for that long
	linger       = "linger"    // acknowledged, and still terminating and charged For
	refused      = "refused"   // while it boots
)

// failure is the envelope of an error.
func failure(status int, code, message string, suggestion ...string) cloudsim.Answer {
	e := map[string]any{"code": code, "message": message}
	if len(suggestion) > 0 {
		e["suggestion"] = suggestion[0]
	}
	return cloudsim.JSON(status, map[string]any{"error": e})
}

func data(v any) cloudsim.Answer { return cloudsim.JSON(http.StatusOK, map[string]any{"data": v}) }

// invalid is the answer to a bad request.
func invalid(message string) cloudsim.Answer {
	return failure(http.StatusBadRequest, "global/invalid-parameters", message)
}

// absent is the answer about a thing that there is not.
func absent(message string) cloudsim.Answer {
	return failure(http.StatusNotFound, "global/object-does-not-exist", message)
}

// Refuse answers calls that the server does not pass on.
func (l *Lambda) Refuse(r cloudsim.Route, why cloudsim.Refusal) cloudsim.Answer {
	switch why {
	case cloudsim.NoKey, cloudsim.BadKey:
		return failure(http.StatusUnauthorized, "global/invalid-api-key", "API key was invalid, expired, or deleted.", "Check your API key or create a new one, then try again.")
	case cloudsim.Unscoped:
		return failure(http.StatusForbidden, "global/forbidden", "You do not have permission to do this.")
	case cloudsim.TooOften:
		a := cloudsim.HTML(http.StatusTooManyRequests)
		a.Header = map[string]string{"Retry-After": strconv.Itoa(int(max(r.Limit.Every, time.Second).Seconds()))}
		return a
	case cloudsim.ServerBug:
		return failure(http.StatusInternalServerError, "global/unknown", "Something unexpected occurred.")
	}
	return cloudsim.HTML(http.StatusNotFound)
}

// Happen makes something happen; the page about the simulator has the list.
func (l *Lambda) Happen(e cloudsim.Event) error {
	switch {
	case e.What == "api":
		if e.Value != "2025" && e.Value != "2026" {
			return fmt.Errorf("value %q: the API of 2025 or 2026", e.Value)
		}
		l.newer = e.Value == "2026"
		return nil
	case e.Instance != "":
		i := l.find(nil, string(e.Instance))
		if i == nil || i.gone() {
			return fmt.Errorf("no instance %s", e.Instance)
		}
		return i.happen(e)
	}
	for p := range l.free {
		if p.kind+"/"+p.region != string(e.Machine) {
			continue
		}
		n, err := strconv.Atoi(e.Value)
		if e.What != "capacity" || err != nil || n < 0 {
			return fmt.Errorf("what %q, value %q: a machine has capacity, a number of instances", e.What, e.Value)
		}
		l.free[p] = n
		return nil
	}
	return fmt.Errorf("no machine %q: they are called as gpu_1x_a10/us-west-1", e.Machine)
}

// find is an instance by its id, of an account or (nil) of anybody.
func (l *Lambda) find(a *cloudsim.Account, id string) *instance {
	at := slices.IndexFunc(l.instances, func(i *instance) bool { return i.id == id && (a == nil || i.account == a) })
	if at < 0 {
		return nil
	}
	return l.instances[at]
}

// Truth is every instance as it really is, with its exact bill.
func (l *Lambda) Truth() any {
	now := l.Clock.Now()
	instances, capacity := []any{}, map[string]int{}
	for _, i := range l.instances {
		instances = append(instances, map[string]any{
			"id": i.id, "account": i.account.ID, "label": i.name, "type": i.kind.name, "region": i.region, "status": i.status, "gone": i.gone(),
			"usd": i.bill(now), "usd_per_hour": i.rate(),
		})
	}
	for p, n := range l.free {
		capacity[p.kind+"/"+p.region] = n
	}
	keys := []string{}
	for _, k := range l.keys {
		keys = append(keys, k.name)
	}
	reachable, why := l.Machines.Reachable()
	return map[string]any{"instances": instances, "capacity": capacity, "ssh_keys": keys, "ssh": reachable, "ssh_why_not": why}
}
