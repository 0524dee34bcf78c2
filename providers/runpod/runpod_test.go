package runpod

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	sim "github.com/muster-run/muster/internal/cloudsim"
	simpod "github.com/muster-run/muster/internal/cloudsim/runpod"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/rental"
	"github.com/muster-run/muster/providers/rental/rentaltest"
)

// lab is a simulated RunPod with its rate limits: waiting moves its clock.
type lab struct {
	*rentaltest.Lab[*simpod.RunPod]
	*Client
	seen *[]string // the bodies of all requests, and their headers but for the key
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{seen: &[]string{}}
	l.Lab = rentaltest.New(t, "key account=me credit=100\nreader account=me scopes=read,graphql\nnarrow scopes=write\nmodern account=me scopes=read,write\nold expires=2026-01-01T00:00:00Z\nsoon expires=2026-11-23T10:00:00Z\npoor credit=0.30\n", simpod.New, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			*l.seen = append(*l.seen, q.URL.String()+" "+string(body))
			q.Body = io.NopCloser(strings.NewReader(string(body)))
			next.ServeHTTP(w, q)
		})
	})
	l.Client = l.client("key", settings{})
	return l
}

func (l *lab) client(key string, s settings) *Client {
	return New(Config{Access: rental.Access{Service: "RunPod", URL: l.URL + "/", Key: key, Now: l.Now, Sleep: l.Sleep}, settings: s})
}

// Two keys of an account are one, and those of two are not.
func TestAccount(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	mine, err := l.Account(t.Context())
	again, e2 := l.client("reader", settings{}).Account(t.Context())
	other, e3 := l.client("poor", settings{}).Account(t.Context())
	if errors.Join(err, e2, e3) != nil || mine.ID != "user_me" || !mine.Same(again) || mine.Key == again.Key || mine.Same(other) {
		t.Errorf("%+v %+v %+v %v", mine, again, other, errors.Join(err, e2, e3))
	}
	// A key that may not ask is that account's where it rented the machine itself.
	blind, err := l.client("modern", settings{}).Account(t.Context())
	if err != nil || blind.ID != "" || blind.Same(mine) || !blind.Same(offer.Account{ID: "user_me", Key: blind.Key}) {
		t.Errorf("%+v %v", blind, err)
	}
}

// An actual is a pod as it really is.
type actual struct {
	ID, Label, Status string
	Gone              bool
	USD               decimal.Decimal
}

func (l *lab) truth() []actual {
	l.Helper()
	var a struct{ Instances []actual }
	l.Truth(&a)
	return a.Instances
}

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKlSANGY5Md6KdTKIMBZaYkZxjlptn78DUqrj+js8i6Y muster"

var (
	order = rental.Order{Label: "muster-1", Disk: 40e9, Image: "runpod/pytorch", Key: key}
	r4090 = rental.Want{GPUs: 1, Models: []string{"RTX 4090"}, Disk: 40e9, Image: "runpod/pytorch"}
)

func (l *lab) offer(w rental.Want) rental.Offer {
	l.Helper()
	offers, err := l.Offers(l.Context(), w)
	if err != nil || len(offers) == 0 {
		l.Fatalf("%v %v", offers, err)
	}
	return offers[0]
}

func (l *lab) rent() string {
	l.Helper()
	id, err := l.Rent(l.Context(), l.offer(r4090), order)
	if err != nil {
		l.Fatal(err)
	}
	return id
}

func (l *lab) machine(id string) rental.Machine {
	l.Helper()
	all, err := l.Machines(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	for _, m := range all {
		if m.ID == id {
			return m
		}
	}
	return rental.Machine{}
}

func TestLife(t *testing.T) {
	// Requirement: E18
	t.Parallel()
	l := newLab(t)
	id := l.rent()
	is := func(status rental.Status, usd string, host bool) rental.Machine {
		t.Helper()
		m := l.machine(id)
		if m.Status != status || m.USDPerHour.StringFixed(4) != usd || (m.Host != "") != host || m.Label != "muster-1" || !m.Since.Equal(rentaltest.Start) {
			t.Errorf("%+v, not %s $%s", m, status, usd)
		}
		return m
	}
	is(rental.Booting, "0.6982", false)
	l.Clock.Advance(35 * time.Second)
	is(rental.Running, "0.6982", false) // no port yet
	l.Clock.Advance(5 * time.Second)
	if m := is(rental.Running, "0.6982", true); m.User != "root" || m.Port == 0 {
		t.Errorf("%+v", m)
	}
	port := l.machine(id).Port
	l.Clock.Advance(time.Hour - 40*time.Second)
	if err := l.Stop(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	is(rental.Stopped, "0.0110", false)
	l.Clock.Advance(time.Hour)
	if err := l.Start(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	l.Clock.Advance(time.Minute)
	if m := is(rental.Running, "0.6982", true); m.Port == port {
		t.Error("its port is as before")
	}
	if err := l.Release(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	l.Clock.Advance(time.Minute)
	if m := l.machine(id); m.ID != "" {
		t.Errorf("%+v", m)
	}
	if err := l.Release(t.Context(), id); err != nil {
		t.Errorf("release of what is gone: %v", err)
	}
	l.Clock.Advance((Platform{}).Facts().Terms.Settles)
	usd, err := l.Bill(t.Context(), id, rentaltest.Start, l.Now())
	if truth := l.truth()[0].USD; err != nil || !usd.Round(6).Equal(truth.Round(6)) {
		t.Errorf("%s, not %s, %v", usd, truth, err)
	}
	if usd, err := l.Bill(t.Context(), "none", rentaltest.Start, l.Now()); err != nil || !usd.IsZero() {
		t.Errorf("%s %v", usd, err)
	}
	if credit, err := l.Credit(t.Context()); err != nil || !credit.Add(usd).Round(6).Equal(decimal.NewFromInt(100)) {
		t.Errorf("%s left of 100 after %s: %v", credit, usd, err)
	}
}

// What a pod may be, and what that means.
func TestStates(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]rental.Status{
		"PROVISIONING": rental.Booting, "STARTING": rental.Booting, "RUNNING": rental.Running, "EXITED": rental.Stopped, "ERROR": rental.Broken, "SOMETHING": rental.Booting,
	} {
		if m := (&pod{Status: status}).machine(); m.Status != want || m.Host != "" {
			t.Errorf("%s: %+v", status, m)
		}
	}
}

// The key is in the header alone: no body, no query and no machine has it.
func TestTheKeyStaysHere(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Client = l.client("modern", settings{})
	id := l.rent()
	l.Clock.Advance(time.Minute)
	for _, err := range []error{rentaltest.Err(l.Machines(t.Context())), l.Stop(t.Context(), id), rentaltest.Err(l.Bill(t.Context(), id, rentaltest.Start, l.Now())), l.Release(t.Context(), id)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range *l.seen {
		if strings.Contains(q, "modern") {
			t.Errorf("the key is in %s", q)
		}
	}
	if !slices.ContainsFunc(*l.seen, func(q string) bool { return strings.Contains(q, `"PUBLIC_KEY":"`+key) }) {
		t.Error("the machine does not get the ssh key")
	}
}

func TestKeysThatMayNot(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for key, says := range map[string]string{"": "does not know this API key", "wrong": "does not know this API key", "old": "does not know this API key", "narrow": "may not read the catalogue"} {
		c := l.client(key, settings{})
		_, err := c.Offers(t.Context(), r4090)
		if rentaltest.Class(err) != providers.Auth || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", key, err)
		}
		if err != nil && key != "" && strings.Contains(err.Error(), key+" ") {
			t.Errorf("the key is in the message: %v", err)
		}
		if key == "narrow" {
			continue
		}
		for _, err := range []error{rentaltest.Err(c.Machines(t.Context())), rentaltest.Err(c.Bill(t.Context(), "1", rentaltest.Start, rentaltest.Start)), c.Release(t.Context(), "1"), rentaltest.Err(c.Credit(t.Context())), c.Start(t.Context(), "1")} {
			if rentaltest.Class(err) != providers.Auth {
				t.Errorf("%q: %v", key, err)
			}
		}
		var refused *rental.Refused
		if _, err := c.Rent(t.Context(), l.offer(r4090), order); !errors.As(err, &refused) {
			t.Errorf("%q: %v", key, err)
		}
	}
	reader := l.client("reader", settings{})
	for _, err := range []error{reader.Release(t.Context(), l.rent()), reader.Stop(t.Context(), l.rent())} {
		if rentaltest.Class(err) != providers.Auth || !strings.Contains(err.Error(), "may not") {
			t.Errorf("%v", err)
		}
	}
}

// What a create may answer, and whether there may be a machine.
func TestRentAnswers(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	lost := func(err error) bool {
		var r *rental.Refused
		return err != nil && !errors.Is(err, rental.ErrTaken) && !errors.Is(err, rental.ErrLater) && !errors.As(err, &r) && rentaltest.Class(err) == providers.Unreachable
	}
	for do, fits := range map[string]func(error) bool{
		"no_capacity": is(rental.ErrTaken), "no_pool": is(rental.ErrTaken), "too_often": is(rental.ErrLater), "lost": lost, "drop": lost, "failed": lost, "status": lost,
	} {
		o := l.offer(r4090)
		l.Fault(sim.Fault{On: "create", Do: do})
		if id, err := l.Rent(t.Context(), o, order); id != "" || !fits(err) {
			t.Errorf("%s: %q %v", do, id, err)
		}
	}
	if n := len(l.truth()); n != 2 { // lost and failed
		t.Errorf("%d pods", n)
	}
	var refused *rental.Refused
	nameless := order
	nameless.Label = ""
	if _, err := l.Rent(t.Context(), l.offer(r4090), nameless); !errors.As(err, &refused) || !strings.Contains(err.Error(), "Request validation failed. ($.name: minLength 1) (HTTP 422)") {
		t.Errorf("%v", err)
	}
	if _, err := l.client("poor", settings{}).Rent(t.Context(), l.offer(r4090), order); !errors.As(err, &refused) || rentaltest.Class(err) != providers.Quota {
		t.Errorf("%v", err)
	}
	if _, err := l.Rent(t.Context(), rental.Offer{ID: "41"}, order); !errors.As(err, &refused) {
		t.Errorf("%v", err)
	}
}

// What is no answer of the API is not taken for one.
func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	web := rentaltest.NewMute(t)
	c := New(Config{Access: rental.Access{Service: "RunPod", URL: web.URL, Key: "secret", Now: time.Now, Sleep: func(context.Context, time.Duration) error { return nil }}})
	candidate := rental.Offer{ID: idOf(secure, "EU-RO-1", "NVIDIA L4")}
	all := func() map[string]error {
		return map[string]error{
			"offers": rentaltest.Err(c.Offers(t.Context(), r4090)), "list": rentaltest.Err(c.Machines(t.Context())), "rent": rentaltest.Err(c.Rent(t.Context(), candidate, order)),
			"bill": rentaltest.Err(c.Bill(t.Context(), "1", rentaltest.Start, rentaltest.Start)), "credit": rentaltest.Err(c.Credit(t.Context())),
		}
	}
	web.Unreachable(t, all, `200 {}`, `201 {"success":false}`, "200 <html>", "200 ", "502 <html>", "500 ", `503 {"pods":[]}`)
	for web.Status, web.Body = range map[int]string{200: `{"errors":[{"message":"no"}],"data":null}`, 403: "", 404: "<html>", 410: ""} {
		if _, err := c.Credit(t.Context()); !errors.Is(err, rental.ErrNotTold) {
			t.Errorf("credit of %d %q: %v", web.Status, web.Body, err)
		}
	}
	web.Later(t, all, "slow down", `{"title":"Too Many Requests","status":429,"detail":"x"}`)
	web.Gone(t, all, "/v2/")
}

// Calls keep within the limits that each answer tells, and after a refusal wait as long
// as it says.
func TestPace(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for n := range 200 {
		if _, err := l.Machines(t.Context()); err != nil {
			t.Fatalf("call %d: %v", n, err)
		}
	}
	if d := l.Now().Sub(rentaltest.Start); d < 2*time.Minute || d > 5*time.Minute {
		t.Errorf("200 calls at 60 a minute take %s", d)
	}
	l.Fault(sim.Fault{On: "list", Do: "too_often"})
	before := l.Now()
	if _, err := l.Machines(t.Context()); err != nil || l.Now().Sub(before) < 5*time.Second {
		t.Errorf("%v after %s", err, l.Now().Sub(before))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Machines(ctx); err == nil {
		t.Error("a call that was canceled is answered")
	}
}

// A network volume ties pods to its data centre, and is no part of their disk.
func TestNetworkVolume(t *testing.T) {
	// Requirement: STO-02, STO-03
	t.Parallel()
	l := newLab(t)
	var v struct{ ID string }
	if err := l.call(t.Context(), http.MethodPost, "/v2/network-volumes", nil, map[string]any{"name": "data", "size": 50, "dataCenter": "US-TX-3"}, &v); err != nil {
		t.Fatal(err)
	}
	c := l.client("key", settings{Volume: v.ID})
	offers, err := c.Offers(t.Context(), r4090)
	if err != nil || len(offers) != 1 || offers[0].Place != "US-TX-3" || offers[0].USDPerHour.StringFixed(4) != "0.6955" || !offers[0].StoppedUSDPerHour.IsZero() {
		t.Fatalf("%+v %v", offers, err)
	}
	if _, err := c.Rent(t.Context(), offers[0], order); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(*l.seen, func(q string) bool {
		return strings.Contains(q, `"mounts":{"network":[{"path":"/workspace","volumeId":"`+v.ID+`"}]}`)
	}) {
		t.Error("the volume is not mounted")
	}
	if _, err := l.client("key", settings{Volume: "none"}).Offers(t.Context(), r4090); rentaltest.Class(err) != providers.Invalid || !strings.Contains(err.Error(), "no network volume none") {
		t.Errorf("%v", err)
	}
	if _, err := l.client("key", settings{Volume: v.ID, DataCenters: []string{"EU-RO-1"}}).Offers(t.Context(), r4090); rentaltest.Class(err) != providers.Invalid || !strings.Contains(err.Error(), "is in US-TX-3") {
		t.Errorf("%v", err)
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	for want, b := range map[string]providers.Backend{
		`cloud is "dark": secure or community`: {Config: json.RawMessage(`{"cloud":"dark"}`)},
		"network volumes are in secure":        {Config: json.RawMessage(`{"cloud":"community","network_volume":"v"}`)},
		"write a folder of /workspace":         {Workdir: "/root/work"},
		"cannot be read":                       {Config: json.RawMessage(`[]`)},
		"has no API key of RunPod":             {Workdir: "/workspace"},
	} {
		t.Setenv("RUNPOD_API_KEY", "")
		b.Name = "runpod.c"
		if _, err := (Platform{}).Open(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %s", err, want)
		}
	}
	t.Setenv("RUNPOD_API_KEY", "key")
	if c, err := (Platform{}).Open(providers.Backend{Name: "runpod.c", Workdir: "/workspace/a", Config: json.RawMessage(`{"cloud":"community"}`)}); err != nil || c.(*Client).Cloud != community {
		t.Errorf("%v %v", c, err)
	}
}

// TestKeyThatExpires: a key that worked, and is not taken any more, has a message of its
// own, which says that machines are billed on.
func TestKeyThatExpires(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	c := l.client("soon", settings{})
	if _, err := c.Machines(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.Clock.Advance(2 * time.Hour)
	_, err := c.Machines(t.Context())
	if text := fmt.Sprint(err); rentaltest.Class(err) != providers.Auth || !strings.Contains(text, "does not take this API key any more") || !strings.Contains(text, "billed on") || strings.Contains(text, "soon") {
		t.Error(err)
	}
}
