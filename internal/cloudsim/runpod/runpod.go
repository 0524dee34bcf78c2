// Package runpod simulates version 2 of the RunPod API: its catalogue, the life of
// pods, network volumes, ssh keys and bills, with its errors, rate limits and odd
// states, after its published documentation of August 2026, and of the older interface
// the account's balance. It has not met the live service. docs/reference/cloudsim.md
// says what it does and where the documentation leaves a choice.
//
//	create ─▶ PROVISIONING ─▶ STARTING ─▶ RUNNING ─▶ EXITED ─▶ STARTING …   stop, exit, start
//	                │             └─▶ ERROR   └─▶ STARTING                 restart
//	any of these ── terminate ─▶ the same, for a while ─▶ gone
package runpod

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/muster-run/muster/internal/cloudsim"
)

// RunPod is the simulated cloud.
type RunPod struct {
	*cloudsim.World
	types   []*gpuType
	hosts   []*host
	pods    []*pod // those that are gone stay, for their bills
	volumes []*volume
	sshKeys map[int][]string // by account
	used    map[string]*quotas
	work    sync.WaitGroup // of runners that end
}

// New makes the cloud in a world, whose faults it sets.
func New(w *cloudsim.World) *RunPod {
	r := &RunPod{World: w, sshKeys: map[int][]string{}, used: map[string]*quotas{}}
	w.Faults = cloudsim.NewFaults(r.Routes(), r.Faults())
	w.Clock.Do(func() {
		r.types, r.hosts = catalogue()
		w.Clock.After(settleEvery, r.settle)
	})
	return r
}

// Close ends all machines.
func (r *RunPod) Close() {
	r.Clock.Do(func() {
		for _, p := range r.pods {
			p.close()
		}
	})
	r.work.Wait()
	r.Machines.Close()
}

// The permissions of a key.
const (
	reads  = "read"
	writes = "write"
	old    = "graphql"
)

// Routes are the calls.
func (r *RunPod) Routes() []cloudsim.Route {
	routes := []cloudsim.Route{
		{Method: "GET", Path: "/v2/catalog/gpus", Op: "gpus", Scope: reads, Serve: r.listTypes},
		{Method: "GET", Path: "/v2/catalog/gpus/{id}", Op: "gpu", Scope: reads, Serve: r.oneType},
		{Method: "GET", Path: "/v2/pods", Op: "list", Scope: reads, Serve: r.list},
		{Method: "POST", Path: "/v2/pods", Op: "create", Scope: writes, Serve: r.create},
		{Method: "GET", Path: "/v2/pods/{id}", Op: "show", Scope: reads, Serve: r.show},
		{Method: "DELETE", Path: "/v2/pods/{id}", Op: "terminate", Scope: writes, Serve: r.terminate},
		{Method: "POST", Path: "/v2/pods/{id}/action", Op: "action", Scope: writes, Serve: r.action},
		{Method: "GET", Path: "/v2/network-volumes", Op: "volumes", Scope: reads, Serve: r.listVolumes},
		{Method: "POST", Path: "/v2/network-volumes", Op: "create_volume", Scope: writes, Serve: r.createVolume},
		{Method: "GET", Path: "/v2/network-volumes/{id}", Op: "volume", Scope: reads, Serve: r.showVolume},
		{Method: "DELETE", Path: "/v2/network-volumes/{id}", Op: "delete_volume", Scope: writes, Serve: r.deleteVolume},
		{Method: "GET", Path: "/v2/account/ssh-keys", Op: "ssh_keys", Scope: reads, Serve: r.listKeys},
		{Method: "PUT", Path: "/v2/account/ssh-keys", Op: "put_ssh_keys", Scope: writes, Serve: r.putKeys},
		{Method: "GET", Path: "/v2/billing/pods", Op: "billing", Scope: reads, Serve: r.billing},
		{Method: "POST", Path: "/graphql", Op: "balance", Scope: old, Serve: r.graphql},
	}
	for n := range routes {
		routes[n].Serve = r.within(routes[n])
	}
	return routes
}

// onPod are the calls that the key of a pod may make, for that pod.
var onPod = []string{"show", "action", "terminate"}

// within keeps an account within its limits, and the key of a pod within that pod.
func (r *RunPod) within(route cloudsim.Route) func(*cloudsim.Call) cloudsim.Answer {
	return func(c *cloudsim.Call) cloudsim.Answer {
		q := r.used[c.Account.Name+strconv.Itoa(c.Account.ID)]
		if q == nil {
			q = &quotas{}
			r.used[c.Account.Name+strconv.Itoa(c.Account.ID)] = q
		}
		var a cloudsim.Answer
		switch passes := q.count(c.Now); {
		case c.Limited && !passes:
			a = r.Refuse(route, cloudsim.TooOften)
			a.Header["Retry-After"] = strconv.Itoa(q.retry(c.Now))
		case c.Key.Instance != 0 && !slices.Contains(onPod, route.Op):
			a = r.Refuse(route, cloudsim.Unscoped)
		default:
			a = route.Serve(c)
		}
		if a.Header == nil {
			a.Header = map[string]string{}
		}
		a.Header["RateLimit-Policy"], a.Header["RateLimit"] = q.headers(c.Now)
		return a
	}
}

// windows are the limits of an account: calls in a time.
var windows = []struct {
	name  string
	calls int
	in    time.Duration
}{{"minute", 60, time.Minute}, {"hour", 3000, time.Hour}, {"day", 50000, 24 * time.Hour}}

// quotas are an account's use of each window.
type quotas [3]struct {
	since time.Time
	used  int
}

// count counts a call, and reports whether it is within the limits.
func (q *quotas) count(now time.Time) bool {
	for i, w := range windows {
		if now.Sub(q[i].since) >= w.in {
			q[i].since, q[i].used = now, 0
		}
	}
	for i, w := range windows {
		if q[i].used >= w.calls {
			return false
		}
	}
	for i := range windows {
		q[i].used++
	}
	return true
}

func (q *quotas) left(i int, now time.Time) int {
	return int((windows[i].in - now.Sub(q[i].since) + time.Second - 1) / time.Second)
}

// retry is when the last of the full windows ends, seconds.
func (q *quotas) retry(now time.Time) (seconds int) {
	for i, w := range windows {
		if q[i].used >= w.calls {
			seconds = max(seconds, q.left(i, now))
		}
	}
	return seconds
}

func (q *quotas) headers(now time.Time) (policy, state string) {
	var p, s []string
	for i, w := range windows {
		p = append(p, fmt.Sprintf("%q;q=%d;w=%d", w.name, w.calls, int(w.in.Seconds())))
		s = append(s, fmt.Sprintf("%q;r=%d;t=%d", w.name, w.calls-q[i].used, q.left(i, now)))
	}
	return strings.Join(p, ", "), strings.Join(s, ", ")
}

// Its own faults.
const (
	noCapacity = "no_capacity" // a GPU that the catalogue has cannot be placed
	noPool     = "no_pool"     // the account may not use the GPU
	stuck      = "stuck"       // the image never arrives
	breaks     = "error"       // the container cannot be started
	exits      = "exits"       // it ends as soon as it runs
	noPort     = "no_port"     // port 22 is never mapped
	noSSH      = "no_ssh"      // it is, and no ssh server answers
	wrongGPU   = "wrong_gpu"   // the machine has another GPU than was asked for
	zeroGPUs   = "zero_gpus"   // a stopped pod starts without its GPUs
	gpuTaken   = "taken"       // it does not start: somebody else has them
	lag        = "lag"         // lists show the state of For ago
	noList     = "no_list"     // 200 without a list
	linger     = "linger"      // acknowledged, and still there and charged For
)

// Faults are the faults of this cloud alone, by operation or step.
func (r *RunPod) Faults() map[string][]string {
	return map[string][]string{
		"create":    {noCapacity, noPool},
		"boot":      {stuck, breaks, exits, noPort, noSSH, wrongGPU},
		"start":     {zeroGPUs, gpuTaken},
		"list":      {lag, noList},
		"terminate": {linger},
	}
}

// fails is an error. There is no code in it: programs have the status alone.
func fails(status int, detail string, more ...string) cloudsim.Answer {
	m := map[string]any{"title": http.StatusText(status), "status": status, "detail": detail}
	if len(more) > 0 {
		m["errors"] = more
	}
	a := cloudsim.JSON(status, m)
	a.Type, a.Header = "application/problem+json", map[string]string{}
	return a
}

// invalid answers a body that differs from the documentation.
func invalid(why ...string) cloudsim.Answer {
	return fails(http.StatusUnprocessableEntity, "Request validation failed.", why...)
}

var notFound = fails(http.StatusNotFound, "not found")

// none is an answer without a body.
var none = cloudsim.Answer{Status: http.StatusNoContent}

// Refuse answers calls that the server does not pass on.
func (r *RunPod) Refuse(_ cloudsim.Route, why cloudsim.Refusal) cloudsim.Answer {
	switch why {
	case cloudsim.NoKey:
		return fails(http.StatusUnauthorized, "missing bearer token")
	case cloudsim.BadKey:
		return fails(http.StatusUnauthorized, "invalid bearer token")
	case cloudsim.Unscoped:
		return fails(http.StatusForbidden, "the API key lacks permission for this operation")
	case cloudsim.TooOften:
		a := fails(http.StatusTooManyRequests, "rate limit exceeded")
		a.Header["Retry-After"] = "5"
		return a
	case cloudsim.ServerBug:
		return fails(http.StatusInternalServerError, "internal error")
	}
	return fails(http.StatusNotFound, "no such route")
}

// Happen makes something happen; the page about the simulator has the list.
func (r *RunPod) Happen(e cloudsim.Event) error {
	if e.Instance != "" {
		p := r.pod(string(e.Instance))
		if p == nil {
			return fmt.Errorf("no pod %s", e.Instance)
		}
		return p.happen(e)
	}
	for _, h := range r.hosts {
		if h.name == string(e.Machine) {
			return h.happen(e)
		}
	}
	return fmt.Errorf("name an instance or a machine: there is no machine %q", e.Machine)
}
