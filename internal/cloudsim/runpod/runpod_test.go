package runpod

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
	r      *RunPod
	server *cloudsim.Server
	url    string
	key    string
}

func newSim(t *testing.T) *sim {
	t.Helper()
	as, err := cloudsim.NewAccounts("key account=me credit=25\nreader account=me scopes=read\nold expires=2026-01-01T00:00:00Z\nother\npoor credit=0.5\n")
	if err != nil {
		t.Fatal(err)
	}
	w := &cloudsim.World{Clock: cloudsim.NewClock(start, 0), Accounts: as, Machines: cloudsim.NoMachines{}}
	r := New(w)
	server := cloudsim.NewServer(w, r)
	server.NoLimit = true
	web := httptest.NewServer(server)
	t.Cleanup(func() { web.Close(); r.Close() })
	return &sim{t, r, server, web.URL, "key"}
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

// call is a call that is answered with a status of success.
func (s *sim) call(method, path, body string) map[string]any {
	s.Helper()
	r, text := s.raw(method, path, body)
	var m map[string]any
	if r.StatusCode >= 300 || text != "" && json.Unmarshal([]byte(text), &m) != nil {
		s.Fatalf("%s %s: %d %s", method, path, r.StatusCode, text)
	}
	return m
}

// fails is a call that is answered with a problem; it holds what the answer has.
func (s *sim) fails(method, path, body string, status int, has string) {
	s.Helper()
	r, text := s.raw(method, path, body)
	if r.StatusCode != status || !strings.Contains(text, has) || r.Header.Get("Content-Type") != "application/problem+json" {
		s.Errorf("%s %s %s: %d %s %s; want %d with %s", method, path, body, r.StatusCode, r.Header.Get("Content-Type"), text, status, has)
	}
}

func (s *sim) pass(d time.Duration) { s.r.Clock.Advance(d) }

const plain = `{"name":"muster-1","image":"runpod/pytorch","gpu":{"id":"NVIDIA GeForce RTX 4090"},"disk":20,"mounts":{"persistent":{"size":10,"path":"/workspace"}},"ports":["22/tcp"]}`

// with is a body with another value of a field; "" leaves it out.
func with(field, value string) string {
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(plain), &m); err != nil {
		panic(err)
	}
	if m[field] = json.RawMessage(value); value == "" {
		delete(m, field)
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (s *sim) rent() string { s.Helper(); return s.call("POST", "/v2/pods", plain)["id"].(string) }

// is fails unless a pod has a status, and says what it costs.
func (s *sim) is(id, status string, cost float64) map[string]any {
	s.Helper()
	p := s.call("GET", "/v2/pods/"+id, "")
	if p["status"] != status || p["cost"] != cost {
		s.Errorf("pod is %v at %v, not %s at %v", p["status"], p["cost"], status, cost)
	}
	return p
}

func (s *sim) usd() (sum decimal.Decimal) {
	s.r.Clock.Do(func() { sum = s.r.spent(s.r.Accounts.Find("key", start).Account) })
	return sum
}

func (s *sim) happen(body string) { s.Helper(); s.call("POST", "/_sim/happen", body) }
func (s *sim) fault(body string)  { s.Helper(); s.call("POST", "/_sim/faults", body) }

func TestKeys(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	s.as("").fails("GET", "/v2/pods", "", 401, "missing bearer token")
	s.as("wrong").fails("GET", "/v2/pods", "", 401, "invalid bearer token")
	s.as("old").fails("GET", "/v2/pods", "", 401, "invalid bearer token")
	s.as("reader").fails("POST", "/v2/pods", plain, 403, "lacks permission")
	s.as("reader").fails("POST", "/graphql", `{"query":"query { myself { clientBalance } }"}`, 403, "lacks permission")
	s.as("reader").call("GET", "/v2/pods", "")
	s.fails("GET", "/v2/nothing", "", 404, "no such route")
	id := s.rent()
	s.as("other").fails("GET", "/v2/pods/"+id, "", 404, "not found")
	s.as("other").fails("DELETE", "/v2/pods/"+id, "", 404, "not found")
	if got := s.as("other").call("GET", "/v2/pods", "")["pods"].([]any); len(got) != 0 {
		t.Errorf("others see %v", got)
	}
	// The key of a pod is for that pod alone.
	var own string
	s.r.Clock.Do(func() { own = s.r.pods[0].key.Text })
	pod, another := s.as(own), s.rent()
	pod.fails("GET", "/v2/pods", "", 403, "lacks permission")
	pod.fails("POST", "/v2/pods", plain, 403, "lacks permission")
	pod.fails("DELETE", "/v2/pods/"+another, "", 404, "not found")
	pod.call("POST", "/v2/pods/"+id+"/action", `{"action":"stop"}`)
	s.is(id, exited, 0)
	pod.call("POST", "/v2/pods/"+id+"/action", `{"action":"terminate"}`)
	s.pass(time.Minute)
	pod.fails("GET", "/v2/pods/"+id, "", 401, "invalid bearer token")
}

// What a create refuses, and how.
func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	for _, c := range []struct {
		body   string
		status int
		has    string
	}{
		{`{`, 422, "errors"},
		{with("bogus", "1"), 422, `unknown field \"bogus\"`},
		{with("gpu", `{"id":"NVIDIA L4","bogus":1}`), 422, `unknown field \"bogus\"`},
		{with("name", ""), 422, "$.name"},
		{with("disk", "0"), 422, "$.disk"},
		{with("disk", `"20"`), 422, "disk"},
		{with("env", `{"A":1}`), 422, "env"},
		{with("cloud", `"DARK"`), 422, "$.cloud"},
		{with("ports", `["22"]`), 422, "$.ports"},
		{with("gpu", `{"id":"NVIDIA L4","count":0}`), 422, "$.gpu.count"},
		{with("gpu", `{"id":"NVIDIA L4","minCudaVersion":"12"}`), 422, "$.gpu.minCudaVersion"},
		{with("mounts", `{"persistent":{"size":9,"path":"/workspace"}}`), 422, "minimum 10"},
		{with("mounts", `{"persistent":{"size":10}}`), 422, "path is required"},
		{with("mounts", `{"network":[{"volumeId":"a","path":"/a"},{"volumeId":"b","path":"/b"}]}`), 422, "maxItems 1"},
		{with("templateId", `"t"`), 404, "template t not found"},
		{with("image", ""), 400, "image is required"},
		{with("gpu", ""), 400, "exactly one of gpu or cpu"},
		{with("cpu", `{"id":"cpu3c","vcpuCount":2}`), 400, "exactly one of gpu or cpu"},
		{with("gpu", `{"id":"NVIDIA L4","minCudaVersion":"12.1","allowedCudaVersions":["12.8"]}`), 400, "mutually exclusive"},
		{with("mounts", `{"persistent":{"size":10,"path":"/a"},"network":[{"volumeId":"a","path":"/a"}]}`), 400, "mutually exclusive"},
		{with("mounts", `{"network":[{"volumeId":"a","path":"/a"}]}`), 400, "network volume a not found"},
		{with("gpu", `{"id":"NVIDIA Unheard Of"}`), 400, "no longer any instances"},
		{with("gpu", `{"id":"NVIDIA GeForce RTX 4090","count":7}`), 400, "no longer any instances"},
		{with("gpu", `{"id":"NVIDIA GeForce RTX 4090","minCudaVersion":"13.0"}`), 400, "no longer any instances"},
		{with("dataCenterIds", `["EUR-IS-1"]`), 400, "no longer any instances"},
	} {
		s.fails("POST", "/v2/pods", c.body, c.status, c.has)
	}
	s.as("poor").fails("POST", "/v2/pods", plain, 402, "Insufficient balance")
	if len(s.r.pods) != 0 {
		t.Errorf("%d pods", len(s.r.pods))
	}
	s.call("POST", "/v2/pods", with("gpu", `{"id":"NVIDIA GeForce RTX 4090","minCudaVersion":"12.4","allowedCudaVersions":[]}`))
}

func TestCatalogue(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	q := func(text string) string { return "/v2/catalog/gpus?" + text }
	s.fails("GET", q("include=AVAILABILITY"), "", 400, "requires product")
	s.fails("GET", q("count=1"), "", 400, "requires include")
	s.fails("GET", q("include=AVAILABILITY&product=POD&cudaVersions=12.8&minCudaVersion=12.4"), "", 400, "mutually exclusive")
	s.fails("GET", q("include=AVAILABILITY&product=POD&count=x"), "", 422, "query.count")
	s.fails("GET", q("include=AVAILABILITY&product=POD&cloud=DARK"), "", 422, "query.cloud")
	s.fails("GET", q("bogus=1"), "", 422, "bogus")
	s.fails("GET", "/v2/catalog/gpus/none", "", 404, "not found")
	bare := s.call("GET", "/v2/catalog/gpus/"+url.PathEscape("NVIDIA L4"), "")
	if bare["availability"] != nil || bare["dataCenters"] != nil || bare["memory"] != 24.0 {
		t.Errorf("%v", bare)
	}
	for query, want := range map[string]string{
		"":                       "HIGH [map[availability:HIGH id:EU-RO-1 name:EU-RO-1] map[availability:LOW id:US-TX-3 name:US-TX-3] map[availability:LOW id:CA-MTL-1 name:CA-MTL-1]]",
		"&cloud=SECURE&count=2":  "MEDIUM [map[availability:MEDIUM id:EU-RO-1 name:EU-RO-1] map[availability:LOW id:US-TX-3 name:US-TX-3]]",
		"&minCudaVersion=12.10":  "NONE <nil>",
		"&countryCodes=US":       "LOW [map[availability:LOW id:US-TX-3 name:US-TX-3]]",
		"&cloud=SECURE&count=20": "NONE <nil>",
	} {
		p := s.call("GET", "/v2/catalog/gpus/"+url.PathEscape("NVIDIA GeForce RTX 4090")+"?include=AVAILABILITY&product=POD"+query, "")
		if got := fmt.Sprint(p["availability"], " ", p["dataCenters"]); got != want {
			t.Errorf("%s: %s, not %s", query, got, want)
		}
	}
	s.happen(`{"machine":"ro-l4","what":"rented","value":"4"}`)
	if p := s.call("GET", "/v2/catalog/gpus/"+url.PathEscape("NVIDIA L4")+"?include=AVAILABILITY&product=POD", ""); p["availability"] != "NONE" {
		t.Errorf("%v", p)
	}
	if got := s.call("GET", q("include=AVAILABILITY&product=POD&countryCodes=CA"), "")["gpus"].([]any); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestLife(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	id := s.rent()
	path := "/v2/pods/" + id
	act := func(action string) { t.Helper(); s.call("POST", path+"/action", `{"action":"`+action+`"}`) }
	port := func() any {
		t.Helper()
		d, _ := s.call("GET", path, "")["ssh"].(map[string]any)["direct"].(map[string]any)
		return d["port"]
	}
	p := s.is(id, provisioning, 0.69)
	for _, field := range []string{"id", "name", "status", "actions", "image", "args", "disk", "mounts", "ports", "env", "registry", "cloud", "dataCenterId", "cudaVersion", "ssh", "template", "cost", "locked", "runtime", "createdAt", "startedAt", "globalNetworking"} {
		if _, ok := p[field]; !ok {
			t.Errorf("a pod has no %s", field)
		}
	}
	s.fails("POST", path+"/action", `{"action":"start"}`, 409, "cannot start a pod that is PROVISIONING")
	s.fails("POST", path+"/action", `{"action":"explode"}`, 422, "$.action")
	s.fails("POST", path+"/action", `{"action":"stop","now":true}`, 422, "now")
	s.pass(allocating)
	s.is(id, starting, 0.69)
	s.pass(pulling)
	s.is(id, running, 0.69)
	if port() != nil {
		t.Error("its port is mapped at once")
	}
	s.pass(mapping)
	first := port()
	if first == nil {
		t.Error("its port is not mapped")
	}
	s.pass(time.Hour - allocating - pulling - mapping)
	hour := decimal.RequireFromString("0.69").Add(decimal.RequireFromString("0.10").Mul(decimal.NewFromInt(30)).Div(monthHours))
	if got := s.usd(); !got.Round(9).Equal(hour.Round(9)) {
		t.Errorf("an hour costs %s, not %s", got, hour)
	}
	s.happen(`{"instance":"` + id + `","what":"lock"}`)
	s.fails("POST", path+"/action", `{"action":"stop"}`, 409, "locked")
	s.happen(`{"instance":"` + id + `","what":"unlock"}`)
	act("restart")
	s.pass(restarting + mapping)
	s.is(id, running, 0.69)
	act("stop")
	s.is(id, exited, 0)
	before := s.usd()
	s.pass(time.Hour)
	stopped := decimal.RequireFromString("0.20").Mul(decimal.NewFromInt(10)).Div(monthHours)
	if got := s.usd().Sub(before); !got.Round(9).Equal(stopped.Round(9)) {
		t.Errorf("an hour stopped costs %s, not %s", got, stopped)
	}
	s.happen(`{"machine":"ro-4090","what":"rented","value":"8"}`)
	s.fails("POST", path+"/action", `{"action":"start"}`, 400, "not enough free GPUs")
	s.happen(`{"machine":"ro-4090","what":"rented","value":"0"}`)
	s.fault(`{"on":"start","do":"zero_gpus"}`)
	act("start")
	s.pass(time.Minute)
	if p := s.is(id, running, 0); p["gpu"].(map[string]any)["count"] != 0.0 || port() == first {
		t.Errorf("%v", p)
	}
	s.fault(`{"on":"terminate","do":"linger","for":"10m"}`)
	s.call("DELETE", path, "")
	s.pass(9 * time.Minute)
	s.is(id, running, 0)
	s.pass(2 * time.Minute)
	s.fails("GET", path, "", 404, "not found")
	s.fails("DELETE", path, "", 404, "not found")
	after := s.usd()
	s.pass(time.Hour)
	if !s.usd().Equal(after) {
		t.Error("it is billed when it is gone")
	}
	bill := s.call("GET", "/v2/billing/pods?bucketSize=hour&podId="+id, "")
	meta := bill["metadata"].(map[string]any)
	if got := decimal.NewFromFloat(meta["totals"].(map[string]any)["totalAmount"].(float64)); !got.Round(9).Equal(after.Round(9)) || meta["uniquePodCount"] != 1.0 || len(bill["records"].([]any)) != int(meta["recordCount"].(float64)) {
		t.Errorf("the bill is %s, not %s: %v", got, after, meta)
	}
	s.fails("GET", "/v2/billing/pods?bucketSize=minute", "", 422, "query.bucketSize")
}

// The limits are an account's, of all calls together, and each answer says how many remain.
func TestRateLimits(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	s.server.NoLimit = false
	r, _ := s.raw("GET", "/v2/pods", "")
	if got := r.Header.Get("RateLimit"); got != `"minute";r=59;t=60, "hour";r=2999;t=3600, "day";r=49999;t=86400` {
		t.Error(got)
	}
	if got := r.Header.Get("RateLimit-Policy"); got != `"minute";q=60;w=60, "hour";q=3000;w=3600, "day";q=50000;w=86400` {
		t.Error(got)
	}
	for range 59 {
		s.as("reader").call("GET", "/v2/pods", "")
	}
	s.pass(20 * time.Second)
	s.fails("GET", "/v2/pods", "", 429, "rate limit exceeded")
	if r, _ := s.raw("GET", "/v2/pods", ""); r.Header.Get("Retry-After") != "40" {
		t.Errorf("Retry-After is %s", r.Header.Get("Retry-After"))
	}
	s.as("other").call("GET", "/v2/pods", "")
	s.pass(40 * time.Second)
	s.call("GET", "/v2/pods", "")
	if r, _ := s.as("").raw("GET", "/v2/pods", ""); r.Header.Get("RateLimit") != "" {
		t.Error("who has no key is told of limits")
	}
}

// Without balance pods end: those with a network volume are stopped.
func TestBalanceThatEnds(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	v := s.call("POST", "/v2/network-volumes", `{"name":"data","size":50,"dataCenter":"EU-RO-1"}`)
	s.fails("POST", "/v2/network-volumes", `{"name":"data","size":5,"dataCenter":"EU-RO-1"}`, 422, "$.size")
	s.fails("POST", "/v2/network-volumes", `{"name":"data","size":50,"dataCenterId":"EU-RO-1"}`, 422, "dataCenterId")
	s.fails("POST", "/v2/pods", strings.Replace(with("mounts", `{"network":[{"volumeId":"`+v["id"].(string)+`","path":"/workspace"}]}`), `{"`, `{"dataCenterIds":["US-TX-3"],"`, 1), 400, "no longer any instances")
	kept := s.call("POST", "/v2/pods", with("mounts", `{"network":[{"volumeId":"`+v["id"].(string)+`","path":"/workspace"}]}`))["id"].(string)
	lost := s.rent()
	s.pass(20 * time.Hour)
	s.is(kept, exited, 0)
	s.fails("GET", "/v2/pods/"+lost, "", 404, "not found")
	s.fails("POST", "/v2/pods/"+kept+"/action", `{"action":"start"}`, 402, "Insufficient balance")
	balance := s.call("POST", "/graphql", `{"query":"query { myself { clientBalance } }"}`)["data"].(map[string]any)["myself"].(map[string]any)
	if len(balance) != 1 || balance["clientBalance"].(float64) > 0 {
		t.Errorf("%v", balance)
	}
	if got := s.call("POST", "/graphql", `{"query":"query { pods }"}`); got["errors"] == nil || got["data"] != nil {
		t.Errorf("%v", got)
	}
	if got := s.call("GET", "/v2/network-volumes", "")["networkVolumes"].([]any); len(got) != 1 {
		t.Errorf("%v", got)
	}
	s.call("DELETE", "/v2/network-volumes/"+v["id"].(string), "")
	s.fails("GET", "/v2/network-volumes/"+v["id"].(string), "", 404, "not found")
}

// A PUT of ssh keys replaces all of them, and startSsh hands those to pods.
func TestSSHKeys(t *testing.T) {
	t.Parallel()
	s := newSim(t)
	const one = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKlSANGY5Md6KdTKIMBZaYkZxjlptn78DUqrj+js8i6Y a"
	s.call("PUT", "/v2/account/ssh-keys", `{"keys":["`+one+`"]}`)
	s.fails("PUT", "/v2/account/ssh-keys", `{"keys":["nonsense"]}`, 422, "$.keys")
	s.fails("PUT", "/v2/account/ssh-keys", `{}`, 422, "keys is required")
	s.call("POST", "/v2/pods", with("startSsh", "true"))
	s.rent()
	s.call("POST", "/v2/pods", strings.Replace(with("startSsh", "true"), `{"`, `{"env":{"PUBLIC_KEY":"mine"},"`, 1))
	s.r.Clock.Do(func() {
		for n, want := range []string{one, "", "mine"} {
			if got := s.r.pods[n].public(); got != want {
				t.Errorf("pod %d has %q, not %q", n, got, want)
			}
		}
	})
	s.call("PUT", "/v2/account/ssh-keys", `{"keys":[]}`)
	if got := s.call("GET", "/v2/account/ssh-keys", "")["keys"].([]any); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
