package vastai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/cloudsim"
)

// row is an instance as the API shows it.
func (i *instance) row() map[string]any {
	m, now := i.machine, i.v.Clock.Now()
	disk := m.diskHour(i.asked.disk)
	total := i.gpu.Add(disk)
	parts := map[string]any{"gpuCostPerHour": f(i.gpu), "diskHour": f(disk), "totalHour": f(total), "discountTotalHour": 0.0, "discountedTotalPerHour": f(total)}
	label, actual := any(nil), any(i.actual)
	if i.label != nil {
		label = *i.label
	}
	switch {
	case i.offline:
		actual = "offline"
	case i.actual == "":
		actual = nil
	}
	row := map[string]any{
		"id": i.id, "label": label, "actual_status": actual, "intended_status": i.intended, "cur_state": i.cur, "next_state": i.next, "status_msg": i.msg,
		"machine_id": m.id, "host_id": m.host, "gpu_name": m.gpu, "num_gpus": m.part, "gpu_ram": m.mib, "gpu_totalram": m.mib * m.part, "gpu_arch": "nvidia", "gpu_frac": 1 / float64(m.parts),
		"cpu_cores": m.cores * m.parts, "cpu_cores_effective": float64(m.cores), "cpu_ram": m.ramMB, "cpu_arch": "amd64", "cpu_util": 0.0, "gpu_util": 0.0, "gpu_temp": 41.0,
		"disk_space": i.asked.disk, "disk_usage": -1, "disk_util": -1, "disk_bw": 2400.0, "dph_base": f(i.gpu), "dph_total": f(total), "search": parts, "instance": parts,
		"min_bid": f(m.minBid), "is_bid": !i.bid.IsZero(), "image_uuid": i.asked.Image, "image_args": []string{}, "image_runtype": i.asked.runtype, "onstart": deref(i.asked.OnStart), "extra_env": pairs(i.asked.Env),
		"public_ipaddr": "127.0.0.1", "local_ipaddrs": "10.0.0.5 172.17.0.2 \n", "ssh_idx": "1", "ssh_host": "127.0.0.1", "direct_port_count": m.ports, "direct_port_start": -1, "direct_port_end": -1,
		"start_date": epoch(i.created), "end_date": epoch(m.end()), "duration": m.end().Sub(now).Seconds(), "uptime_mins": nil, "time_remaining": "",
		"geolocation": m.place, "reliability2": m.reliability, "verification": "verified", "inet_up": m.up, "inet_down": m.down, "inet_up_cost": f(m.upGB), "inet_down_cost": f(m.downGB),
		"storage_cost": f(m.perGBMonth), "storage_total_cost": f(disk), "cuda_max_good": m.cuda, "driver_version": m.driver, "external": false, "rentable": true, "static_ip": m.datacenter,
		"template_id": nil, "template_hash_id": nil, "template_name": nil, "jupyter_token": i.key.Text[:16], "volume_info": []any{}, "webpage": nil, "score": nil,
	}
	if n := len(i.ports); n > 0 {
		row["machine_dir_ssh_port"] = i.ports[0].Number()
		row["ssh_port"] = i.ports[n-1].Number() - btoi(strings.Contains(i.asked.runtype, "jupyter"))
	}
	if i.actual == "running" && !i.offline {
		row["uptime_mins"] = now.Sub(i.up).Minutes()
		ports := map[string]any{}
		if i.direct {
			ports["22/tcp"] = []any{map[string]any{"HostIp": "0.0.0.0", "HostPort": strconv.Itoa(i.ports[0].Number())}}
		}
		row["ports"] = ports
	}
	return row
}

// stored are the columns that lists can be filtered by.
var stored = []string{"id", "label", "actual_status", "intended_status", "cur_state", "next_state", "machine_id", "host_id", "gpu_name", "verification", "image_uuid", "is_bid", "start_date", "end_date"}

// mostRows are those of one page.
const mostRows = 25

func (v *Vast) instanceList(c *cloudsim.Call) cloudsim.Answer {
	bad := func(code, text string) cloudsim.Answer {
		return cloudsim.JSON(http.StatusBadRequest, map[string]any{"error": code, "msg": text})
	}
	late := time.Duration(0)
	switch fault := v.World.Faults.Take("list", "", lag, notSuccess); {
	case fault != nil && fault.Do == notSuccess:
		return cloudsim.JSON(http.StatusOK, map[string]any{"success": false})
	case fault != nil:
		late = time.Duration(fault.For)
	}
	limit, err := limitOf(c.Query.Get("limit"))
	if err != nil {
		return bad("invalid_request", "Error in query parameters: limit")
	}
	rows := v.listed(c.Account, c.Now.Add(-late))
	filters := map[string]filter{}
	if text := c.Query.Get("select_filters"); text != "" && decode(text, &filters) != nil {
		return bad("invalid_request", "Error in query parameters: select_filters is not an object")
	}
	rows, err = sift(rows, filters, func(name string) bool { return slices.Contains(stored, name) })
	if err != nil {
		return bad("invalid_request", err.Error())
	}
	order, ok := orderOf(c.Query.Get("order_by"))
	if !ok {
		return bad("invalid_request", "Error in query parameters: order_by")
	}
	by := func(a, b map[string]any) int {
		for _, o := range order {
			if n := compare(a[o.col], b[o.col]); n != 0 {
				return n * o.sign
			}
		}
		return 0
	}
	slices.SortFunc(rows, by)
	labels := labelCounts(rows)
	total := len(rows)
	if text := c.Query.Get("after_token"); text != "" {
		last, ok := readToken(text)
		if !ok {
			return bad("invalid_token", "Invalid pagination token")
		}
		rows = slices.DeleteFunc(rows, func(r map[string]any) bool { return by(r, last) <= 0 })
	}
	page := rows[:min(limit, len(rows))]
	var next any
	if len(rows) > limit {
		next = token(page[limit-1], order)
	}
	if cols := []string{}; decode(c.Query.Get("select_cols"), &cols) == nil && !slices.Contains(cols, "*") {
		page = narrow(page, cols)
	}
	return cloudsim.JSON(http.StatusOK, map[string]any{
		"success": true, "instances_found": len(page), "total_instances": total, "label_counts": labels, "next_token": next, "instances": append([]map[string]any{}, page...),
	})
}

// listed are the rows of an account's instances, as the list showed them at a time.
func (v *Vast) listed(account *cloudsim.Account, at time.Time) (rows []map[string]any) {
	for _, i := range v.instances {
		if i.account == account && !i.created.After(at) && (!i.gone || i.ended.After(at)) {
			rows = append(rows, i.row())
		}
	}
	return rows
}

// labelCounts counts rows by their labels.
func labelCounts(rows []map[string]any) map[string]int {
	labels := map[string]int{}
	for _, r := range rows {
		label, _ := r["label"].(string)
		labels[label]++
	}
	return labels
}

// limitOf reads the most rows of a page. Vast.ai takes 0 and less for 5.
func limitOf(text string) (int, error) {
	if text == "" {
		return mostRows, nil
	}
	n, err := strconv.Atoi(text)
	if err == nil && n <= 0 {
		n = 5
	}
	return min(n, mostRows), err
}

// orderOf reads an order_by, and puts the id last.
func orderOf(text string) (order []direction, ok bool) {
	var by []struct{ Col, Dir string }
	if text != "" && decode(text, &by) != nil {
		return nil, false
	}
	for _, b := range by {
		if !slices.Contains(stored, b.Col) {
			return nil, false
		}
		d := direction{b.Col, 1}
		if b.Dir == "desc" {
			d.sign = -1
		}
		order = append(order, d)
	}
	return append(order, direction{"id", 1}), true
}

func token(row map[string]any, order []direction) string {
	values := map[string]any{}
	for _, o := range order {
		values[o.col] = row[o.col]
	}
	text, err := json.Marshal(map[string]any{"values": values})
	if err != nil {
		panic(err) // our own values
	}
	return base64.StdEncoding.EncodeToString(text)
}

func readToken(text string) (map[string]any, bool) {
	raw, err := base64.StdEncoding.DecodeString(text)
	var t struct{ Values map[string]any }
	return t.Values, err == nil && json.Unmarshal(raw, &t) == nil && t.Values["id"] != nil
}

// narrow keeps some columns; those that there are not are null.
func narrow(rows []map[string]any, cols []string) (out []map[string]any) {
	for _, r := range rows {
		n := map[string]any{}
		for _, c := range cols {
			n[c] = r[c]
		}
		out = append(out, n)
	}
	return out
}

// deprecated is the list of before June 2026.
func (v *Vast) deprecated(c *cloudsim.Call) cloudsim.Answer {
	if v.World.Faults.Take("list_v0", "", working) == nil {
		return failure(http.StatusGone, "deprecated_endpoint", "This endpoint is no longer available. Use /api/v1/instances/")
	}
	rows := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(v.instances)) {
		if i := v.instances[id]; i.account == c.Account && !i.gone {
			rows = append(rows, i.row())
		}
	}
	return cloudsim.JSON(http.StatusOK, map[string]any{"instances": rows})
}

// show has an object under a plural name, and null where the instance is gone.
func (v *Vast) show(c *cloudsim.Call) cloudsim.Answer {
	i, bad := v.own(c)
	switch {
	case bad:
		return failure(http.StatusBadRequest, "invalid_args", "error 400/1782: Invalid args: invalid instance_id")
	case i == nil:
		return cloudsim.JSON(http.StatusOK, map[string]any{"instances": nil})
	}
	return cloudsim.JSON(http.StatusOK, map[string]any{"instances": i.row()})
}

// manage starts, stops or labels.
func (v *Vast) manage(c *cloudsim.Call) cloudsim.Answer {
	var r struct{ State, Label *string }
	i, bad := v.own(c)
	err := cloudsim.Parse(c.Body, &r)
	switch {
	case bad || err != nil || r.State == nil && r.Label == nil:
		return failure(http.StatusBadRequest, "invalid_args", "error 400: Invalid args: state or label")
	case i == nil:
		return failure(http.StatusNotFound, "no_such_instance", "Instance with that ID does not exist.")
	case r.State != nil && *r.State != "running" && *r.State != "stopped":
		return failure(http.StatusBadRequest, "invalid_args", "error 400: Invalid args: state must be running or stopped")
	case r.Label != nil && len(*r.Label) > longestRelabel:
		return failure(http.StatusBadRequest, "label_too_long", "The label is too long.")
	case r.Label != nil && c.Key.Instance != 0:
		return v.Refuse(c.Route, cloudsim.Unscoped)
	case deref(r.State) == "running" && !v.left(i.account).IsPositive():
		return failure(http.StatusBadRequest, "missing_billing", "The account has no credit.")
	}
	if r.Label != nil {
		i.label = r.Label
	}
	switch {
	case i.doomed: // acknowledged, and without effect
	case deref(r.State) == "stopped":
		i.stop()
	case deref(r.State) == "running" && (i.cur == "stopped" || i.next == "stopped"):
		i.startAgain()
	}
	return success
}

// startAgain is a start that its user asks for: another may have the GPU by now.
func (i *instance) startAgain() {
	m := i.machine
	if i.holds { // it was being stopped
		i.halt()
	}
	if i.v.World.Faults.Take("start", i.asked.label, gpuTaken) != nil {
		m.strangers = m.parts - m.ours
		i.v.list(m)
	}
	i.start()
}

// destroy answers at once, and takes a moment.
func (v *Vast) destroy(c *cloudsim.Call) cloudsim.Answer {
	i, bad := v.own(c)
	switch {
	case bad:
		return failure(http.StatusBadRequest, "invalid_args", "invalid instance_id")
	case i == nil:
		return failure(http.StatusNotFound, "not_found", "Instance not found")
	}
	i.doom()
	return cloudsim.JSON(http.StatusOK, map[string]any{"success": true, "msg": "Instance destroyed successfully"})
}

// reboot starts the container again; the GPU stays its own.
func (v *Vast) reboot(c *cloudsim.Call) cloudsim.Answer {
	i, bad := v.own(c)
	if bad || i == nil || i.actual != "running" || i.doomed {
		return failure(http.StatusBadRequest, "invalid_args", "invalid instance_id")
	}
	i.kill()
	i.actual, i.msg = "rebooting", ""
	i.after(restarting, i.runs)
	return success
}

// bid changes the price of an interruptible instance; null is the lowest bid
// that wins.
func (v *Vast) bid(c *cloudsim.Call) cloudsim.Answer {
	var r struct {
		ClientID *string  `json:"client_id"`
		Price    *float64 `json:"price"`
	}
	i, bad := v.own(c)
	err := cloudsim.Parse(c.Body, &r)
	switch {
	case bad || err != nil || r.ClientID == nil:
		return failure(http.StatusBadRequest, "invalid_args", "error 400: Invalid args: client_id and price")
	case i == nil:
		return failure(http.StatusNotFound, "no_such_instance", "Instance with that ID does not exist.")
	case i.bid.IsZero():
		return failure(http.StatusBadRequest, "invalid_args", "This instance is not interruptible.")
	}
	price := i.machine.minBid
	if r.Price != nil {
		price = decimal.NewFromFloat(*r.Price)
	}
	if x := f(price); x < leastBid || x > mostGPUBid*float64(i.machine.part) {
		return failure(http.StatusBadRequest, "invalid_args", fmt.Sprintf("Please set a bid price >= %v.", leastBid))
	}
	i.bid, i.gpu = price, price
	i.bill()
	v.auction(i.machine)
	return success
}
