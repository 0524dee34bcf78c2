package vastai

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/cloudsim"
)

var start = time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)

// A sim is the cloud with a clock that only moves when told, and no rate limits.
type sim struct {
	*testing.T
	v      *Vast
	server *cloudsim.Server
	url    string
	key    string
}

func newSim(t *testing.T) *sim {
	t.Helper()
	as, err := cloudsim.NewAccounts("key account=me credit=25\nreader account=me scopes=instance_read\nold expires=2026-01-01T00:00:00Z\nother\npaying account=rich card credit=1\n")
	if err != nil {
		t.Fatal(err)
	}
	w := &cloudsim.World{Clock: cloudsim.NewClock(start, 0), Accounts: as, Machines: cloudsim.NoMachines{}}
	v := New(w)
	server := cloudsim.NewServer(w, v)
	server.NoLimit = true
	web := httptest.NewServer(server)
	t.Cleanup(func() { web.Close(); v.Close() })
	return &sim{t, v, server, web.URL, "key"}
}

// as is the same cloud with another key.
func (s *sim) as(key string) *sim {
	c := *s
	c.key = key
	return &c
}

func (s *sim) raw(method, path, body string) (*http.Response, string) {
	s.Helper()
	q, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	if s.key != "" {
		q.Header.Set("Authorization", "Bearer "+s.key)
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		s.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		s.Fatal(err)
	}
	return r, string(text)
}

// call is a call that is answered with 200 and a JSON object.
func (s *sim) call(method, path, body string) map[string]any {
	s.Helper()
	r, text := s.raw(method, path, body)
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); r.StatusCode != 200 || err != nil {
		s.Fatalf("%s %s: %d %s", method, path, r.StatusCode, text)
	}
	return m
}

// fails is a call that is answered with an error; it holds what the answer has.
func (s *sim) fails(method, path, body string, status int, has ...string) {
	s.Helper()
	r, text := s.raw(method, path, body)
	if r.StatusCode != status {
		s.Errorf("%s %s %s: %d, not %d: %s", method, path, body, r.StatusCode, status, text)
	}
	for _, h := range has {
		if !strings.Contains(text, h) {
			s.Errorf("%s %s %s: %s, without %s", method, path, body, text, h)
		}
	}
}

func (s *sim) offers(query string) (out []map[string]any) {
	s.Helper()
	for _, o := range s.call("POST", "/api/v0/bundles/", query)["offers"].([]any) {
		out = append(out, o.(map[string]any))
	}
	return out
}

// offer is the one of a machine.
func (s *sim) offer(machine int) int {
	s.Helper()
	found := s.offers(fmt.Sprintf(`{"machine_id":{"eq":%d}}`, machine))
	if len(found) != 1 {
		s.Fatalf("%d offers of machine %d", len(found), machine)
	}
	return int(found[0]["id"].(float64))
}

// rent accepts the offer of a machine.
func (s *sim) rent(machine int, settings string) int {
	s.Helper()
	body := `{"image":"pytorch/pytorch","disk":73,"label":"muster-1","runtype":"ssh_direct","cancel_unavail":true` + settings + `}`
	return int(s.call("PUT", fmt.Sprintf("/api/v0/asks/%d/", s.offer(machine)), body)["new_contract"].(float64))
}

func instancePath(id int) string { return fmt.Sprintf("/api/v0/instances/%d/", id) }

func (s *sim) show(id int) map[string]any {
	s.Helper()
	m, _ := s.call("GET", instancePath(id), "")["instances"].(map[string]any)
	return m
}

// states are the four strings of an instance.
func (s *sim) states(id int) string {
	s.Helper()
	i := s.show(id)
	if i == nil {
		return "gone"
	}
	return fmt.Sprint(i["actual_status"], " ", i["intended_status"], " ", i["cur_state"], " ", i["next_state"])
}

func (s *sim) is(id int, want string) {
	s.Helper()
	if got := s.states(id); got != want {
		s.Errorf("%s, not %s", got, want)
	}
}

func (s *sim) pass(d time.Duration) { s.v.Clock.Advance(d) }

func (s *sim) happen(body string) {
	s.Helper()
	s.call("POST", "/_sim/happen", body)
}

func (s *sim) fault(body string) {
	s.Helper()
	s.call("POST", "/_sim/faults", body)
}

// bill is the exact cost of an instance.
func (s *sim) bill(id int) decimal.Decimal {
	var sum decimal.Decimal
	s.v.Clock.Do(func() { sum = s.v.instances[id].meter.Total(s.v.Clock.Now()) })
	return sum
}

func query(path string, kv ...string) string {
	v := url.Values{}
	for i := 0; i < len(kv); i += 2 {
		v.Set(kv[i], kv[i+1])
	}
	return path + "?" + v.Encode()
}

const running, off = "running running running running", "exited stopped stopped stopped"

func TestKeysThatMayNot(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	const all = `{"day":{"gte":0,"lte":1}}`
	for _, c := range []struct {
		key, method, path string
		status            int
	}{
		{"", "GET", "/api/v1/instances/", 403},
		{"wrong", "GET", "/api/v1/instances/", 401},
		{"old", "GET", "/api/v0/instances/1/", 401},
		{"wrong", "PUT", "/api/v0/asks/1/", 401},
		{"wrong", "POST", "/api/v0/bundles/", 404},
		{"wrong", "GET", query("/api/v0/charges/", "select_filters", all), 404},
		{"wrong", "GET", "/api/v1/invoices/", 404},
		{"", "GET", "/api/v0/charges/", 403},
	} {
		s.as(c.key).fails(c.method, c.path, "{}", c.status, `"error":"auth_error"`, `"success":false`)
	}
	s.as("").fails("GET", "/api/v1/instances/", "", 403, "This action requires login.")
	s.as("wrong").fails("GET", "/api/v1/instances/", "", 401, "Invalid user key")
	s.as("reader").fails("PUT", "/api/v0/asks/1/", "{}", 403, "not_authorized")
	s.as("reader").call("GET", "/api/v1/instances/", "")
	s.as("").call("GET", "/api/v1/instances/?api_key=key", "")
	s.as("").call("GET", "/api/v0/gpu_names/unique/", "")
	s.fails("GET", "/api/v9/nothing/", "", 404, "<html>")
}

func TestRateLimits(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	s.server.NoLimit = false
	again := func(method, path, body string, apart time.Duration, status int, has ...string) {
		s.Helper()
		s.raw(method, path, body)
		s.fails(method, path, body, status, has...)
		s.pass(apart)
		if r, text := s.raw(method, path, body); r.StatusCode == 429 {
			s.Errorf("%s %s after %s: %s", method, path, apart, text)
		}
	}
	again("GET", "/api/v1/instances/", "", time.Second, 429, "API requests too frequent: endpoint threshold=1.0")
	again("GET", "/api/v0/instances/1/", "", 2*time.Second, 429, "threshold=2.0")
	again("PUT", "/api/v0/asks/1/", "{}", 12*time.Second, 429, "threshold=4.5")
	again("DELETE", "/api/v0/instances/1/", "", 3*time.Second, 429, `"error":"rate_limit_exceeded"`)
	again("PUT", "/api/v0/instances/bid_price/1/", "{}", 5500*time.Millisecond, 429, "threshold=5.5")
	if r, text := s.raw("GET", "/api/v1/instances/", ""); r.StatusCode == 200 {
		if r, text = s.raw("GET", "/api/v1/instances/", ""); r.StatusCode != 429 || r.Header.Get("Content-Type") != "text/plain; charset=utf-8" || r.Header.Get("Retry-After") != "" || strings.HasPrefix(text, "{") {
			t.Errorf("%d %v %s", r.StatusCode, r.Header, text)
		}
	} else {
		t.Error(text)
	}
	s.pass(time.Minute)
	for range 10 {
		s.offers("{}")
	}
	s.fails("POST", "/api/v0/bundles/", "{}", 429, "API requests too frequent")
	s.pass(time.Minute)
	s.offers("{}")
}

func TestSearch(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	ids := func(q string) string {
		s.Helper()
		var out []string
		for _, o := range s.offers(q) {
			out = append(out, fmt.Sprint(o["machine_id"]))
		}
		return strings.Join(out, " ")
	}
	for q, want := range map[string]string{
		`{"gpu_name":{"eq":"RTX 4090"},"order":[["dph_total","asc"]]}`:                                        "41002 41001", // the unverified one is left out
		`{"gpu_name":{"eq":"RTX 4090"},"verified":{"eq":false}}`:                                              "41008",
		`{"gpu_name":{"eq":"RTX_4090"}}`:                                                                      "",
		`{"gpu_name":{"in":["RTX 4090","H100 SXM"]},"reliability":{"gte":0.99},"order":[["id","desc"]]}`:      "41006 41001",
		`{"num_gpus":{"eq":"4"}}`:                                                                             "41005", // numbers as the vendor's tool writes them
		`{"dph_total":{"lt":"0.2"}}`:                                                                          "41007",
		`{"gpu_ram":{"gte":30000,"lt":80000}}`:                                                                "41003",
		`{"geolocation":{"in":["NO","IS"]},"num_gpus":{"eq":1},"order":[["dph_total","desc"]],"limit":1}`:     "41006",
		`{"geolocation":{"notin":["NO","IS","US","SE","BR"]}}`:                                                "41003",
		`{"duration":{"gte":8640000},"num_gpus":{"neq":4},"type":"on-demand","order":[["machine_id","asc"]]}`: "41004 41006",
		`{"rentable":{"eq":false}}`:                                                                           "",
		`{"direct_port_count":{"lte":0}}`:                                                                     "41007",
	} {
		if got := ids(q); got != want {
			t.Errorf("%s: %s, not %s", q, got, want)
		}
	}
	price := func(q string) (base, total float64) {
		o := s.offers(q)[0]
		return o["dph_base"].(float64), o["dph_total"].(float64)
	}
	if base, total := price(`{"machine_id":{"eq":41001},"allocated_storage":73}`); base != 0.34 || total != 0.355 { // $0.15 × 73 / 730
		t.Errorf("%v %v", base, total)
	}
	if _, total := price(`{"machine_id":{"eq":41001}}`); total > 0.342 {
		t.Errorf("with the least disk: %v", total)
	}
	if base, _ := price(`{"machine_id":{"eq":41001},"type":"bid"}`); base != 0.16 {
		t.Errorf("bid: %v", base)
	}
	r, _ := s.raw("POST", "/api/v0/bundles/", "{}")
	if r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("Content-Type: %s", r.Header.Get("Content-Type"))
	}
	for body, has := range map[string]string{"[": "Invalid json body", `{"colour":{"eq":1}}`: "colour is not a valid search key", `{"gpu_name":{"is":"x"}}`: "is is not a valid operator", `{"type":"free"}`: "type", `{"order":["x"]}`: "order", `{"gpu_ram":3}`: "object"} {
		s.fails("POST", "/api/v0/bundles/", body, 400, `"error":"invalid_request"`, has)
	}
}

func TestCreateIsChecked(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	path := fmt.Sprintf("/api/v0/asks/%d/", s.offer(41001))
	long := func(n int) string { return strings.Repeat("x", n) }
	for body, has := range map[string]string{
		`{`:                              "invalid json",
		`{"image":"a","colour":1}`:       `colour`,
		`{}`:                             "'image' is required",
		`{"image":"` + long(1025) + `"}`: "'image' is too long",
		`{"image":"a","disk":7}`:         "'disk' must be at least 8",
		`{"image":"a","disk":1e6}`:       "more than the offer has",
		`{"image":"a","label":"` + long(257) + `"}`:     "'label'",
		`{"image":"a","onstart":"` + long(4097) + `"}`:  "'onstart'",
		`{"image":"a","runtype":"telnet"}`:              "'runtype' telnet",
		`{"image":"a","env":"-e A=b"}`:                  "invalid json", // an object, as the guide says
		`{"image":"a","env":{"A":1}}`:                   "'env' A",
		`{"image":"a","env":{"A":"` + long(256) + `"}}`: "'env' A",
		`{"image":"a","target_state":"idle"}`:           "'target_state'",
		`{"image":"a","template_hash_id":"x"}`:          "template x not found",
		`{"image":"a","volume_info":{}}`:                "no volumes",
	} {
		s.fails("PUT", path, body, 400, `"error":"invalid_args"`, `"ask_id"`, has)
	}
	s.fails("PUT", path, `{"image":"a","price":0.0001}`, 400, `"error":"invalid_price"`)
	s.fails("PUT", path, `{"image":"a","price":129}`, 400, `"error":"invalid_price"`)
	s.fails("PUT", path, `{"image":"a","vm":true}`, 400, `"error":"no_ssh_key_for_vm"`)
	s.fails("PUT", "/api/v0/asks/x/", `{"image":"a"}`, 400, "error 400/3467: Invalid args: 'id' is required")
	s.as("other").call("PUT", path, `{"client_id":"me","image":"a","env":{},"price":null,"disk":10,"label":null,"extra":null,"onstart":null,"image_login":null,"python_utf8":false,"lang_utf8":false,"use_jupyter_lab":false,"jupyter_dir":null,"force":false,"cancel_unavail":false,"template_hash_id":null,"user":null,"runtype":"ssh_direc ssh_proxy"}`) // the vendor's tool
}

func TestVanishedOffers(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	const body = `{"image":"a","cancel_unavail":true}`
	at := func(offer int) string { return fmt.Sprintf("/api/v0/asks/%d/", offer) }
	notFound := []string{`"error":"invalid_args"`, "error 404/3603: no_such_ask Instance type by id", `"ask_id"`}
	gone := []string{`"error":"no_such_ask"`, "error 410/3907: no_such_ask Instance type", "is no longer available.", `"ask_id"`}
	s.fails("PUT", at(12), body, 404, notFound...)
	offer := s.offer(41001)
	s.happen(`{"machine":41001,"what":"relist"}`)
	s.fails("PUT", at(offer), body, 404, notFound...)
	offer = s.offer(41001)
	s.happen(`{"machine":41001,"what":"rented","value":"4"}`)
	if n := len(s.offers(`{"machine_id":{"eq":41001}}`)); n != 0 {
		t.Errorf("%d offers of a machine that is taken", n)
	}
	s.fails("PUT", at(offer), body, 410, gone...)
	s.fault(`{"on":"create","do":"gone_404"}`)
	s.fault(`{"on":"create","do":"gone_410"}`)
	offer = s.offer(41003)
	for range 2 {
		r, text := s.raw("PUT", at(offer), body)
		if r.StatusCode != 404 && r.StatusCode != 410 {
			t.Errorf("%d %s", r.StatusCode, text)
		}
	}
	if n := s.call("GET", "/api/v1/instances/", "")["total_instances"]; n != 0.0 {
		t.Errorf("%v instances", n)
	}
	// Without cancel_unavail it waits for the machine.
	id := int(s.call("PUT", at(s.offerOf(41001)), `{"image":"a","cancel_unavail":false}`)["new_contract"].(float64))
	s.is(id, "<nil> running stopped running")
	s.happen(`{"machine":41001,"what":"rented","value":"3"}`)
	s.pass(time.Minute)
	s.is(id, running)
}

// offerOf is the last offer of a machine, also one that was withdrawn.
func (s *sim) offerOf(machine int) (last int) {
	for id, o := range s.v.offers {
		if o.machine.id == machine {
			last = max(last, id)
		}
	}
	return last
}

// A life on demand: each step, and its bill to the last digit.
func TestLifeAndBill(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	id := s.rent(41001, "")
	s.is(id, "<nil> running running running")
	s.pass(4 * time.Second)
	s.is(id, "loading running running running")
	if s.show(id)["ports"] != nil {
		t.Error("ports while it loads")
	}
	s.pass(45 * time.Second)
	s.is(id, running)
	i := s.show(id)
	if p := fmt.Sprint(i["ports"]); !strings.Contains(p, "22/tcp") || i["public_ipaddr"] != "127.0.0.1" || i["start_date"] != float64(start.Unix()) || i["gpu_name"] != "RTX 4090" || i["num_gpus"] != 1.0 {
		t.Errorf("%v", i)
	}
	s.pass(time.Hour)
	s.call("PUT", instancePath(id), `{"state":"stopped"}`)
	s.is(id, "running stopped running stopped")
	s.pass(5 * time.Second)
	s.is(id, off)
	s.pass(30*time.Minute - 54*time.Second)
	s.call("PUT", instancePath(id), `{"state":"running"}`)
	s.is(id, "loading running running running")
	s.pass(12 * time.Second)
	s.is(id, running)
	s.pass(30*time.Minute - 12*time.Second - 3*time.Second)
	s.call("DELETE", instancePath(id), "{}")
	s.is(id, running) // for a moment
	s.pass(3 * time.Second)
	s.is(id, "gone")
	s.fails("DELETE", instancePath(id), "{}", 404, `"error":"not_found"`, "Instance not found")
	s.fails("PUT", instancePath(id), `{"state":"stopped"}`, 404, `"error":"no_such_instance"`)
	s.fails("DELETE", "/api/v0/instances/x/", "", 400, "invalid instance_id")
	s.pass(time.Hour)
	// 2 h of disk; GPU from 49 s to 1 h 54 s, and from 1 h 30 min 12 s to 2 h.
	disk := decimal.RequireFromString("0.015").Mul(decimal.NewFromInt(2))
	gpu := decimal.RequireFromString("0.34").Mul(decimal.NewFromInt(3605 + 1788)).Div(decimal.NewFromInt(3600))
	if got := s.bill(id); !got.Sub(disk.Add(gpu)).Abs().LessThan(decimal.New(1, -12)) {
		t.Errorf("billed %s, not %s", got, disk.Add(gpu))
	}
	charges := s.call("GET", query("/api/v0/charges/", "select_filters", fmt.Sprintf(`{"day":{"gte":%d,"lte":%d},"type":{"in":["instance"]}}`, start.Unix(), start.Add(24*time.Hour).Unix())), "")
	row := charges["results"].([]any)[0].(map[string]any)
	if row["source"] != fmt.Sprintf("instance-%d", id) || row["amount"] != 0.539 || fmt.Sprint(row["metadata"]) != "map[label:muster-1]" || row["end"] != float64(start.Add(2*time.Hour).Unix()) || len(row["items"].([]any)) != 2 || charges["next_token"] != nil || charges["count"] != 1.0 {
		t.Errorf("%v", charges)
	}
	if credit := s.call("GET", "/api/v0/users/current/", "")["credit"].(float64); credit < 24.4606 || credit > 24.4607 {
		t.Errorf("credit %v", credit)
	}
}

func TestBootsThatFail(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{
		"loading_forever": "loading running running running",
		"oci":             "created running running running",
		"unknown":         "unknown running running running",
		"no_ssh":          running,
	} {
		s := newSim(t)
		s.fault(`{"on":"boot","do":"` + fault + `","label":"muster-"}`)
		id := s.rent(41001, "")
		s.pass(time.Hour)
		s.is(id, want)
		if msg := s.show(id)["status_msg"].(string); (fault == "oci") != strings.Contains(msg, "OCI runtime create failed") {
			t.Errorf("%s: %s", fault, msg)
		}
		if billed := s.bill(id).GreaterThan(decimal.RequireFromString("0.1")); billed != (fault == "no_ssh") { // loading is not charged
			t.Errorf("%s: %s", fault, s.bill(id))
		}
	}
}

// Interruptible: refused, outbid without notice, and back by itself.
func TestBids(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	path := func() string { return fmt.Sprintf("/api/v0/asks/%d/", s.offer(41001)) }
	s.fails("PUT", path(), `{"image":"a","price":0.10,"cancel_unavail":true}`, 410, "no_such_ask")
	r, text := s.raw("PUT", path(), `{"image":"a","price":0.10}`)
	var refused struct {
		NewContract int `json:"new_contract"`
	}
	if err := json.Unmarshal([]byte(text), &refused); err != nil || r.StatusCode != 400 || refused.NewContract == 0 {
		t.Fatalf("a refused bid: %d %s", r.StatusCode, text)
	}
	s.is(refused.NewContract, "<nil> stopped stopped stopped")
	s.pass(time.Hour)
	if s.bill(refused.NewContract).IsZero() {
		t.Error("its disk is free")
	}
	s.call("DELETE", instancePath(refused.NewContract), "{}")

	id := s.rent(41001, `,"price":0.20`)
	s.pass(time.Minute)
	s.is(id, running)
	if i := s.show(id); i["is_bid"] != true || i["dph_base"] != 0.2 {
		t.Errorf("%v", i)
	}
	s.happen(`{"machine":41001,"what":"min_bid","value":"0.25"}`)
	s.is(id, off)
	before := s.bill(id)
	s.pass(time.Hour)
	if spent := s.bill(id).Sub(before); !spent.Equal(decimal.RequireFromString("0.015")) {
		t.Errorf("outbid, an hour costs %s", spent)
	}
	s.call("PUT", "/api/v0/instances/bid_price/"+fmt.Sprint(id)+"/", `{"client_id":"me","price":0.30}`)
	s.pass(12 * time.Second)
	s.is(id, running)
	s.happen(fmt.Sprintf(`{"instance":%d,"what":"outbid"}`, id))
	s.is(id, off)
	s.happen(fmt.Sprintf(`{"instance":%d,"what":"rebid"}`, id))
	s.pass(12 * time.Second)
	s.is(id, running)
	s.call("PUT", instancePath(id), `{"state":"stopped"}`)
	s.pass(time.Minute)
	s.happen(`{"machine":41001,"what":"min_bid","value":"0.01"}`)
	s.is(id, off) // its user stopped it
	bid := "/api/v0/instances/bid_price/"
	s.fails("PUT", bid+fmt.Sprint(id)+"/", `{"price":0.2}`, 400, "client_id")
	s.fails("PUT", bid+fmt.Sprint(id)+"/", `{"client_id":"me","price":0}`, 400, "Please set a bid price >= 0.001.")
	s.fails("PUT", bid+fmt.Sprint(id)+"/", `{"client_id":"me","price":33}`, 400, "invalid_args")
	s.fails("PUT", bid+"12/", `{"client_id":"me","price":1}`, 404, "no_such_instance", "Instance with that ID does not exist.")
	s.fails("PUT", bid+fmt.Sprint(s.rent(41003, ""))+"/", `{"client_id":"me","price":1}`, 400, "not interruptible")
	s.fails("POST", "/_sim/happen", fmt.Sprintf(`{"instance":%d,"what":"outbid"}`, id+1), 400, "on demand")
}

func TestStoppedLosesItsGPU(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	id := s.rent(41002, "")
	s.pass(time.Minute)
	if n := len(s.offers(`{"machine_id":{"eq":41002}}`)); n != 0 {
		t.Error("a machine that is rented is offered")
	}
	s.call("PUT", instancePath(id), `{"state":"stopped"}`)
	s.pass(time.Minute)
	s.fault(`{"on":"start","do":"taken"}`)
	s.call("PUT", instancePath(id), `{"state":"running"}`)
	s.pass(time.Hour)
	s.is(id, "exited running stopped running")
	s.happen(`{"machine":41002,"what":"rented","value":"0"}`)
	s.pass(time.Minute)
	s.is(id, running)
	s.call("PUT", "/api/v0/instances/reboot/"+fmt.Sprint(id)+"/", "{}")
	s.is(id, "rebooting running running running")
	s.pass(12 * time.Second)
	s.is(id, running)
	s.fails("PUT", "/api/v0/instances/reboot/12/", "{}", 400, "invalid instance_id")
}

func TestHostsThatGo(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	id := s.rent(41001, "")
	s.pass(time.Minute)
	s.happen(`{"machine":41001,"what":"offline"}`)
	s.is(id, "offline running running running")
	before := s.bill(id)
	s.pass(time.Hour)
	if !s.bill(id).Equal(before) {
		t.Error("charged while its host is away")
	}
	s.happen(`{"machine":41001,"what":"online"}`)
	s.is(id, running)
	s.happen(fmt.Sprintf(`{"instance":%d,"what":"exit"}`, id))
	s.is(id, "exited running running running")
	s.happen(fmt.Sprintf(`{"instance":%d,"what":"end"}`, id))
	s.is(id, off)
	s.pass(48*time.Hour + time.Minute)
	s.is(id, "gone")
	id = s.rent(41001, "")
	s.pass(61 * 24 * time.Hour)
	s.fails("POST", "/_sim/happen", fmt.Sprintf(`{"instance":%d,"what":"explode"}`, id+1), 400, "no instance")
	s.fails("POST", "/_sim/happen", `{"machine":41001,"what":"explode"}`, 400, "a machine has price")
	s.fails("POST", "/_sim/happen", `{"machine":1,"what":"price"}`, 400, "there is no machine 1")
}

// At zero credit everything stops; without a card it is destroyed a day later.
func TestCreditEnds(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	id := s.rent(41006, "") // $2.41 an hour of $25
	rich := s.as("paying")
	kept := rich.rent(41004, "")
	s.pass(11 * time.Hour)
	s.is(id, off)
	rich.is(kept, off)
	s.fails("PUT", instancePath(id), `{"state":"running"}`, 400, "missing_billing")
	s.fails("PUT", fmt.Sprintf("/api/v0/asks/%d/", s.offer(41003)), `{"image":"a"}`, 400, "missing_billing")
	s.pass(25 * time.Hour)
	s.is(id, "gone")
	rich.is(kept, off)
}

func TestList(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	var ids []int
	for n := range 8 {
		ids = append(ids, s.rent(41004, fmt.Sprintf(`,"label":"l%d"`, n%2)))
	}
	s.as("other").rent(41001, "")
	s.pass(time.Minute)
	list := func(kv ...string) map[string]any {
		s.Helper()
		return s.call("GET", query("/api/v1/instances/", kv...), "")
	}
	all := list()
	if all["success"] != true || all["instances_found"] != 8.0 || all["total_instances"] != 8.0 || fmt.Sprint(all["label_counts"]) != "map[l0:4 l1:4]" || all["next_token"] != nil {
		t.Errorf("%v", all)
	}
	if n := list("limit", "0")["instances_found"]; n != 5.0 {
		t.Errorf("limit 0: %v", n)
	}
	var seen []int
	for token := ""; ; {
		kv := []string{"limit", "3", "order_by", `[{"col":"label","dir":"desc"}]`, "select_cols", `["id","label","colour"]`}
		if token != "" {
			kv = append(kv, "after_token", token)
		}
		page := list(kv...)
		for _, i := range page["instances"].([]any) {
			row := i.(map[string]any)
			if len(row) != 3 || row["colour"] != nil {
				t.Errorf("%v", row)
			}
			seen = append(seen, int(row["id"].(float64)))
		}
		if page["next_token"] == nil {
			break
		}
		token = page["next_token"].(string)
	}
	if want := fmt.Sprint(ids[1], ids[3], ids[5], ids[7], ids[0], ids[2], ids[4], ids[6]); strings.Trim(fmt.Sprint(seen), "[]") != want {
		t.Errorf("%v, not %s", seen, want)
	}
	for _, c := range [][2]string{{`{"label":{"eq":"l1"}}`, "4"}, {fmt.Sprintf(`{"id":{"in":[%d,%d]}}`, ids[0], ids[1]), "2"}, {`{"actual_status":{"neq":"running"}}`, "0"}} {
		if n := fmt.Sprint(list("select_filters", c[0])["total_instances"]); n != c[1] {
			t.Errorf("%s: %s", c[0], n)
		}
	}
	path := func(kv ...string) string { return query("/api/v1/instances/", kv...) }
	s.fails("GET", path("select_filters", `{"dph_total":{"gt":1}}`), "", 400, "invalid_request", "dph_total is not a valid search key")
	s.fails("GET", path("order_by", `[{"col":"num_gpus"}]`), "", 400, "invalid_request")
	s.fails("GET", path("after_token", "x"), "", 400, "invalid_token")
	s.fails("GET", path("limit", "many"), "", 400, "invalid_request")
	s.fails("GET", "/api/v0/instances/", "", 410, "deprecated_endpoint")
	s.fault(`{"on":"list_v0","do":"working"}`)
	if n := len(s.call("GET", "/api/v0/instances/", "")["instances"].([]any)); n != 8 {
		t.Errorf("the old list has %d", n)
	}
	s.fault(`{"on":"list","do":"not_success"}`)
	if m := list(); m["success"] != false || m["instances"] != nil {
		t.Errorf("%v", m)
	}
	// A list that lags shows neither what is new nor that something is gone.
	s.call("DELETE", instancePath(ids[0]), "{}")
	late := s.rent(41003, "")
	s.pass(4 * time.Second)
	s.fault(`{"on":"list","do":"lag","for":"60s"}`)
	if text := fmt.Sprint(list("select_cols", `["id"]`)["instances"]); !strings.Contains(text, fmt.Sprintf("%e", float64(ids[0]))[:8]) || list()["total_instances"] != 8.0 {
		t.Errorf("%d and %d: %s", ids[0], late, text)
	}
}

func TestDestroyThatLingers(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	id := s.rent(41001, "")
	s.pass(time.Minute)
	s.fault(`{"on":"destroy","do":"linger","for":"90s"}`)
	before := s.bill(id)
	s.call("DELETE", instancePath(id), "{}")
	s.pass(89 * time.Second)
	s.is(id, running)
	s.call("DELETE", instancePath(id), "{}") // again, without effect
	s.pass(time.Second)
	s.is(id, "gone")
	if want := decimal.RequireFromString("0.355").Mul(decimal.NewFromInt(90)).Div(decimal.NewFromInt(3600)); !s.bill(id).Sub(before).Sub(want).Abs().LessThan(decimal.New(1, -12)) {
		t.Errorf("90 s cost %s", s.bill(id).Sub(before))
	}
}

// The answer to a create may be lost, or be an error, after it was done: the label
// finds it.
func TestCreateWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	s.fault(`{"on":"create","do":"failed"}`)
	s.fails("PUT", fmt.Sprintf("/api/v0/asks/%d/", s.offer(41001)), `{"image":"a","label":"muster-7"}`, 500, "<html>")
	if n := s.call("GET", query("/api/v1/instances/", "select_filters", `{"label":{"eq":"muster-7"}}`), "")["total_instances"]; n != 1.0 {
		t.Errorf("%v", n)
	}
}

func TestManage(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	id := s.rent(41001, "")
	s.call("PUT", instancePath(id), `{"label":"another"}`)
	if l := s.show(id)["label"]; l != "another" {
		t.Errorf("label %v", l)
	}
	s.fails("PUT", instancePath(id), `{"label":"`+strings.Repeat("x", 1025)+`"}`, 400, "label_too_long")
	s.fails("PUT", instancePath(id), `{"state":"frozen"}`, 400, "invalid_args")
	s.fails("PUT", instancePath(id), `{"price":1}`, 400, "invalid_args")
	s.fails("PUT", instancePath(id), `{}`, 400, "invalid_args")
	s.as("other").fails("PUT", instancePath(id), `{"state":"stopped"}`, 404, "no_such_instance")
	if s.as("other").show(id) != nil {
		t.Error("another account sees it")
	}
	s.fails("GET", "/api/v0/instances/x/", "", 400, "invalid_args", "error 400/1782")
}

// The key on a machine may show, start, stop and destroy that machine, and no more.
func TestKeyOfAMachine(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	other := s.rent(41001, "")
	made := s.call("PUT", fmt.Sprintf("/api/v0/asks/%d/", s.offer(41001)), `{"image":"a"}`)
	id, own := int(made["new_contract"].(float64)), s.as(made["instance_api_key"].(string))
	s.pass(time.Minute)
	own.is(id, running)
	own.call("PUT", instancePath(id), `{"state":"stopped"}`)
	own.fails("PUT", instancePath(id), `{"label":"x"}`, 403, "not_authorized")
	own.fails("DELETE", instancePath(other), "", 404, "not_found")
	for _, path := range []string{"/api/v1/instances/", "/api/v0/users/current/", "/api/v0/ssh/", "/api/v0/charges/"} {
		own.fails("GET", path, "", 403, "not_authorized")
	}
	own.call("DELETE", instancePath(id), "{}")
	s.pass(time.Minute)
	s.is(id, "gone")
	own.fails("GET", instancePath(id), "", 401, "auth_error")
}

func TestKeys(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	const one, two = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKlSANGY5Md6KdTKIMBZaYkZxjlptn78DUqrj+js8i6Y one", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKlSANGY5Md6KdTKIMBZaYkZxjlptn78DUqrj+js8i6Y two"
	before := s.rent(41001, "")
	made := s.call("POST", "/api/v0/ssh/", `{"ssh_key":"`+one+`"}`)["key"].(map[string]any)
	if made["public_key"] != one || made["deleted_at"] != nil {
		t.Errorf("%v", made)
	}
	_, text := s.raw("GET", "/api/v0/ssh/", "")
	var list []map[string]any
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) != 1 || list[0]["key"] != one {
		t.Errorf("%s", text)
	}
	has := func(id int) string {
		m := s.call("GET", instancePath(id)+"ssh/", "")
		var keys []map[string]any
		if err := json.Unmarshal([]byte(m["ssh_keys"].(string)), &keys); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, k := range keys {
			_, name, _ := strings.Cut(k["public_key"].(string), "8i6Y ")
			names = append(names, name)
		}
		return strings.Join(names, " ")
	}
	after := s.rent(41001, "")
	if has(before) != "" || has(after) != "one" {
		t.Errorf("%q %q", has(before), has(after))
	}
	s.call("POST", instancePath(after)+"ssh/", `{"ssh_key":"`+two+`"}`)
	if has(after) != "one two" {
		t.Errorf("%q", has(after))
	}
	s.call("DELETE", fmt.Sprintf("%sssh/%v/", instancePath(after), made["id"]), "")
	if has(after) != "two" {
		t.Errorf("%q", has(after))
	}
	s.call("DELETE", fmt.Sprintf("/api/v0/ssh/%v/", made["id"]), "")
	if _, text := s.raw("GET", "/api/v0/ssh/", ""); text != "[]" {
		t.Errorf("%s", text)
	}
	s.fails("POST", "/api/v0/ssh/", `{"ssh_key":"nonsense"}`, 400, "no_ssh_key", "No ssh key provided")
	s.fails("DELETE", "/api/v0/ssh/12/", "", 400, "no_ssh_key")
	s.fails("GET", "/api/v0/instances/12/ssh/", "", 404, "no_such_instance", "Instance not found.")
	s.fails("POST", "/api/v0/instances/12/ssh/", `{"ssh_key":"`+one+`"}`, 404, "no_such_instance")
	s.fails("POST", instancePath(after)+"ssh/", `{}`, 400, "no_ssh_key")
	s.fails("DELETE", instancePath(after)+"ssh/12/", "", 404, "no_such_ssh_key")
	s.fails("DELETE", "/api/v0/instances/12/ssh/1/", "", 404, "no_such_instance")
}

func TestMoney(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	s.fails("GET", "/api/v0/charges/", "", 400, `"success":false`, "Must provide both 'day' gte and lte")
	if _, text := s.raw("GET", query("/api/v0/charges/", "select_filters", `{"day":{"gte":1}}`), ""); strings.Contains(text, `"error"`) {
		t.Errorf("%s", text)
	}
	s.fails("GET", query("/api/v0/charges/", "select_filters", `{"day":{"gte":1,"lte":2}}`, "after_token", "x"), "", 400, "invalid_token")
	for range 3 {
		s.rent(41004, "")
	}
	s.pass(time.Hour)
	all := fmt.Sprintf(`{"day":{"gte":"%d","lte":%d}}`, start.Unix(), start.Add(time.Hour).Unix())
	first := s.call("GET", query("/api/v0/charges/", "select_filters", all, "limit", "2"), "")
	second := s.call("GET", query("/api/v0/charges/", "select_filters", all, "limit", "2", "after_token", first["next_token"].(string)), "")
	if first["count"] != 2.0 || first["total"] != 3.0 || second["count"] != 1.0 || second["next_token"] != nil {
		t.Errorf("%v\n%v", first, second)
	}
	if n := s.call("GET", query("/api/v0/charges/", "select_filters", strings.Replace(all, `}}`, `},"type":{"in":["volume"]}}`, 1)), "")["total"]; n != 0.0 {
		t.Errorf("%v volumes", n)
	}
	bad := s.call("GET", "/api/v1/invoices/", "")
	if bad["success"] != false || bad["error"] != "Invalid date range" || fmt.Sprint(bad["results"]) != "[]" {
		t.Errorf("%v", bad)
	}
	paid := s.call("GET", query("/api/v1/invoices/", "select_filters", fmt.Sprintf(`{"when":{"gte":%d,"lte":%d}}`, start.Unix(), start.Unix())), "")
	if row := paid["results"].([]any)[0].(map[string]any); row["amount"] != -25.0 || row["type"] != "credit" {
		t.Errorf("%v", paid)
	}
}

// What is behind the API is shown without a key, with exact bills.
func TestTruth(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	id := s.rent(41001, "")
	s.pass(time.Hour)
	cloud := s.call("GET", "/_sim/state", "")["cloud"].(map[string]any)
	i := cloud["instances"].([]any)[0].(map[string]any)
	if i["id"] != float64(id) || i["usd"] != s.bill(id).String() || i["gone"] != false || cloud["ssh"] != false {
		t.Errorf("%v", cloud)
	}
}
