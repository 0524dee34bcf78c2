// Package vastai is a client of the Vast.ai API, as far as renting machines needs
// it, after the published documentation of August 2026. Its tests run against the
// simulator of that API; it has not met the live service.
package vastai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/rental"
)

// server is the live service.
const server = "https://console.vast.ai"

// A Client acts for the account of a key.
type Client struct {
	api  *rental.API
	pace *rental.Pace
}

var (
	_ rental.Cloud    = (*Client)(nil)
	_ rental.Biller   = (*Client)(nil)
	_ rental.Creditor = (*Client)(nil)
	_ rental.Stopper  = (*Client)(nil)
)

// New makes a client. It asks nothing.
func New(a rental.Access) *Client {
	return &Client{api: rental.NewAPI(a), pace: rental.NewPace(a)}
}

// apart is the least time between two calls of a kind; the documentation has it.
var apart = map[string]time.Duration{
	"search": 6 * time.Second, "create": 4500 * time.Millisecond, "list": time.Second, "destroy": 3 * time.Second, "charges": time.Second, "manage": time.Second, "user": time.Second, "keys": time.Second, "add key": time.Second,
}

// spare is added to apart: the clocks of both sides are not one.
const spare = 200 * time.Millisecond

// call makes a call and reads a JSON value.
func (c *Client) call(ctx context.Context, kind, method, path string, query url.Values, body, into any) error {
	once := func() error { return c.once(ctx, kind, method, path, query, body, into) }
	if method == http.MethodGet || kind == "search" {
		return c.api.Question(ctx, once)
	}
	return once()
}

func (c *Client) once(ctx context.Context, kind, method, path string, query url.Values, body, into any) error {
	if err := c.pace.Wait(ctx, map[string]time.Duration{kind: apart[kind] + spare}); err != nil {
		return err
	}
	r, err := c.api.Ask(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	if r.Status == http.StatusOK {
		return c.api.Read(r, into)
	}
	var a struct {
		Error, Msg string
		// NewContract is there where a refused bid left an instance.
		NewContract int `json:"new_contract"`
	}
	if json.Unmarshal(r.Body, &a) != nil {
		a.Msg = "" // plain text or a page
	}
	p, err := c.api.Problem(r, a.Error, a.Msg)
	switch {
	case p.Code == "auth_error":
		return c.api.UnknownKey(p.Status, "misspelt, has expired, or was deleted", "on the account's page of keys")
	case p.Code == "not_authorized":
		return providers.Errorf(providers.Auth, "The API key for Vast.ai lacks a scope: it needs instance_read, instance_write, misc, user_read, user_write and billing_read")
	case err != nil:
		return err
	case a.NewContract != 0:
		return &rental.Leftover{ID: strconv.Itoa(a.NewContract), Err: p}
	}
	return p
}

// A user is the account of a key.
type user struct {
	ID     int
	Credit *decimal.Decimal
}

func (c *Client) user(ctx context.Context) (u user, err error) {
	return u, c.call(ctx, "user", http.MethodGet, "/api/v0/users/current/", nil, nil, &u)
}

// Account is whose key it is.
func (c *Client) Account(ctx context.Context) (offer.Account, error) {
	return c.api.Account(func() (string, error) {
		u, err := c.user(ctx)
		if err == nil && u.ID == 0 {
			err = c.api.Unreachable(errors.New("an account without an id in it"))
		}
		return strconv.Itoa(u.ID), err
	})
}

// Credit is the account's balance, in dollars.
func (c *Client) Credit(ctx context.Context) (decimal.Decimal, error) {
	a, err := c.user(ctx)
	if err != nil {
		return decimal.Zero, err
	}
	if a.Credit == nil {
		return decimal.Zero, c.api.Unreachable(errors.New("an account without credit in it"))
	}
	return *a.Credit, nil
}

// AddKey lets the owner of a public ssh key into the machines that are rented from
// now on. A key that the account has is not added again.
func (c *Client) AddKey(ctx context.Context, public string) error {
	var keys []struct {
		Key    string `json:"key"`
		Public string `json:"public_key"`
	}
	if err := c.call(ctx, "keys", http.MethodGet, "/api/v0/ssh/", nil, nil, &keys); err != nil {
		return err
	}
	for _, k := range keys {
		if same(k.Key, public) || same(k.Public, public) {
			return nil
		}
	}
	var a struct{ Success bool }
	if err := c.call(ctx, "add key", http.MethodPost, "/api/v0/ssh/", nil, map[string]string{"ssh_key": public}, &a); err != nil {
		return err
	}
	if !a.Success {
		return c.api.Unreachable(errors.New("a new key that does not say success"))
	}
	return nil
}

// same reports whether two public keys are, whatever their comments.
func same(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	return len(x) > 1 && len(y) > 1 && x[0] == y[0] && x[1] == y[1]
}

// gb is a GB of the service, and mb a MB, bytes.
const (
	gb = 1e9
	mb = 1 << 20
)

// An ask is an offer as the service has it.
type ask struct {
	ID          int             `json:"id"`
	Machine     int             `json:"machine_id"`
	GPU         string          `json:"gpu_name"`
	GPUs        int             `json:"num_gpus"`
	GPUMB       int64           `json:"gpu_ram"`
	CUDA        float64         `json:"cuda_max_good"`
	USDPerHour  decimal.Decimal `json:"dph_total"`
	USDBase     decimal.Decimal `json:"dph_base"`
	MinBid      decimal.Decimal `json:"min_bid"`
	Reliability float64         `json:"reliability2"`
	Until       float64         `json:"end_date"`
	CPUs        float64         `json:"cpu_cores_effective"`
	RAMMB       int64           `json:"cpu_ram"`
	Storage     decimal.Decimal `json:"storage_cost"` // dollars a GB and month
	Up          decimal.Decimal `json:"inet_up_cost"` // dollars a GB
	Place       string          `json:"geolocation"`
}

// monthHours is how many hours a month of storage has.
const monthHours = 730

// offer is an ask as muster sees it.
func (o *ask) offer(w rental.Want) rental.Offer {
	price := o.USDPerHour
	if w.Spot {
		price = price.Sub(o.USDBase).Add(w.Bid)
	}
	return rental.Offer{ID: strconv.Itoa(o.ID), Machine: strconv.Itoa(o.Machine), GPU: o.GPU, GPUs: o.GPUs, GPUMemory: o.GPUMB * mb, CUDA: cuda(o.CUDA), USDPerHour: price, Reliability: o.Reliability, Until: when(o.Until),
		CPUs: int(o.CPUs), Memory: o.RAMMB * mb, Place: o.Place, USDPerGBOut: o.Up, StoppedUSDPerHour: o.Storage.Mul(decimal.NewFromInt(disk(w.Disk))).DivRound(decimal.NewFromInt(monthHours), 6)}
}

// Offers are those that fit, cheapest first. The price of a bid is the bid.
func (c *Client) Offers(ctx context.Context, w rental.Want) ([]rental.Offer, error) {
	type is map[string]any
	q := is{
		"num_gpus": is{"eq": w.GPUs}, "rentable": is{"eq": true}, "verified": is{"eq": true}, "external": is{"eq": false},
		"disk_space": is{"gte": disk(w.Disk)}, "allocated_storage": disk(w.Disk), "direct_port_count": is{"gte": 1},
		"type": "ondemand", "order": [][]string{{"dph_total", "asc"}, {"id", "asc"}}, "limit": 64,
	}
	if len(w.Models) > 0 {
		q["gpu_name"] = is{"in": w.Models}
	}
	if w.GPUMemory > 0 {
		q["gpu_ram"] = is{"gte": w.GPUMemory / mb}
	}
	if v, err := strconv.ParseFloat(w.CUDA, 64); err == nil {
		q["cuda_max_good"] = is{"gte": v}
	}
	if w.Reliability > 0 {
		q["reliability"] = is{"gte": w.Reliability}
	}
	if w.Lasts > 0 {
		q["duration"] = is{"gte": int64(w.Lasts.Seconds())}
	}
	if w.Spot {
		q["type"] = "bid"
		q["min_bid"] = is{"lte": w.Bid.InexactFloat64()}
	}
	var a struct{ Offers []ask }
	if err := c.call(ctx, "search", http.MethodPost, "/api/v0/bundles/", nil, q, &a); err != nil {
		return nil, err
	}
	if a.Offers == nil {
		return nil, c.api.Unreachable(errors.New("a search without a list in it"))
	}
	var out []rental.Offer
	for _, o := range a.Offers {
		out = append(out, o.offer(w))
	}
	slices.SortStableFunc(out, func(a, b rental.Offer) int { return a.USDPerHour.Cmp(b.USDPerHour) }) // the service orders bids by its own price
	return out, nil
}

// cuda is a version that the service has as a number; 0 is none.
func cuda(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// disk is a size as the service takes it: at least 8 GB.
func disk(bytes int64) int64 { return max(8, (bytes+gb-1)/gb) }

func when(seconds float64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(seconds * 1e6)).UTC()
}

// onstart runs at each start of a container. It keeps the instance's own key, which can stop
// and destroy that instance and nothing else, for the watcher that stops it when muster is
// off, also before muster reached it: variables of the container are not in ssh sessions.
var onstart = "touch ~/.no_auto_tmux; mkdir -p ~/.muster-fuse; umask 077; env | grep -E '^(CONTAINER_ID|CONTAINER_API_KEY|VAST_URL)=' | sed 's/^/export /' > ~/.muster-fuse/own; " +
	rental.BootFuse(Platform{}.StopItself())

// itself is a shell command by which an instance calls the service about itself.
func itself(method, body string) string {
	return ". ~/.muster-fuse/own; " + rental.SelfCall(method, "${VAST_URL:-"+server+"}/api/v0/instances/$CONTAINER_ID/", "Bearer $CONTAINER_API_KEY", body)
}

// StopItself stops the instance that runs it.
func (Platform) StopItself() string { return itself("PUT", `{"state":"stopped"}`) }

// ReleaseItself destroys the instance that runs it.
func (Platform) ReleaseItself() string { return itself("DELETE", "{}") }

// Start starts a stopped instance, if its GPU is free; otherwise the service starts it
// when it is.
func (c *Client) Start(ctx context.Context, id string) error { return c.manage(ctx, id, "running") }

// Stop stops an instance, and withdraws a start that waits for a GPU.
func (c *Client) Stop(ctx context.Context, id string) error { return c.manage(ctx, id, "stopped") }

func (c *Client) manage(ctx context.Context, id, state string) error {
	var a struct{ Success bool }
	err := c.call(ctx, "manage", http.MethodPut, "/api/v0/instances/"+url.PathEscape(id)+"/", nil, map[string]string{"state": state}, &a)
	if err == nil && !a.Success {
		return c.api.Unreachable(errors.New("a change of state that does not say success"))
	}
	return err
}

// Rent accepts an offer, and nothing else than it. Machines let in the keys that the
// account has before.
func (c *Client) Rent(ctx context.Context, o rental.Offer, r rental.Order) (string, error) {
	if r.Key != "" {
		if err := c.AddKey(ctx, r.Key); err != nil {
			return "", fmt.Errorf("%w: %w", rental.ErrLater, fmt.Errorf("add muster's ssh key to the account: %w", err))
		}
	}
	body := map[string]any{
		"client_id": "me", "image": r.Image, "disk": disk(r.Disk), "label": r.Label, "runtype": "ssh_direct", "cancel_unavail": true, "target_state": "running",
		"onstart": onstart,
	}
	if r.Bid.IsPositive() {
		body["price"] = r.Bid.InexactFloat64()
	}
	var a struct {
		Success     bool `json:"success"`
		NewContract int  `json:"new_contract"`
	}
	err := c.call(ctx, "create", http.MethodPut, "/api/v0/asks/"+url.PathEscape(o.ID)+"/", nil, body, &a)
	p := rental.ProblemOf(err)
	var left *rental.Leftover
	var known *providers.Error
	switch {
	case err == nil && a.Success && a.NewContract != 0:
		return strconv.Itoa(a.NewContract), nil
	case err == nil:
		return "", c.api.Unreachable(errors.New("an answer to a create without an instance in it"))
	case errors.Is(err, rental.ErrLater):
		return "", err
	case errors.As(err, &left):
		return "", err
	case p.Status == http.StatusNotFound, p.Status == http.StatusGone:
		return "", fmt.Errorf("%w: %w", rental.ErrTaken, err)
	case p.Status != 0, errors.As(err, &known) && known.Class == providers.Auth:
		return "", &rental.Refused{Err: err}
	}
	return "", err
}

// An instance is a machine as the service has it.
type instance struct {
	ID       int             `json:"id"`
	Label    *string         `json:"label"`
	Actual   *string         `json:"actual_status"`
	Intended string          `json:"intended_status"`
	Current  string          `json:"cur_state"`
	Next     string          `json:"next_state"`
	Msg      *string         `json:"status_msg"`
	Price    decimal.Decimal `json:"dph_total"`
	Start    float64         `json:"start_date"`
	Public   string          `json:"public_ipaddr"`
	Ports    json.RawMessage `json:"ports"`
}

// Machines are all instances. Only an answer that says success and has a list, on
// each page, is one: others were taken for "none", and machines rented again.
func (c *Client) Machines(ctx context.Context) ([]rental.Machine, error) {
	var out []rental.Machine
	for token := ""; ; {
		q := url.Values{"limit": {"25"}, "order_by": {`[{"col":"id","dir":"asc"}]`}}
		if token != "" {
			q.Set("after_token", token)
		}
		var a struct {
			Success   bool        `json:"success"`
			Instances *[]instance `json:"instances"`
			Next      *string     `json:"next_token"`
		}
		if err := c.call(ctx, "list", http.MethodGet, "/api/v1/instances/", q, nil, &a); err != nil {
			return nil, err
		}
		if !a.Success || a.Instances == nil {
			return nil, c.api.Unreachable(errors.New("a list that does not say that it is whole"))
		}
		for _, i := range *a.Instances {
			out = append(out, i.machine())
		}
		if a.Next == nil || *a.Next == "" {
			return out, nil
		}
		token = *a.Next
	}
}

// machine reads the four states of an instance.
func (i *instance) machine() rental.Machine {
	m := rental.Machine{ID: strconv.Itoa(i.ID), Label: text(i.Label), Status: rental.Booting, Why: text(i.Msg), USDPerHour: i.Price, Since: when(i.Start)}
	switch actual := text(i.Actual); {
	case i.Current == "stopped" && i.Next == "stopped":
		m.Status = rental.Stopped
		if i.Intended == "stopped" && m.Why == "" {
			m.Why = "stopped, or outbid"
		}
	case actual == "running":
		m.Status = rental.Running
	case actual == "exited", actual == "stopped":
		m.Status = rental.Stopped
	case actual == "created" && strings.Contains(m.Why, "OCI runtime create failed"):
		m.Status = rental.Broken
	case actual == "unknown", actual == "offline":
		m.Status = rental.Away
	}
	if port := i.sshPort(); m.Status == rental.Running && port != 0 {
		m.User, m.Host, m.Port = "root", strings.TrimSpace(i.Public), port
	}
	return m
}

// sshPort is where port 22 is mapped to, 0 where it is not.
func (i *instance) sshPort() int {
	var ports map[string][]struct{ HostPort string }
	if json.Unmarshal(i.Ports, &ports) != nil || len(ports["22/tcp"]) == 0 {
		return 0
	}
	n, err := strconv.Atoi(ports["22/tcp"][0].HostPort)
	if err != nil {
		return 0
	}
	return n
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Release destroys an instance. One that is gone is released.
func (c *Client) Release(ctx context.Context, id string) error {
	var a struct{ Success bool }
	err := c.call(ctx, "destroy", http.MethodDelete, "/api/v0/instances/"+url.PathEscape(id)+"/", nil, map[string]any{}, &a)
	switch {
	case rental.ProblemOf(err).Status == http.StatusNotFound:
		return nil
	case err == nil && !a.Success:
		return c.api.Unreachable(errors.New("a destroy that does not say success"))
	}
	return err
}

// Bill is the service's charge for an instance. It rounds each to 0.001 dollars.
func (c *Client) Bill(ctx context.Context, id string, from, to time.Time) (sum decimal.Decimal, err error) {
	filters, err := json.Marshal(map[string]any{"day": map[string]any{"gte": from.Add(-24 * time.Hour).Unix(), "lte": to.Add(24 * time.Hour).Unix()}, "type": map[string]any{"in": []string{"instance"}}})
	if err != nil {
		return sum, err
	}
	for token := ""; ; {
		q := url.Values{"select_filters": {string(filters)}, "limit": {"500"}}
		if token != "" {
			q.Set("after_token", token)
		}
		var a struct {
			Success bool `json:"success"`
			Results *[]struct {
				Source string          `json:"source"`
				Amount decimal.Decimal `json:"amount"`
			} `json:"results"`
			Next *string `json:"next_token"`
		}
		if err := c.call(ctx, "charges", http.MethodGet, "/api/v0/charges/", q, nil, &a); err != nil {
			return sum, err
		}
		if !a.Success || a.Results == nil {
			return sum, c.api.Unreachable(errors.New("charges that do not say that they are whole"))
		}
		for _, r := range *a.Results {
			if r.Source == "instance-"+id {
				sum = sum.Add(r.Amount)
			}
		}
		if a.Next == nil || *a.Next == "" {
			return sum, nil
		}
		token = *a.Next
	}
}
