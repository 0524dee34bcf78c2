// Package runpod is a client of the RunPod API, version 2, as far as renting machines
// needs it, after the published documentation of August 2026. Its tests run against the
// simulator of that API; it has not met the live service.
package runpod

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/rental"
)

// The two clouds.
const (
	secure    = "SECURE"
	community = "COMMUNITY"
)

// server is the live service.
const server = "https://api.runpod.io"

// A Client acts for the account of a key.
type Client struct {
	api *rental.API
	settings
	pace pace
}

var (
	_ rental.Cloud    = (*Client)(nil)
	_ rental.Biller   = (*Client)(nil)
	_ rental.Creditor = (*Client)(nil)
	_ rental.Stopper  = (*Client)(nil)
)

// Config is the configuration of a Client.
type Config struct {
	rental.Access
	settings
}

// New makes a client. It asks nothing.
func New(c Config) *Client {
	c.Cloud = cmp.Or(c.Cloud, secure)
	return &Client{api: rental.NewAPI(c.Access), settings: c.settings, pace: pace{now: c.Now, sleep: c.Sleep}}
}

// graphql is the path of RunPod's older interface. muster only reads there.
const graphql = "/graphql"

// call makes a call and reads a JSON value; into nil wants none.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, body, into any) error {
	once := func() error { return c.once(ctx, method, path, query, body, into) }
	if method == http.MethodGet || path == graphql {
		return c.api.Question(ctx, once)
	}
	return once()
}

func (c *Client) once(ctx context.Context, method, path string, query url.Values, body, into any) error {
	if err := c.pace.wait(ctx); err != nil {
		return err
	}
	r, err := c.api.Ask(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	c.pace.heard(r)
	switch {
	case r.Status >= 200 && r.Status < 300 && into == nil:
		return nil
	case r.Status >= 200 && r.Status < 300:
		return c.api.Read(r, into)
	}
	var a struct {
		Detail string
		Errors []string
	}
	if json.Unmarshal(r.Body, &a) != nil {
		a.Detail, a.Errors = "", nil // plain text or a page
	}
	if len(a.Errors) > 0 {
		a.Detail = cmp.Or(a.Detail, http.StatusText(r.Status)) + " (" + strings.Join(a.Errors, "; ") + ")"
	}
	p, err := c.api.Problem(r, "", a.Detail) // there are no codes for programs: the status decides
	switch {
	case p.Status == http.StatusUnauthorized:
		return c.api.UnknownKey(p.Status, "misspelt, has expired, or was deleted", "in the console's settings")
	case err != nil:
		return err
	}
	return p
}

// lacks says that a key may not do something.
func lacks(what string) error {
	return &providers.Error{Class: providers.Auth, Summary: "The API key for RunPod may not " + what + " (HTTP 403)", Hint: "Give it read and write permission for the REST API in the console's settings."}
}

// forbidden makes a 403 an error of class auth.
func forbidden(err error, what string) error {
	if rental.ProblemOf(err).Status == http.StatusForbidden {
		return lacks(what)
	}
	return err
}

// hoursOfMonth turn a price by the month into one by the hour.
var hoursOfMonth = decimal.NewFromInt(730)

// Prices of disks, dollars a GB and month (pricing page, August 2026). The API has none.
var (
	diskPrice    = decimal.RequireFromString("0.10") // of the container, and of a pod that runs
	stoppedPrice = decimal.RequireFromString("0.20") // of a stopped pod's storage
)

// containerGB is the disk of a pod beside Kept, GB.
const containerGB = 20

const gb = 1e9

// disks are the sizes of a pod's own two disks, GB; kept is 0 with a network volume.
func (c *Client) disks(bytes int64) (container, kept int64) {
	size := (bytes + gb - 1) / gb
	if c.Volume != "" {
		return size, 0
	}
	return containerGB, max(10, size) // the least that the service makes
}

func hourly(gigabytes int64, month decimal.Decimal) decimal.Decimal {
	return month.Mul(decimal.NewFromInt(gigabytes)).DivRound(hoursOfMonth, 6)
}

// Rent asks for an offer's GPU at an offer's place, and for nothing else.
func (c *Client) Rent(ctx context.Context, o rental.Offer, r rental.Order) (string, error) {
	cloud, place, gpu, ok := readID(o.ID)
	if !ok {
		return "", &rental.Refused{Err: fmt.Errorf("offer %q is not RunPod's", o.ID)}
	}
	container, kept := c.disks(r.Disk)
	is := func(pairs ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	device := is("id", gpu, "count", o.GPUs)
	if o.CUDA != "" {
		device["minCudaVersion"] = version(o.CUDA)
	}
	mounts := is("persistent", is("size", kept, "path", Kept))
	if c.Volume != "" {
		mounts = is("network", []any{is("volumeId", c.Volume, "path", Kept)})
	}
	body := is("name", r.Label, "image", r.Image, "cloud", cloud, "gpu", device, "disk", container, "mounts", mounts,
		"ports", []string{"22/tcp"}, "env", is("PUBLIC_KEY", r.Key), "args", "bash -c "+shell.Quote(begin))
	if place != "" {
		body["dataCenterIds"] = []string{place}
	}
	var a struct{ ID string }
	err := c.call(ctx, http.MethodPost, "/v2/pods", nil, body, &a)
	switch {
	case err == nil && a.ID == "":
		return "", c.api.Unreachable(errors.New("a new pod without an id"))
	case err == nil:
		return a.ID, nil
	}
	return "", notRented(err)
}

// notRented says what the error of a create means. A 400 is a rule that was broken, or
// a GPU that could not be placed: only the text tells which.
func notRented(err error) error {
	var known *providers.Error
	switch {
	case errors.Is(err, rental.ErrLater):
		return err
	case rental.ProblemOf(err).Status == http.StatusBadRequest:
		return fmt.Errorf("%w: %w", rental.ErrTaken, err)
	case rental.ProblemOf(err).Status == http.StatusForbidden:
		return fmt.Errorf("%w: the API key may not create pods, or the account may not use this GPU: %w", rental.ErrTaken, err)
	case rental.ProblemOf(err).Status == http.StatusPaymentRequired:
		return &rental.Refused{Err: &providers.Error{Class: providers.Quota, Summary: "RunPod rents nothing to this account: " + err.Error(), Hint: "Add credit: an hour of the machine at least must be there."}}
	case rental.ProblemOf(err).Status != 0, errors.As(err, &known) && known.Class == providers.Auth:
		return &rental.Refused{Err: err}
	}
	return err
}

// begin is the command of a container. It keeps the pod's own key, which is for that
// pod alone, for the watcher that stops it when muster is off: variables of the
// container are not in ssh sessions. Images of RunPod start their ssh server; in others
// it is begun here.
var begin = `mkdir -p ~/.muster-fuse ~/.ssh; (umask 077; env | grep -E "^RUNPOD_(POD_ID|API_KEY|API_URL)=" | sed "s/^/export /" > ~/.muster-fuse/own; printf "%s\n" "$PUBLIC_KEY" > ~/.ssh/authorized_keys)
` + rental.BootFuse(Platform{}.StopItself()) + `
[ -x /start.sh ] && exec /start.sh
[ -x /usr/sbin/sshd ] || { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y openssh-server; }
mkdir -p /run/sshd; ssh-keygen -A; /usr/sbin/sshd; exec sleep infinity`

// itself is a shell command by which a pod makes a call about itself.
func itself(method, path, body string) string {
	return ". ~/.muster-fuse/own; " + rental.SelfCall(method, "${RUNPOD_API_URL:-"+server+"}/v2/pods/$RUNPOD_POD_ID"+path, "Bearer $RUNPOD_API_KEY", body)
}

// ProveItself shows the pod that runs it.
func (Platform) ProveItself() string { return itself(http.MethodGet, "", "") }

// StopItself stops the pod that runs it.
func (Platform) StopItself() string { return itself(http.MethodPost, "/action", `{"action":"stop"}`) }

// ReleaseItself terminates the pod that runs it.
func (Platform) ReleaseItself() string {
	return itself(http.MethodPost, "/action", `{"action":"terminate"}`)
}

// Start starts a stopped pod. It may come back without its GPUs.
func (c *Client) Start(ctx context.Context, id string) error { return c.act(ctx, id, "start") }

// Stop stops a pod: its container's disk is wiped, and Kept stays.
func (c *Client) Stop(ctx context.Context, id string) error { return c.act(ctx, id, "stop") }

func (c *Client) act(ctx context.Context, id, action string) error {
	err := c.call(ctx, http.MethodPost, "/v2/pods/"+url.PathEscape(id)+"/action", nil, map[string]string{"action": action}, nil)
	return forbidden(err, action+" pods")
}

// A pod is a machine as the service has it.
type pod struct {
	ID     string
	Name   string
	Status string
	Cost   decimal.Decimal // dollars an hour, 0 when stopped
	Disk   int64
	Mounts struct {
		Persistent *struct{ Size int64 }
	}
	SSH struct {
		Direct *struct {
			Host, Username string
			Port           int
		}
	}
	CreatedAt time.Time
}

// Machines are all pods. Only an answer with a list is one.
func (c *Client) Machines(ctx context.Context) ([]rental.Machine, error) {
	var a struct{ Pods *[]pod }
	if err := c.call(ctx, http.MethodGet, "/v2/pods", nil, nil, &a); err != nil {
		return nil, forbidden(err, "list pods")
	}
	if a.Pods == nil {
		return nil, c.api.Unreachable(errors.New("a list of pods without pods in it"))
	}
	var out []rental.Machine
	for _, p := range *a.Pods {
		if p.Status != "TERMINATED" { // nothing is left of it
			out = append(out, p.machine())
		}
	}
	slices.SortStableFunc(out, func(a, b rental.Machine) int { return a.Since.Compare(b.Since) }) // of two with one name the first is ours
	return out, nil
}

// machine reads a pod. Its cost is without its disks.
func (p *pod) machine() rental.Machine {
	m := rental.Machine{ID: p.ID, Label: p.Name, Status: rental.Booting, USDPerHour: p.Cost.Add(hourly(p.Disk, diskPrice)), Since: p.CreatedAt}
	kept := int64(0)
	if p.Mounts.Persistent != nil {
		kept = p.Mounts.Persistent.Size
	}
	m.USDPerHour = m.USDPerHour.Add(hourly(kept, diskPrice))
	switch p.Status {
	case "RUNNING":
		m.Status = rental.Running
	case "EXITED":
		m.Status, m.Why, m.USDPerHour = rental.Stopped, "stopped, or its container ended", hourly(kept, stoppedPrice)
	case "ERROR":
		m.Status, m.Why = rental.Broken, "RunPod calls it an unrecoverable error"
	}
	if d := p.SSH.Direct; m.Status == rental.Running && d != nil {
		m.User, m.Host, m.Port = cmp.Or(d.Username, "root"), d.Host, d.Port
	}
	return m
}

// Release terminates a pod. One that is gone is released.
func (c *Client) Release(ctx context.Context, id string) error {
	err := c.call(ctx, http.MethodDelete, "/v2/pods/"+url.PathEscape(id), nil, nil, nil)
	if rental.ProblemOf(err).Status == http.StatusNotFound {
		return nil
	}
	return forbidden(err, "terminate pods")
}

// day is asked for before and after a bill: the clocks of both sides may differ.
const day = 24 * time.Hour

// Bill is the service's charge for a pod, by its records of each hour.
func (c *Client) Bill(ctx context.Context, id string, from, to time.Time) (sum decimal.Decimal, err error) {
	var a struct {
		Records *[]struct {
			PodID       string
			TotalAmount decimal.Decimal
		}
	}
	q := url.Values{"podId": {id}, "bucketSize": {"hour"}, "startTime": {from.Add(-day).UTC().Format(time.RFC3339)}, "endTime": {to.Add(day).UTC().Format(time.RFC3339)}}
	if err := c.call(ctx, http.MethodGet, "/v2/billing/pods", q, nil, &a); err != nil {
		return sum, forbidden(err, "read bills")
	}
	if a.Records == nil {
		return sum, c.api.Unreachable(errors.New("a bill without records in it"))
	}
	for _, r := range *a.Records {
		if r.PodID == id {
			sum = sum.Add(r.TotalAmount)
		}
	}
	return sum, nil
}

// A myself is the account of a key.
type myself struct {
	ID            string
	ClientBalance *decimal.Decimal
}

// myself asks for a field of the account. Only the older interface tells it, which the
// service ends in 2027, and a key may lack the permission for it: ErrNotTold.
func (c *Client) myself(ctx context.Context, field string) (m myself, err error) {
	var a struct {
		Data   struct{ Myself myself }
		Errors []struct{ Message string }
	}
	err = c.call(ctx, http.MethodPost, graphql, nil, map[string]string{"query": "query { myself { " + field + " } }"}, &a)
	if rental.ProblemOf(err).Status != 0 || err == nil && len(a.Errors) > 0 {
		err = errors.Join(rental.ErrNotTold, err)
	}
	return a.Data.Myself, err
}

// Account is whose key it is, without an id where the service does not tell this key.
func (c *Client) Account(ctx context.Context) (offer.Account, error) {
	return c.api.Account(func() (string, error) {
		m, err := c.myself(ctx, "id")
		if errors.Is(err, rental.ErrNotTold) {
			err = nil
		}
		return m.ID, err
	})
}

// Credit is the account's balance, in dollars.
func (c *Client) Credit(ctx context.Context) (decimal.Decimal, error) {
	m, err := c.myself(ctx, "clientBalance")
	switch {
	case err != nil:
		return decimal.Zero, err
	case m.ClientBalance == nil:
		return decimal.Zero, c.api.Unreachable(errors.New("an account without a balance in it"))
	}
	return *m.ClientBalance, nil
}
