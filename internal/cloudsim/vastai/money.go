package vastai

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/cloudsim"
)

const (
	settleEvery = time.Minute    // how often credit is looked at
	grace       = 24 * time.Hour // without credit and without a card, before instances are destroyed
)

// ending is the consequence of a credit's end.
type ending struct{ cancel func() }

// spent is the cost of an account's instances up to now.
func (v *Vast) spent(a *cloudsim.Account) (sum decimal.Decimal) {
	now := v.Clock.Now()
	for _, i := range v.instances {
		if i.account == a {
			sum = sum.Add(i.meter.Total(now))
		}
	}
	return sum
}

// left is an account's credit.
func (v *Vast) left(a *cloudsim.Account) decimal.Decimal { return a.Credit.Sub(v.spent(a)) }

// settle bills transferred bytes, and ends unpaid instances.
func (v *Vast) settle() {
	for _, i := range v.instances {
		if !i.gone {
			i.transferred()
		}
	}
	for _, a := range v.Accounts.All() {
		v.collect(a)
	}
	v.Clock.After(settleEvery, v.settle)
}

// collect stops an account's instances when its credit ends; without a card they
// are destroyed after a while.
func (v *Vast) collect(a *cloudsim.Account) {
	if v.left(a).IsPositive() {
		if e := v.broke[a.ID]; e != nil {
			e.cancel()
			delete(v.broke, a.ID)
		}
		return
	}
	if v.broke[a.ID] != nil {
		return
	}
	each := func(do func(*instance)) {
		for _, i := range v.instances {
			if i.account == a && !i.gone {
				do(i)
			}
		}
	}
	each((*instance).stop)
	e := &ending{cancel: func() {}}
	if !a.Card {
		e.cancel = v.Clock.After(grace, func() { each((*instance).doom) })
	}
	v.broke[a.ID] = e
}

// user has the credit that is left.
func (v *Vast) user(c *cloudsim.Call) cloudsim.Answer {
	key := ""
	if keys := v.keysOf(c.Account); len(keys) > 0 {
		key = keys[0].text
	}
	return cloudsim.JSON(http.StatusOK, map[string]any{
		"id": c.Account.ID, "key_id": c.Account.ID * 10, "email": c.Account.Name + "@example.org", "credit": f(v.left(c.Account)), "balance": 0.0, "ssh_key": key, "sid": strconv.Itoa(c.Account.ID),
	})
}

// badToken is the answer to a page that there is not.
var badToken = failure(http.StatusBadRequest, "invalid_token", "Invalid pagination token")

// between is a range of times in a filter, both ends in seconds since 1970.
func between(flt filter, from, to []string) (begin, end time.Time, ok bool) {
	at := func(ops []string) (time.Time, bool) {
		for _, op := range ops {
			if x, ok := number(flt[op]); ok {
				whole, part := math.Modf(x)
				return time.Unix(int64(whole), int64(part*1e9)), true
			}
		}
		return time.Time{}, false
	}
	begin, one := at(from)
	end, two := at(to)
	return begin, end, one && two
}

// charges are those of instances in some days.
func (v *Vast) charges(c *cloudsim.Call) cloudsim.Answer {
	filters := map[string]filter{}
	err := decode(c.Query.Get("select_filters"), &filters)
	begin, end, ok := between(filters["day"], []string{"gte"}, []string{"lte"})
	if err != nil || !ok {
		return cloudsim.JSON(http.StatusBadRequest, map[string]any{"success": false, "msg": "Must provide both 'day' gte and lte filters for instance charges"})
	}
	var rows []map[string]any
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(v.instances))) {
		i := v.instances[id]
		if i.account != c.Account || !(filter{"in": orAll(filters["type"]["in"], "instance")}).passes("instance") {
			continue
		}
		if !i.gone {
			i.transferred()
		}
		if row := i.charge(begin, end); row != nil {
			rows = append(rows, row)
		}
	}
	if c.Query.Get("latest_first") == "false" {
		slices.Reverse(rows)
	}
	return paged(c, rows, 100, 500)
}

func orAll(list any, one string) any {
	if list == nil {
		return []any{one}
	}
	return list
}

// charge is one instance's row, nil where nothing was charged.
func (i *instance) charge(begin, end time.Time) map[string]any {
	now := i.v.Clock.Now()
	until := now
	if i.gone {
		until = i.ended
	}
	var items []map[string]any
	for _, kind := range []string{gpuBill, diskBill, downBill, upBill} {
		if sum := i.meter.Amount(kind, begin, end, now); !sum.IsZero() {
			items = append(items, map[string]any{"start": i.created.Unix(), "end": until.Unix(), "type": kind, "source": nil, "description": kind, "amount": f(sum.Round(3)), "metadata": map[string]any{}, "items": []any{}})
		}
	}
	if items == nil {
		return nil
	}
	metadata := map[string]any{}
	if i.label != nil {
		metadata["label"] = *i.label
	}
	return map[string]any{
		"start": i.created.Unix(), "end": until.Unix(), "type": "instance", "source": fmt.Sprintf("instance-%d", i.id), "description": fmt.Sprintf("Instance %d Charges", i.id),
		"amount": f(i.meter.Amount("", begin, end, now).Round(3)), "metadata": metadata, "items": items,
	}
}

// invoices are the payments.
func (v *Vast) invoices(c *cloudsim.Call) cloudsim.Answer {
	filters := map[string]filter{}
	err := decode(c.Query.Get("select_filters"), &filters)
	begin, end, ok := between(filters["when"], []string{"gte", "gt"}, []string{"lte", "lt"})
	if err != nil || !ok {
		return cloudsim.JSON(http.StatusOK, map[string]any{"success": false, "error": "Invalid date range", "count": 0, "total": 0, "results": []any{}, "next_token": nil})
	}
	var rows []map[string]any
	paid := v.machines[0].start // when the simulator began
	if !paid.Before(begin) && !paid.After(end) {
		rows = append(rows, map[string]any{
			"start": epoch(paid), "end": epoch(paid), "type": "credit", "source": "stripe", "description": "Manual Billing", "amount": -f(c.Account.Credit),
			"metadata": map[string]any{"invoice_id": 2100000 + c.Account.ID, "service": "stripe_payments"}, "items": []any{},
		})
	}
	return paged(c, rows, 60, 60)
}

// paged is a page of rows.
func paged(c *cloudsim.Call, rows []map[string]any, usual, most int) cloudsim.Answer {
	limit := usual
	if n, err := strconv.Atoi(c.Query.Get("limit")); err == nil && n > 0 {
		limit = min(n, most)
	}
	total, from := len(rows), 0
	if text := c.Query.Get("after_token"); text != "" {
		values, ok := readToken(text)
		at, isNumber := number(values["id"])
		if from = int(at); !ok || !isNumber || from < 0 || from > total {
			return badToken
		}
	}
	rows = rows[from:]
	var next any
	if len(rows) > limit {
		rows = rows[:limit]
		next = token(map[string]any{"id": from + limit}, []direction{{"id", 1}})
	}
	return cloudsim.JSON(http.StatusOK, map[string]any{"success": true, "count": len(rows), "total": total, "next_token": next, "results": append([]map[string]any{}, rows...)})
}

// Truth is every instance as it really is, with its exact bill, and every account.
func (v *Vast) Truth() any {
	now := v.Clock.Now()
	instances := []any{}
	for _, id := range slices.Sorted(maps.Keys(v.instances)) {
		i := v.instances[id]
		if !i.gone {
			i.transferred()
		}
		instances = append(instances, map[string]any{
			"id": i.id, "account": i.account.ID, "label": i.label, "machine": i.machine.id, "status": i.actual, "gone": i.gone, "outbid": i.outbid,
			"bill": i.meter.Lines(), "usd": i.meter.Total(now), "usd_per_hour": i.meter.Burn(),
		})
	}
	accounts, machines := []any{}, []any{}
	for _, a := range v.Accounts.All() {
		accounts = append(accounts, map[string]any{"id": a.ID, "name": a.Name, "spent": v.spent(a), "credit": v.left(a)})
	}
	for _, m := range v.machines {
		offer := 0
		if m.offer != nil {
			offer = m.offer.id
		}
		machines = append(machines, map[string]any{"id": m.id, "gpu": m.gpu, "gpus": m.part, "free": m.free(), "offer": offer, "price": m.perHour, "min_bid": m.minBid, "offline": m.offline})
	}
	reachable, why := v.Machines.Reachable()
	return map[string]any{"instances": instances, "accounts": accounts, "machines": machines, "ssh": reachable, "ssh_why_not": why}
}
