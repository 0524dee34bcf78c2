package lambda

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/cloudsim"
)

// What the API refuses, with its status and code.
func TestRefuses(t *testing.T) {
	t.Parallel()
	as, err := cloudsim.NewAccounts("key\n")
	if err != nil {
		t.Fatal(err)
	}
	l := New(&cloudsim.World{Clock: cloudsim.NewClock(time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC), 0), Accounts: as, Machines: cloudsim.NoMachines{}})
	server := cloudsim.NewServer(l.World, l)
	server.NoLimit = true
	web := httptest.NewServer(server)
	t.Cleanup(func() { web.Close(); l.Close() })
	call := func(method, path, body string) (int, string) {
		t.Helper()
		q, err := http.NewRequest(method, web.URL+"/api/v1"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.SetBasicAuth("key", "")
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(text)
	}
	const key = `{"name":"k","public_key":"ssh-ed25519 AAAA"}`
	const launch = `{"region_name":"us-west-1","instance_type_name":"gpu_1x_a10","ssh_key_names":["k"]`
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"POST", "/instance-operations/launch", launch + `}`, 400, "global/object-does-not-exist"}, // no such key yet
		{"POST", "/ssh-keys", key, 200, `"name":"k"`},
		{"POST", "/ssh-keys", key, 400, "global/invalid-parameters"},
		{"POST", "/instance-operations/launch", launch + `,"quantity":1}`, 400, "unknown field"},
		{"POST", "/instance-operations/launch", launch + `,"tags":[{"key":"a","value":"b"}]}`, 400, "unknown field"}, // of newer documents
		{"POST", "/instance-operations/launch", launch + `,"file_system_names":["data"]}`, 400, "global/object-does-not-exist"},
		{"POST", "/filesystems", `{"name":"data","region":"us-east-1"}`, 200, "/lambda/nfs/data"},
		{"POST", "/instance-operations/launch", launch + `,"file_system_names":["data"]}`, 400, "file-system-in-wrong-region"},
		{"POST", "/instance-operations/launch", launch + `,"image":{"family":"windows"}}`, 404, "global/object-does-not-exist"},
		{"POST", "/instance-operations/launch", strings.Replace(launch, `["k"]`, `["k","k"]`, 1) + `}`, 400, "Exactly one SSH key"},
		{"POST", "/instance-operations/launch", launch + `,"image":{"family":"lambda-stack-22-04"}}`, 200, "instance_ids"},
		{"POST", "/instance-operations/terminate", `{"instance_ids":["none"]}`, 404, "global/object-does-not-exist"},
		{"POST", "/instance-operations/terminate", `{"instance_ids":[]}`, 400, "global/invalid-parameters"},
		{"GET", "/instances/none", "", 404, "global/object-does-not-exist"},
		{"DELETE", "/ssh-keys/none", "", 400, "global/invalid-parameters"},
		{"GET", "/instances", "", 200, `"vm-has-not-launched"`},
	} {
		if status, text := call(c.method, c.path, c.body); status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s %s %s: %d %s, not %d with %q", c.method, c.path, c.body, status, text, c.status, c.says)
		}
	}
}
