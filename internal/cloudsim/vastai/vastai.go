// Package vastai simulates the Vast.ai API: searching and accepting offers, the
// life of instances, ssh keys, credit and charges, with its errors, rate limits
// and odd states, after its published documentation of August 2026. It has not
// met the live service. docs/reference/cloudsim.md says what it does and where
// the documentation leaves a choice.
//
//	create ─▶ (null) ─▶ loading ─▶ running ─▶ exited ─▶ loading …   stop, start, outbid, end of contract
//	               │         │          └────▶ offline ─▶ running   its host
//	               └─ for ever   └─ created, which never starts
//	any of these ── destroy ─▶ the same, for a while ─▶ gone
package vastai

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/muster-run/muster/internal/cloudsim"
)

// Vast is the simulated cloud.
type Vast struct {
	*cloudsim.World

	machines  []*machine
	offers    map[int]*offer
	instances map[int]*instance // by id; those that are gone stay, for their bills
	keys      []*sshKey
	lastOffer int
	lastID    int
	broke     map[int]*ending // by account: whose credit ended
	work      sync.WaitGroup  // of runners that end
}

// New makes the cloud in a world, whose faults it sets.
func New(w *cloudsim.World) *Vast {
	v := &Vast{World: w, offers: map[int]*offer{}, instances: map[int]*instance{}, lastOffer: 30100000, lastID: 9100230, broke: map[int]*ending{}}
	w.Faults = cloudsim.NewFaults(v.Routes(), v.Faults())
	w.Clock.Do(func() {
		v.machines = catalogue()
		for _, m := range v.machines {
			v.list(m)
		}
		w.Clock.After(settleEvery, v.settle)
	})
	return v
}

// Close ends all machines.
func (v *Vast) Close() {
	v.Clock.Do(func() {
		for _, i := range v.instances {
			i.close()
		}
	})
	v.work.Wait()
	v.Machines.Close()
}

// every is a limit of one call in some seconds.
func every(seconds float64) cloudsim.Limit {
	return cloudsim.Limit{Every: time.Duration(seconds * float64(time.Second))}
}

// Routes are the calls, with the rate limits that the documentation has.
func (v *Vast) Routes() []cloudsim.Route {
	creating := every(4.5)
	creating.Penalty = 12 * time.Second
	type r = cloudsim.Route
	routes := []r{
		{Method: "POST", Path: "/api/v0/bundles", Op: "search", Scope: "misc", Limit: cloudsim.Limit{PerMinute: 10}, Serve: v.search},
		{Method: "GET", Path: "/api/v0/gpu_names/unique", Op: "gpu_names", Open: true, Serve: v.gpuNames},
		{Method: "PUT", Path: "/api/v0/asks/{id}", Op: "create", Scope: "instance_write", Limit: creating, Serve: v.create},
		{Method: "GET", Path: "/api/v1/instances", Op: "list", Scope: "instance_read", Limit: every(1), Serve: v.instanceList},
		{Method: "GET", Path: "/api/v0/instances", Op: "list_v0", Scope: "instance_read", Serve: v.deprecated},
		{Method: "GET", Path: "/api/v0/instances/{id}", Op: "show", Scope: "instance_read", Limit: every(2), Serve: v.show},
		{Method: "PUT", Path: "/api/v0/instances/{id}", Op: "manage", Scope: "instance_write", Limit: every(1), Serve: v.manage},
		{Method: "DELETE", Path: "/api/v0/instances/{id}", Op: "destroy", Scope: "instance_write", Limit: every(3), Serve: v.destroy},
		{Method: "PUT", Path: "/api/v0/instances/reboot/{id}", Op: "reboot", Scope: "instance_write", Limit: every(1), Serve: v.reboot},
		{Method: "PUT", Path: "/api/v0/instances/bid_price/{id}", Op: "bid", Scope: "instance_write", Limit: every(5.5), Serve: v.bid},
		{Method: "GET", Path: "/api/v0/instances/{id}/ssh", Op: "instance_ssh_keys", Scope: "instance_read", Serve: v.instanceKeys},
		{Method: "POST", Path: "/api/v0/instances/{id}/ssh", Op: "attach_ssh_key", Scope: "instance_write", Serve: v.attachKey},
		{Method: "DELETE", Path: "/api/v0/instances/{id}/ssh/{key}", Op: "detach_ssh_key", Scope: "instance_write", Limit: every(2), Serve: v.detachKey},
		{Method: "GET", Path: "/api/v0/ssh", Op: "ssh_keys", Scope: "user_read", Serve: v.sshKeys},
		{Method: "POST", Path: "/api/v0/ssh", Op: "create_ssh_key", Scope: "user_write", Limit: every(1), Serve: v.createKey},
		{Method: "DELETE", Path: "/api/v0/ssh/{key}", Op: "delete_ssh_key", Scope: "user_write", Serve: v.deleteKey},
		{Method: "GET", Path: "/api/v0/users/current", Op: "user", Scope: "user_read", Serve: v.user},
		{Method: "GET", Path: "/api/v0/charges", Op: "charges", Scope: "billing_read", Limit: every(1), Serve: v.charges},
		{Method: "GET", Path: "/api/v1/invoices", Op: "invoices", Scope: "billing_read", Limit: every(3), Serve: v.invoices},
	}
	for n := range routes {
		routes[n].Serve = v.restricted(routes[n])
	}
	return routes
}

// onMachine are the calls that the key on a machine may make, for that machine.
var onMachine = []string{"show", "manage", "destroy"}

// restricted keeps the keys on machines from all other calls.
func (v *Vast) restricted(r cloudsim.Route) func(*cloudsim.Call) cloudsim.Answer {
	serve := r.Serve
	return func(c *cloudsim.Call) cloudsim.Answer {
		if c.Key != nil && c.Key.Instance != 0 && !slices.Contains(onMachine, r.Op) {
			return v.Refuse(r, cloudsim.Unscoped)
		}
		return serve(c)
	}
}

// Faults are the faults of this cloud alone, by operation or step.
func (v *Vast) Faults() map[string][]string {
	return map[string][]string{
		"create":  {goneNow, goneBefore},
		"boot":    append([]string{loadingForever, neverStarts, noSSH, wrongGPU, hostSilent}, cloudsim.Ills...),
		"start":   {gpuTaken},
		"list":    {lag, notSuccess},
		"destroy": {linger},
		"list_v0": {working},
	}
}

// Its own faults.
const (
	goneNow        = "gone_410"        // the offer goes while it is accepted
	goneBefore     = "gone_404"        // it went before
	loadingForever = "loading_forever" // the image never arrives
	neverStarts    = "oci"             // the container is created, and cannot be started
	noSSH          = "no_ssh"          // running, and no ssh server answers
	wrongGPU       = "wrong_gpu"       // the machine has another GPU than its offer says
	hostSilent     = "unknown"         // its host sends no heartbeat
	gpuTaken       = "taken"           // somebody else rented the GPU of a stopped instance
	lag            = "lag"             // lists show the state of For ago, for that long
	notSuccess     = "not_success"     // 200 with success false, and no instances
	linger         = "linger"          // acknowledged, and still there and charged For
	working        = "working"         // the old list works, as before June 2026
)

// failure is the usual envelope of an error.
func failure(status int, code, text string, more ...any) cloudsim.Answer {
	m := map[string]any{"success": false, "error": code, "msg": text}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	return cloudsim.JSON(status, m)
}

var success = cloudsim.JSON(http.StatusOK, map[string]any{"success": true})

// keyless404 are the calls that do not find an unknown key, where others call it
// unauthorized.
var keyless404 = map[string]bool{"search": true, "charges": true, "invoices": true}

// Refuse answers calls that the server does not pass on.
func (v *Vast) Refuse(r cloudsim.Route, why cloudsim.Refusal) cloudsim.Answer {
	switch why {
	case cloudsim.NoKey:
		return failure(http.StatusForbidden, "auth_error", "This action requires login.")
	case cloudsim.BadKey:
		status := http.StatusUnauthorized
		if keyless404[r.Op] {
			status = http.StatusNotFound
		}
		return failure(status, "auth_error", "Invalid user key")
	case cloudsim.Unscoped:
		return failure(http.StatusForbidden, "not_authorized", "This API key is not permitted to perform this action.")
	case cloudsim.TooOften:
		text := "API requests too frequent"
		if r.Limit.Every > 0 {
			text += ": endpoint threshold=" + strconv.FormatFloat(r.Limit.Every.Seconds(), 'f', 1, 64)
		}
		if r.Op == "destroy" {
			return failure(http.StatusTooManyRequests, "rate_limit_exceeded", text)
		}
		return cloudsim.Text(http.StatusTooManyRequests, text)
	case cloudsim.ServerBug:
		return cloudsim.HTML(http.StatusInternalServerError)
	}
	return cloudsim.HTML(http.StatusNotFound)
}

// Happen makes something happen; the page about the simulator has the list.
func (v *Vast) Happen(e cloudsim.Event) error {
	if e.Instance != "" {
		n, _ := strconv.Atoi(string(e.Instance))
		i := v.instances[n]
		if i == nil || i.gone {
			return fmt.Errorf("no instance %s", e.Instance)
		}
		return i.happen(e)
	}
	for _, m := range v.machines {
		if strconv.Itoa(m.id) == string(e.Machine) {
			return v.machineHappens(m, e)
		}
	}
	return fmt.Errorf("name an instance or a machine: there is no machine %s", e.Machine)
}

// id is a number in a path.
func id(c *cloudsim.Call, name string) (int, bool) {
	n, err := strconv.Atoi(c.Var(name))
	return n, err == nil && n > 0
}

// own is the instance of a call's path that its key may act on: nil where there
// is none, bad where that is no number.
func (v *Vast) own(c *cloudsim.Call) (i *instance, bad bool) {
	n, ok := id(c, "id")
	if !ok {
		return nil, true
	}
	i = v.instances[n]
	if i == nil || i.gone || i.account != c.Account || c.Key.Instance != 0 && c.Key.Instance != n {
		return nil, false
	}
	return i, false
}
