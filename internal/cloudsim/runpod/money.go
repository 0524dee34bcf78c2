package runpod

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/cloudsim"
)

// settleEvery is how often accounts are charged. Bills are complete up to then.
const settleEvery = 5 * time.Minute

// spent is the cost of an account's pods and volumes up to now.
func (r *RunPod) spent(a *cloudsim.Account) (sum decimal.Decimal) {
	now := r.Clock.Now()
	for _, p := range r.pods {
		if p.account == a {
			sum = sum.Add(p.meter.Total(now))
		}
	}
	for _, v := range r.volumes {
		if v.account == a {
			sum = sum.Add(v.meter.Total(now))
		}
	}
	return sum
}

// left is an account's balance.
func (r *RunPod) left(a *cloudsim.Account) decimal.Decimal { return a.Credit.Sub(r.spent(a)) }

// burn is an account's current spending an hour.
func (r *RunPod) burn(a *cloudsim.Account) (sum decimal.Decimal) {
	for _, p := range r.pods {
		if p.account == a && !p.gone {
			sum = sum.Add(p.meter.Burn())
		}
	}
	return sum
}

// settle ends unpaid pods: it stops those with a network volume, and terminates others with
// their disks.
func (r *RunPod) settle() {
	for _, p := range r.pods {
		switch {
		case p.gone || r.left(p.account).IsPositive():
		case len(p.asked.Mounts.Network) == 0:
			p.vanish()
		case p.status != exited:
			p.halt(exited)
		}
	}
	r.Clock.After(settleEvery, r.settle)
}

// graphql answers the one question that version 2 has no answer to.
func (r *RunPod) graphql(c *cloudsim.Call) cloudsim.Answer {
	var q struct {
		Query string `json:"query"`
	}
	if json.Unmarshal(c.Body, &q) != nil || !strings.Contains(q.Query, "myself") {
		return cloudsim.JSON(http.StatusOK, map[string]any{"errors": []any{map[string]any{"message": "Something went wrong. Please try again later or contact support."}}, "data": nil})
	}
	myself := map[string]any{}
	for field, value := range map[string]any{"id": "user_" + c.Account.Name, "clientBalance": f(r.left(c.Account)), "currentSpendPerHr": f(r.burn(c.Account)), "spendLimit": f(mostSpend)} {
		if strings.Contains(q.Query, field) {
			myself[field] = value
		}
	}
	return cloudsim.JSON(http.StatusOK, map[string]any{"data": map[string]any{"myself": myself}})
}

// buckets are the lengths of a bill's records.
var buckets = map[string]time.Duration{"hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour, "month": 30 * 24 * time.Hour, "year": 365 * 24 * time.Hour}

// usualWindow is the window of a bill whose request names none.
const usualWindow = 30 * 24 * time.Hour

// billing has a record for each pod and bucket in which it cost something.
func (r *RunPod) billing(c *cloudsim.Call) cloudsim.Answer {
	size, from, to := "day", c.Now.Add(-usualWindow), c.Now
	for name := range c.Query {
		text := c.Query.Get(name)
		var err error
		ok := true
		switch name {
		case "bucketSize":
			size, ok = text, buckets[text] != 0
		case "startTime":
			from, err = time.Parse(time.RFC3339, text)
		case "endTime":
			to, err = time.Parse(time.RFC3339, text)
		case "podId":
		default:
			ok = false
		}
		if err != nil || !ok {
			return invalid("query." + name)
		}
	}
	step := buckets[size]
	from = from.Truncate(step)
	records, pods := []map[string]any{}, map[string]bool{}
	var all amounts
	for at := from; at.Before(to); at = at.Add(step) {
		for _, p := range r.pods {
			if p.account != c.Account || c.Query.Has("podId") && c.Query.Get("podId") != p.id {
				continue
			}
			a := p.between(at, at.Add(step))
			if a.total().IsZero() {
				continue
			}
			all.gpu, all.disk = all.gpu.Add(a.gpu), all.disk.Add(a.disk)
			row := a.row()
			row["startTime"], row["endTime"], row["podId"] = stamp(at), stamp(at.Add(step)), p.id
			records, pods[p.id] = append(records, row), true
		}
	}
	query := map[string]any{"startTime": stamp(from), "endTime": stamp(to), "bucketSize": size, "podId": nil}
	if c.Query.Has("podId") {
		query["podId"] = c.Query.Get("podId")
	}
	return cloudsim.JSON(http.StatusOK, map[string]any{"records": records, "metadata": map[string]any{"query": query, "recordCount": len(records), "uniquePodCount": len(pods), "totals": all.row()}})
}

// amounts are the cost of a pod in a time.
type amounts struct{ gpu, disk decimal.Decimal }

func (a amounts) total() decimal.Decimal { return a.gpu.Add(a.disk) }

func (a amounts) row() map[string]any {
	return map[string]any{"totalAmount": f(a.total()), "gpuAmount": f(a.gpu), "cpuAmount": 0, "diskAmount": f(a.disk)}
}

// between is the cost of a pod in a bucket, up to the last time when it was charged.
// No second is in two buckets.
func (p *pod) between(from, to time.Time) amounts {
	now := p.r.Clock.Now().Truncate(settleEvery)
	if p.gone && p.ended.Before(now) {
		now = p.ended
	}
	if to.After(now) {
		to = now
	}
	return amounts{p.meter.Amount(gpuBill, from, to, now), p.meter.Amount(diskBill, from, to, now).Add(p.meter.Amount(keptBill, from, to, now))}
}

// Truth is every pod as it really is, with its exact bill, and every account and host.
func (r *RunPod) Truth() any {
	now := r.Clock.Now()
	pods, accounts, hosts, volumes := []any{}, []any{}, []any{}, []any{}
	for _, p := range r.pods {
		pods = append(pods, map[string]any{
			"id": p.id, "account": p.account.ID, "label": p.asked.Name, "machine": p.host.name, "status": p.status, "gone": p.gone,
			"bill": p.meter.Lines(), "usd": p.meter.Total(now), "usd_per_hour": p.meter.Burn(),
		})
	}
	for _, a := range r.Accounts.All() {
		accounts = append(accounts, map[string]any{"id": a.ID, "name": a.Name, "spent": r.spent(a), "credit": r.left(a)})
	}
	for _, h := range r.hosts {
		hosts = append(hosts, map[string]any{"id": h.name, "gpu": h.gpu.id, "cloud": h.cloud, "data_center": h.center, "gpus": h.gpus, "free": h.free(), "price": h.price()})
	}
	for _, v := range r.volumes {
		volumes = append(volumes, map[string]any{"id": v.id, "gone": v.gone, "usd": v.meter.Total(now)})
	}
	reachable, why := r.Machines.Reachable()
	return map[string]any{"instances": pods, "accounts": accounts, "machines": hosts, "volumes": volumes, "ssh": reachable, "ssh_why_not": why}
}

// A volume is network storage in one data centre.
type volume struct {
	id, name, center, tier string
	gb                     int
	account                *cloudsim.Account
	gone                   bool
	meter                  cloudsim.Meter
}

// Prices of network volumes, dollars a GB and month.
var (
	volumePrice = decimal.RequireFromString("0.07")
	fastPrice   = decimal.RequireFromString("0.14")
)

// Sizes of network volumes, GB.
const (
	leastVolume = 10
	mostVolume  = 4096
)

func (v *volume) row() map[string]any {
	return map[string]any{"id": v.id, "name": v.name, "size": v.gb, "dataCenter": v.center, "type": v.tier}
}

func (r *RunPod) volume(a *cloudsim.Account, id string) *volume {
	for _, v := range r.volumes {
		if v.id == id && v.account == a && !v.gone {
			return v
		}
	}
	return nil
}

func (r *RunPod) listVolumes(c *cloudsim.Call) cloudsim.Answer {
	rows := []map[string]any{}
	for _, v := range r.volumes {
		if v.account == c.Account && !v.gone {
			rows = append(rows, v.row())
		}
	}
	return cloudsim.JSON(http.StatusOK, map[string]any{"networkVolumes": rows})
}

func (r *RunPod) createVolume(c *cloudsim.Call) cloudsim.Answer {
	var q struct {
		Name       string `json:"name"`
		Size       int    `json:"size"`
		DataCenter string `json:"dataCenter"`
		Type       string `json:"type"`
	}
	if err := cloudsim.Parse(c.Body, &q); err != nil {
		return invalid("$: " + err.Error())
	}
	if q.Type == "" {
		q.Type = "STANDARD"
	}
	switch {
	case q.Name == "" || q.DataCenter == "":
		return invalid("$: name, size and dataCenter are required")
	case q.Size < leastVolume || q.Size > mostVolume:
		return invalid("$.size: 10 to 4096")
	case q.Type != "STANDARD" && q.Type != "HIGH_PERFORMANCE":
		return invalid("$.type: one of STANDARD, HIGH_PERFORMANCE")
	case !slices.ContainsFunc(r.hosts, func(h *host) bool { return h.center == q.DataCenter && h.cloud == secure }):
		return fails(http.StatusBadRequest, "data center "+q.DataCenter+" has no network volumes")
	}
	v := &volume{id: newID()[:10], name: q.Name, center: q.DataCenter, tier: q.Type, gb: q.Size, account: c.Account}
	price := volumePrice
	if v.tier == "HIGH_PERFORMANCE" {
		price = fastPrice
	}
	v.meter.Run(keptBill, hourly(v.gb, price), r.Clock.Now())
	r.volumes = append(r.volumes, v)
	return cloudsim.JSON(http.StatusCreated, v.row())
}

func (r *RunPod) showVolume(c *cloudsim.Call) cloudsim.Answer {
	v := r.volume(c.Account, c.Var("id"))
	if v == nil {
		return notFound
	}
	return cloudsim.JSON(http.StatusOK, v.row())
}

func (r *RunPod) deleteVolume(c *cloudsim.Call) cloudsim.Answer {
	v := r.volume(c.Account, c.Var("id"))
	if v == nil {
		return notFound
	}
	v.gone = true
	v.meter.Stop(r.Clock.Now())
	return none
}
