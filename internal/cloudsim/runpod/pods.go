package runpod

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/muster-run/muster/internal/cloudsim"
)

// row is a pod as the API shows it: every field is there, null where it has nothing.
func (p *pod) row() map[string]any {
	env := p.asked.Env
	if env == nil {
		env = map[string]string{}
	}
	row := map[string]any{
		"id": p.id, "name": p.asked.Name, "status": p.status, "actions": actions[p.status], "image": p.asked.Image, "args": p.asked.Args, "disk": p.disk(), "mounts": p.asked.Mounts,
		"ports": append([]string{}, p.asked.Ports...), "env": env, "registry": p.asked.Registry, "gpu": map[string]any{"id": p.host.gpu.id, "count": p.gpus()}, "cloud": p.host.cloud, "dataCenterId": p.host.center,
		"cudaVersion": nil, "ssh": p.ssh(), "template": nil, "cost": f(p.cost()), "locked": p.locked, "globalNetworking": map[string]any{"enabled": false}, "runtime": p.runtime(),
		"createdAt": stamp(p.created), "startedAt": nil,
	}
	if p.host.cuda != "" {
		row["cudaVersion"] = p.host.cuda
	}
	if !p.started.IsZero() {
		row["startedAt"] = stamp(p.started)
	}
	return row
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func (p *pod) gpus() int {
	if p.poor {
		return 0
	}
	return p.count
}

// ssh is how a pod is reached: through a proxy that has a shell alone, and directly
// while it runs with port 22 mapped.
func (p *pod) ssh() map[string]any {
	at := map[string]any{"proxy": nil, "direct": nil}
	if p.status != provisioning {
		user := p.id + "-64411eb2"
		at["proxy"] = map[string]any{"host": "ssh.runpod.io", "port": 22, "username": user, "command": "ssh " + user + "@ssh.runpod.io"}
	}
	if p.status == running && p.port != nil {
		at["direct"] = map[string]any{"host": "127.0.0.1", "port": p.port.Number(), "username": "root", "command": fmt.Sprintf("ssh root@127.0.0.1 -p %d", p.port.Number())}
	}
	return at
}

func (p *pod) runtime() any {
	if p.status != running {
		return nil
	}
	zero := map[string]any{"util": 0}
	gpus, ports := []map[string]any{}, []map[string]any{}
	for range p.gpus() {
		gpus = append(gpus, map[string]any{"util": 0, "memoryUtil": 0})
	}
	if p.port != nil {
		ports = append(ports, map[string]any{"private": 22, "public": p.port.Number(), "type": "tcp", "ip": "127.0.0.1"})
	}
	return map[string]any{"uptime": int(p.r.Clock.Now().Sub(p.started).Seconds()), "gpus": gpus, "cpu": zero, "memory": zero, "ports": ports}
}

func (r *RunPod) list(c *cloudsim.Call) cloudsim.Answer {
	late := time.Duration(0)
	switch fault := r.World.Faults.Take("list", "", lag, noList); {
	case fault != nil && fault.Do == noList:
		return cloudsim.JSON(http.StatusOK, map[string]any{})
	case fault != nil:
		late = time.Duration(fault.For)
	}
	rows, seen := []map[string]any{}, c.Now.Add(-late)
	for _, p := range r.pods {
		if p.account == c.Account && !p.created.After(seen) && (!p.gone || p.ended.After(seen)) {
			rows = append(rows, p.row())
		}
	}
	return cloudsim.JSON(http.StatusOK, map[string]any{"pods": rows})
}

// own is the pod of a call's path that its key may act on, nil where there is none.
func (r *RunPod) own(c *cloudsim.Call) *pod {
	p := r.pod(c.Var("id"))
	if p == nil || p.account != c.Account || c.Key.Instance != 0 && c.Key.Instance != p.n {
		return nil
	}
	return p
}

func (r *RunPod) show(c *cloudsim.Call) cloudsim.Answer {
	p := r.own(c)
	if p == nil {
		return notFound
	}
	return cloudsim.JSON(http.StatusOK, p.row())
}

// terminate answers at once, and takes a moment.
func (r *RunPod) terminate(c *cloudsim.Call) cloudsim.Answer {
	p := r.own(c)
	if p == nil {
		return notFound
	}
	p.doom()
	return none
}

// action starts, stops, restarts or terminates, as far as the status permits.
func (r *RunPod) action(c *cloudsim.Call) cloudsim.Answer {
	var q struct {
		Action string `json:"action"`
	}
	p := r.own(c)
	err := cloudsim.Parse(c.Body, &q)
	switch {
	case err != nil:
		return invalid("$: " + err.Error())
	case !slices.Contains([]string{"start", "stop", "restart", "terminate"}, q.Action):
		return invalid("$.action: one of start, stop, restart, terminate")
	case p == nil:
		return notFound
	case !slices.Contains(actions[p.status], q.Action):
		return fails(http.StatusConflict, "cannot "+q.Action+" a pod that is "+p.status)
	case p.locked && (q.Action == "stop" || q.Action == "restart"):
		return fails(http.StatusConflict, "the pod is locked")
	case q.Action == "start" && !r.left(p.account).IsPositive():
		return fails(http.StatusPaymentRequired, "Insufficient balance.")
	}
	switch {
	case q.Action == "terminate":
		p.doom()
		return none
	case p.doomed: // acknowledged, and without effect
	case q.Action == "stop":
		p.halt(exited)
	case q.Action == "restart":
		p.again()
	default:
		if why := p.start(); why != "" {
			return fails(http.StatusBadRequest, why)
		}
	}
	return cloudsim.JSON(http.StatusOK, p.row())
}

// listKeys are the account's ssh keys.
func (r *RunPod) listKeys(c *cloudsim.Call) cloudsim.Answer {
	return cloudsim.JSON(http.StatusOK, map[string]any{"keys": append([]string{}, r.sshKeys[c.Account.ID]...)})
}

// putKeys replaces all of them.
func (r *RunPod) putKeys(c *cloudsim.Call) cloudsim.Answer {
	var q struct {
		Keys *[]string `json:"keys"`
	}
	if err := cloudsim.Parse(c.Body, &q); err != nil {
		return invalid("$: " + err.Error())
	}
	if q.Keys == nil {
		return invalid("$: keys is required")
	}
	for _, k := range *q.Keys {
		if _, _, _, _, err := ssh.ParseAuthorizedKey([]byte(k)); err != nil || strings.ContainsAny(k, "\n\r") {
			return invalid("$.keys: pattern")
		}
	}
	r.sshKeys[c.Account.ID] = *q.Keys
	return r.listKeys(c)
}
