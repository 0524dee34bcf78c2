package vastai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	simvast "github.com/muster-run/muster/internal/cloudsim/vastai"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/rental"
	"github.com/muster-run/muster/providers/rental/rentaltest"
)

// lab is a simulated Vast.ai with its rate limits: waiting moves its clock.
type lab struct {
	*rentaltest.Lab[*simvast.Vast]
	*Client
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{Lab: rentaltest.New(t, "key account=me credit=12.5\nsecond account=me\nnarrow scopes=instance_read\nold expires=2026-01-01T00:00:00Z\nsoon expires=2026-11-23T10:00:00Z\npoor credit=0\n", simvast.New)}
	l.Client = l.client("key")
	return l
}

func (l *lab) client(key string) *Client {
	return New(rental.Access{Service: "Vast.ai", URL: l.URL + "/", Key: key, Now: l.Now, Sleep: l.Sleep})
}

// Two keys of an account are one, and those of two are not.
func TestAccount(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	mine, err := l.Account(t.Context())
	again, e2 := l.client("second").Account(t.Context())
	other, e3 := l.client("poor").Account(t.Context())
	if errors.Join(err, e2, e3) != nil || mine.ID != "5001" || !mine.Same(again) || mine.Key == again.Key || mine.Same(other) {
		t.Errorf("%+v %+v %+v %v", mine, again, other, errors.Join(err, e2, e3))
	}
}

var order = rental.Order{Label: "muster-1", Disk: 20e9, Image: "a"}

func (l *lab) offer(w rental.Want) rental.Offer {
	l.Helper()
	offers, err := l.Offers(l.Context(), w)
	if err != nil || len(offers) == 0 {
		l.Fatalf("%v %v", offers, err)
	}
	return offers[0]
}

func TestOffers(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	names := func(w rental.Want) string {
		t.Helper()
		offers, err := l.Offers(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, o := range offers {
			out = append(out, fmt.Sprintf("%s:%s", o.Machine, o.USDPerHour.StringFixed(4)))
		}
		return strings.Join(out, " ")
	}
	for want, w := range map[string]rental.Want{
		"41002:0.3100 41001:0.3550": {GPUs: 1, Disk: 73e9, Models: []string{"RTX 4090"}},
		"41001:0.3416":              {GPUs: 1, Models: []string{"RTX 4090"}, Reliability: 0.95}, // 8 GB at least
		"41004:0.9811 41006:2.4011": {GPUs: 1, Disk: 1, GPUMemory: 80000 << 20, Lasts: 100 * 24 * time.Hour},
		"41005:3.9337":              {GPUs: 4, Disk: 99_500_000_001},
		"":                          {GPUs: 1, Disk: 1e13},
		"41001:0.2150 41002:0.2200": {GPUs: 1, Disk: 73e9, Models: []string{"RTX 4090"}, Spot: true, Bid: decimal.RequireFromString("0.20")},
	} {
		if got := names(w); got != want {
			t.Errorf("%+v: %q, not %q", w, got, want)
		}
	}
	o := l.offer(rental.Want{GPUs: 1, Models: []string{"A100 SXM4"}})
	if o.GPU != "A100 SXM4" || o.GPUs != 1 || o.GPUMemory != 81920<<20 || o.Reliability != 0.998 || !o.Until.Equal(rentaltest.Start.Add(180*24*time.Hour)) {
		t.Errorf("%+v", o)
	}
}

// TestMachinesThatAreNeverRented: a machine that is reached through the cloud's ssh proxy
// alone, which is no way for large files, one that is not verified, and one whose host is
// less reliable than asked are not offered, however cheap.
func TestMachinesThatAreNeverRented(t *testing.T) {
	// Requirement: DT-20, HND-05
	t.Parallel()
	l := newLab(t)
	for name, c := range map[string]struct {
		want rental.Want
		is   string
	}{
		"no direct port": {rental.Want{GPUs: 1, Models: []string{"RTX 3090"}}, ""},
		"not verified":   {rental.Want{GPUs: 1, Models: []string{"RTX 4090"}}, "41002 41001"},
		"not reliable":   {rental.Want{GPUs: 1, Models: []string{"RTX 4090"}, Reliability: 0.99}, "41001"},
	} {
		offers, err := l.Offers(t.Context(), c.want)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range offers {
			got = append(got, o.Machine)
		}
		if strings.Join(got, " ") != c.is {
			t.Errorf("%s: %q, not %q", name, got, c.is)
		}
	}
}

// Calls are paced so that none is refused.
func TestPace(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	rented := 0
	for ; ; rented++ {
		offers, err := l.Offers(t.Context(), rental.Want{GPUs: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(offers) == 0 {
			break
		}
		if _, err := l.Rent(t.Context(), offers[0], order); err != nil {
			t.Fatal(err)
		}
	}
	for range 30 {
		if all, err := l.Machines(t.Context()); err != nil || len(all) != rented {
			t.Fatalf("%d of %d: %v", len(all), rented, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Machines(ctx); err == nil {
		t.Error("a call that was canceled is answered")
	}
}

func TestMachines(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const n = 8
	for range n {
		if _, err := l.Rent(t.Context(), l.offer(rental.Want{GPUs: 1, Models: []string{"A100 SXM4"}}), order); err != nil {
			t.Fatal(err)
		}
	}
	l.Clock.Advance(time.Minute)
	all, err := l.Machines(t.Context())
	if err != nil || len(all) != n {
		t.Fatalf("%d %v", len(all), err)
	}
	m := all[0]
	if m.Label != "muster-1" || m.Status != rental.Running || m.User != "root" || m.Host != "127.0.0.1" || m.Port == 0 || m.USDPerHour.StringFixed(4) != "0.9827" || m.Since.Sub(rentaltest.Start) > time.Hour {
		t.Errorf("%+v", m)
	}
	if err := l.Release(t.Context(), m.ID); err != nil {
		t.Error(err)
	}
	l.Clock.Advance(time.Minute)
	if all, err := l.Machines(t.Context()); err != nil || len(all) != n-1 {
		t.Errorf("%d %v", len(all), err)
	}
	if err := l.Release(t.Context(), m.ID); err != nil {
		t.Errorf("release of what is gone: %v", err)
	}
	usd, err := l.Bill(t.Context(), m.ID, m.Since, m.Since.Add(time.Hour))
	if err != nil || !usd.IsPositive() {
		t.Errorf("%s %v", usd, err)
	}
	if usd, err := l.Bill(t.Context(), "12", rentaltest.Start, rentaltest.Start.Add(time.Hour)); err != nil || !usd.IsZero() {
		t.Errorf("%s %v", usd, err)
	}
	if credit, err := l.Credit(t.Context()); err != nil || !credit.LessThan(decimal.RequireFromString("12.5")) || !credit.IsPositive() {
		t.Errorf("%s %v", credit, err)
	}
}

// The four states of an instance, as public clients and the documentation read them.
func TestStates(t *testing.T) {
	t.Parallel()
	s := func(v string) *string { return &v }
	for _, c := range []struct {
		i    instance
		want rental.Status
	}{
		{instance{Intended: "running", Current: "running", Next: "running"}, rental.Booting},
		{instance{Actual: s("loading"), Intended: "running", Current: "running", Next: "running"}, rental.Booting},
		{instance{Actual: s("created"), Intended: "running", Current: "running", Next: "running"}, rental.Booting},
		{instance{Actual: s("created"), Msg: s("x OCI runtime create failed: y"), Intended: "running", Current: "running", Next: "running"}, rental.Broken},
		{instance{Actual: s("rebooting"), Intended: "running", Current: "running", Next: "running"}, rental.Booting},
		{instance{Actual: s("running"), Intended: "running", Current: "running", Next: "running"}, rental.Running},
		{instance{Actual: s("running"), Intended: "stopped", Current: "running", Next: "stopped"}, rental.Running},
		{instance{Actual: s("exited"), Intended: "running", Current: "running", Next: "running"}, rental.Stopped},
		{instance{Actual: s("exited"), Intended: "stopped", Current: "stopped", Next: "stopped"}, rental.Stopped},
		{instance{Actual: s("running"), Intended: "stopped", Current: "stopped", Next: "stopped"}, rental.Stopped},
		{instance{Actual: s("unknown"), Intended: "running", Current: "running", Next: "running"}, rental.Away},
		{instance{Actual: s("offline"), Intended: "running", Current: "running", Next: "running"}, rental.Away},
	} {
		if m := c.i.machine(); m.Status != c.want || m.Host != "" {
			t.Errorf("%q %q: %s %s", text(c.i.Actual), c.i.Next, m.Status, m.Host)
		}
	}
	for ports, want := range map[string]int{
		``: 0, `null`: 0, `[22]`: 0, `{}`: 0, `{"22/tcp":[]}`: 0, `{"22/tcp":[{"HostPort":"x"}]}`: 0,
		`{"22/tcp":[{"HostIp":"0.0.0.0","HostPort":"41022"}]}`: 41022,
	} {
		i := instance{Ports: []byte(ports), Public: " 192.0.2.45 \n", Actual: s("running"), Current: "running"}
		m := i.machine()
		if m.Port != want || (m.Host == "192.0.2.45") != (want != 0) {
			t.Errorf("%s: %+v", ports, m)
		}
	}
}

func TestKeysThatMayNot(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for key, says := range map[string]string{"": "does not know this API key", "wrong": "does not know this API key", "old": "does not know this API key", "narrow": "lacks a scope"} {
		c := l.client(key)
		_, err := c.Offers(t.Context(), rental.Want{GPUs: 1})
		if rentaltest.Class(err) != providers.Auth || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", key, err)
		}
		var refused *rental.Refused
		if _, err := c.Rent(t.Context(), rental.Offer{ID: "1"}, order); !errors.As(err, &refused) {
			t.Errorf("%q: %v", key, err)
		}
		if key != "narrow" {
			for _, err := range []error{rentaltest.Err(c.Machines(t.Context())), rentaltest.Err(c.Bill(t.Context(), "1", rentaltest.Start, rentaltest.Start)), c.Release(t.Context(), "1"), rentaltest.Err(c.Credit(t.Context()))} {
				if rentaltest.Class(err) != providers.Auth {
					t.Errorf("%q: %v", key, err)
				}
			}
		}
		if err != nil && key != "" && strings.Contains(err.Error(), key+" ") {
			t.Errorf("the key is in the message: %v", err)
		}
	}
}

// What is no answer of the API is not taken for one.
func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	web := rentaltest.NewMute(t)
	c := New(rental.Access{Service: "Vast.ai", URL: web.URL, Key: "secret", Now: time.Now, Sleep: func(context.Context, time.Duration) error { return nil }})
	all := func() map[string]error {
		return map[string]error{
			"offers": rentaltest.Err(c.Offers(t.Context(), rental.Want{GPUs: 1})), "list": rentaltest.Err(c.Machines(t.Context())), "rent": rentaltest.Err(c.Rent(t.Context(), rental.Offer{ID: "1"}, order)),
			"release": c.Release(t.Context(), "1"), "bill": rentaltest.Err(c.Bill(t.Context(), "1", rentaltest.Start, rentaltest.Start)), "credit": rentaltest.Err(c.Credit(t.Context())),
		}
	}
	web.Unreachable(t, all, `200 {}`, `200 {"success":false}`, "200 <html>", "200 ", "502 <html>", "500 ", `503 {"success":true,"instances":[]}`)
	web.Later(t, all, "API requests too frequent: endpoint threshold=1.0")
	web.Status, web.Body = 400, `{"success":false,"error":"invalid_price","msg":"too low","new_contract":77}`
	var left *rental.Leftover
	if _, err := c.Rent(t.Context(), rental.Offer{ID: "1"}, order); !errors.As(err, &left) || left.ID != "77" || left.Error() != "Vast.ai: too low (HTTP 400); it left machine 77" {
		t.Errorf("%v", err)
	}
	web.Gone(t, all, "/api/")
}

// A list is all of its pages, and none of them where one fails.
func TestPages(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"":  `{"success":true,"instances":[{"id":1}],"next_token":"b"}`,
		"b": `{"success":true,"instances":[{"id":2}],"next_token":"c"}`,
		"c": `{"success":true,"instances":[],"next_token":null}`,
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = w.Write([]byte(pages[q.URL.Query().Get("after_token")]))
	}))
	t.Cleanup(web.Close)
	c := New(rental.Access{Service: "Vast.ai", URL: web.URL, Now: time.Now, Sleep: func(context.Context, time.Duration) error { return nil }})
	if all, err := c.Machines(t.Context()); err != nil || len(all) != 2 || all[1].ID != "2" {
		t.Errorf("%v %v", all, err)
	}
	pages["c"] = `{"success":false}`
	if all, err := c.Machines(t.Context()); err == nil || all != nil {
		t.Errorf("%v %v", all, err)
	}
}

func TestAddKey(t *testing.T) {
	// Requirement: ACC-03
	t.Parallel()
	l := newLab(t)
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKlSANGY5Md6KdTKIMBZaYkZxjlptn78DUqrj+js8i6Y "
	for range 3 {
		if err := l.AddKey(t.Context(), key+"me"); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.AddKey(t.Context(), key+"renamed"); err != nil {
		t.Fatal(err)
	}
	var keys []any
	if err := l.call(t.Context(), "keys", http.MethodGet, "/api/v0/ssh/", nil, nil, &keys); err != nil || len(keys) != 1 {
		t.Errorf("%v %v", keys, err)
	}
	if err := l.AddKey(t.Context(), "nonsense"); err == nil || !strings.Contains(err.Error(), "No ssh key provided") {
		t.Errorf("%v", err)
	}
	if err := l.client("narrow").AddKey(t.Context(), key); rentaltest.Class(err) != providers.Auth {
		t.Errorf("%v", err)
	}
}

// TestKeyThatExpires: a key that worked, and is not taken any more, has a message of its
// own, which says that machines are billed on.
func TestKeyThatExpires(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	c := l.client("soon")
	if _, err := c.Machines(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.Clock.Advance(2 * time.Hour)
	_, err := c.Machines(t.Context())
	if text := fmt.Sprint(err); rentaltest.Class(err) != providers.Auth || !strings.Contains(text, "does not take this API key any more") || !strings.Contains(text, "billed on") || strings.Contains(text, "soon") {
		t.Error(err)
	}
}
