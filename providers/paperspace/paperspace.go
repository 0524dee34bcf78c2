// Package paperspace is a client of the API of Paperspace, as far as renting machines
// needs it, after the types of the vendor's own client of February 2026. Its tests run
// against the simulator of that API; it has not met the live service.
package paperspace

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/rental"
)

// A Client acts for the team of a key.
type Client struct {
	api      *rental.API
	pace     *rental.Pace
	now      func() time.Time
	timer    time.Duration
	template string

	mu   sync.Mutex
	whys map[string]string // why machines are off, by id and time of change
}

var (
	_ rental.Cloud   = (*Client)(nil)
	_ rental.Stopper = (*Client)(nil)
)

// Config is the configuration of a Client.
type Config struct {
	rental.Access
	Timer    time.Duration // after which the service stops a machine; 0 = never
	Template string        // id; "" = one that fits
}

// New makes a client. It asks nothing.
func New(c Config) *Client {
	return &Client{now: c.Now, timer: c.Timer, template: c.Template, api: rental.NewAPI(c.Access), pace: rental.NewPace(c.Access), whys: map[string]string{}}
}

// Account is the team of the key.
func (c *Client) Account(ctx context.Context) (offer.Account, error) {
	return c.api.Account(func() (string, error) {
		var a struct{ Team struct{ ID string } }
		err := c.get(ctx, "/auth/session", nil, &a)
		if err == nil && a.Team.ID == "" {
			err = c.api.Unreachable(errors.New("a session without a team in it"))
		}
		return a.Team.ID, err
	})
}

// Between two calls, and after one that came too often. The limits are not published;
// a client in production waits ten seconds.
const (
	apart = 600 * time.Millisecond
	after = 10 * time.Second
)

// get asks a question.
func (c *Client) get(ctx context.Context, path string, q url.Values, into any) error {
	return c.api.Question(ctx, func() error { return c.call(ctx, http.MethodGet, path, q, nil, into) })
}

// call makes a call and reads a JSON value.
func (c *Client) call(ctx context.Context, method, path string, q url.Values, body, into any) error {
	if err := c.pace.Wait(ctx, map[string]time.Duration{"": apart}); err != nil {
		return err
	}
	r, err := c.api.Ask(ctx, method, path, q, body)
	if err != nil {
		return err
	}
	if r.Status == http.StatusOK {
		return c.api.Read(r, into)
	}
	var a struct{ Code, Message string }
	if json.Unmarshal(r.Body, &a) != nil {
		a.Message = "" // a page of the gateway
	}
	p, err := c.api.Problem(r, a.Code, a.Message)
	switch {
	case errors.Is(err, rental.ErrLater), p.Code == "TOO_MANY_REQUESTS":
		c.pace.Refused("", r, after)
		return fmt.Errorf("%w: %w", rental.ErrLater, p)
	case err != nil:
		return err
	case p.Code == "", p.Code == "TIMEOUT":
		return c.api.Unreachable(fmt.Errorf("%s (HTTP %d)", http.StatusText(r.Status), r.Status))
	case p.Code == "UNAUTHORIZED":
		return c.api.UnknownKey(r.Status, "misspelt, was deleted, or is one of the API that was retired in 2024", "in the team's settings")
	case p.Code == "FORBIDDEN":
		return &providers.Error{Class: providers.Auth, Summary: "Paperspace does not let this team do that: " + cmp.Or(p.Message, "forbidden"), Hint: "New teams ask support to unlock GPU types; a key acts for the team it was made in."}
	}
	return p
}

// rows are all items of a list. A page that says that there is more, and not where, is
// an error: the rest would be taken for gone.
func rows[T any](ctx context.Context, c *Client, path string, q url.Values) (out []T, err error) {
	q = url.Values{"limit": {"120"}, "machineId": q["machineId"]}
	for {
		var a struct {
			Items   *[]T    `json:"items"`
			HasMore bool    `json:"hasMore"`
			Next    *string `json:"nextPage"`
		}
		if err := c.get(ctx, path, q, &a); err != nil {
			return nil, err
		}
		switch {
		case a.Items == nil, a.HasMore && (a.Next == nil || *a.Next == "" || *a.Next == q.Get("after")):
			return nil, c.api.Unreachable(errors.New("a list that is not whole"))
		case !a.HasMore:
			return append(out, *a.Items...), nil
		}
		out = append(out, *a.Items...)
		q.Set("after", *a.Next)
	}
}

// mostOffers are as many as are looked for: each costs a call.
const mostOffers = 6

// Offers are types with capacity in a region, cheapest first, with the prices of a
// public page.
func (c *Client) Offers(ctx context.Context, w rental.Want) ([]rental.Offer, error) {
	size := disk(w.Disk)
	if size == 0 {
		return nil, providers.Errorf(providers.Invalid, "Paperspace has no disk of %s: 2TB is the largest", units.FormatSize(w.Disk))
	}
	var out []rental.Offer
	known := false
	for _, k := range slices.SortedStableFunc(slices.Values(kinds), func(a, b kind) int { return price(a, size).Cmp(price(b, size)) }) {
		if k.gpus != w.GPUs || !w.Allows(k.gpu) {
			continue
		}
		known = true
		if w.MostUSDPerHour.IsPositive() && price(k, size).GreaterThan(w.MostUSDPerHour) {
			continue
		}
		for _, region := range k.regions() {
			if len(out) == mostOffers {
				return out, nil
			}
			there, err := c.available(ctx, k.label, region)
			if err != nil {
				return nil, err
			}
			if there {
				out = append(out, c.offer(k, region, size))
			}
		}
	}
	if !known {
		return nil, providers.Errorf(providers.Invalid, "Paperspace has no machine with %s %s", units.Count(w.GPUs, "GPU"), strings.Join(w.Models, " or "))
	}
	return out, nil
}

// price is that of a type's hour, with its disk and address.
func price(k kind, size int64) decimal.Decimal {
	return decimal.RequireFromString(k.hourly).Add(diskHourly(size)).Add(addressHourly)
}

func (c *Client) offer(k kind, region string, size int64) rental.Offer {
	o := rental.Offer{ID: k.label + "/" + region, GPU: k.gpu, GPUs: k.gpus, GPUMemory: k.memory, USDPerHour: price(k, size), Place: region, StoppedUSDPerHour: diskHourly(size).Add(addressHourly)}
	if c.timer > 0 {
		o.Until = c.now().Add(c.timer + time.Minute) // so that a job of as many hours fits
	}
	return o
}

// available reports whether a type can be had in a region. A combination that is not
// sold is an error of the service, and cannot.
func (c *Client) available(ctx context.Context, label, region string) (bool, error) {
	var a struct {
		Available *bool `json:"available"`
	}
	err := c.get(ctx, "/machine-availability", url.Values{"machineType": {label}, "region": {region}}, &a)
	switch {
	case rental.ProblemOf(err).Code == "BAD_REQUEST":
		return false, nil
	case err == nil && a.Available == nil:
		return false, c.api.Unreachable(errors.New("an availability answer that does not name it"))
	}
	return err == nil && *a.Available, err
}

// template is the id of one that is for a machine type.
func (c *Client) templateFor(ctx context.Context, label string) (string, error) {
	if c.template != "" {
		return c.template, nil
	}
	type template struct {
		ID    string `json:"id"`
		Name  string `json:"name"`
		Agent string `json:"agentType"`
		OS    string `json:"operatingSystemLabel"`
		Types []struct {
			Label     string `json:"machineTypeLabel"`
			Available bool   `json:"isAvailable"`
		} `json:"availableMachineTypes"`
	}
	all, err := rows[template](ctx, c, "/os-templates", nil)
	if err != nil {
		return "", err
	}
	best, rank := "", 0
	for _, t := range all {
		fits := strings.HasPrefix(t.Agent, "Linux") && strings.Contains(t.OS, "Ubuntu")
		for _, k := range t.Types {
			points := 1
			if strings.Contains(t.Name, "ML-in-a-Box") {
				points = 2
			}
			if fits && k.Label == label && k.Available && points > rank {
				best, rank = t.ID, points
			}
		}
	}
	if best == "" {
		return "", &rental.Refused{Err: providers.Errorf(providers.Invalid, "Paperspace has no Ubuntu template for %s: name one with template", label)}
	}
	return best, nil
}

// script is the id of the startup script that lets the owner of a public key in, made
// if the team has none. Its name follows from the key.
func (c *Client) script(ctx context.Context, public string) (string, error) {
	sum := sha256.Sum256([]byte(public))
	name := "muster-" + hex.EncodeToString(sum[:8])
	type script struct{ ID, Name string }
	all, err := rows[script](ctx, c, "/startup-scripts", nil)
	if err != nil {
		return "", err
	}
	for _, s := range all {
		if s.Name == name {
			return s.ID, nil
		}
	}
	const home = "/home/paperspace"
	text := "#!/bin/bash\nmkdir -p " + home + "/.ssh\necho " + shell.Quote(public) + " >> " + home + "/.ssh/authorized_keys\nchmod 700 " + home + "/.ssh\nchmod 600 " + home + "/.ssh/authorized_keys\nchown -R --reference=" + home + " " + home + "/.ssh\n"
	var made script
	if err := c.call(ctx, http.MethodPost, "/startup-scripts", nil, map[string]any{"name": name, "script": text, "isRunOnce": true}, &made); err != nil {
		return "", err
	}
	if made.ID == "" {
		return "", c.api.Unreachable(errors.New("a startup script without an id"))
	}
	return made.ID, nil
}

// Rent creates a machine of an offer's type in its region.
func (c *Client) Rent(ctx context.Context, o rental.Offer, r rental.Order) (string, error) {
	label, region, _ := strings.Cut(o.ID, "/")
	template, err := c.templateFor(ctx, label)
	script := ""
	if err == nil {
		script, err = c.script(ctx, r.Key)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", rental.ErrLater, fmt.Errorf("prepare a machine: %w", err)) // nothing was ordered
	}
	body := map[string]any{
		"name": r.Label, "machineType": label, "templateId": template, "region": region, "diskSize": disk(r.Disk), "publicIpType": "dynamic", "startOnCreate": true,
		"startupScriptId": script, "emailPassword": false, "takeInitialSnapshot": false, "autoSnapshotEnabled": false, "autoShutdownEnabled": c.timer > 0,
	}
	if c.timer > 0 {
		body["autoShutdownTimeout"], body["autoShutdownForce"] = int(c.timer.Hours()), true
	}
	var a struct {
		Data  machine `json:"data"`
		Event event   `json:"event"`
	}
	err = c.call(ctx, http.MethodPost, "/machines", nil, body, &a)
	var known *providers.Error
	switch {
	case err == nil && a.Data.ID == "":
		return "", c.api.Unreachable(errors.New("an answer to a create without a machine in it"))
	case err == nil && a.Event.failed():
		return "", &rental.Leftover{ID: a.Data.ID, Err: errors.New("Paperspace: " + a.Event.why())}
	case err == nil:
		return a.Data.ID, nil
	case errors.Is(err, rental.ErrLater):
		return "", err
	case rental.ProblemOf(err).Status != 0:
		if there, asked := c.available(ctx, label, region); asked == nil && !there {
			return "", fmt.Errorf("%w: %w", rental.ErrTaken, err)
		}
		return "", &rental.Refused{Err: err}
	case errors.As(err, &known) && known.Class == providers.Auth:
		return "", &rental.Refused{Err: err}
	}
	return "", err
}

// An event is something that was done to a machine, and why it failed.
type event struct {
	Name    string    `json:"name"`
	State   string    `json:"state"`
	Error   *string   `json:"error"`
	Created time.Time `json:"dtCreated"`
}

func (e *event) failed() bool { return e.State == "error" || e.State == "cancelled" }

func (e *event) why() string {
	if e.Error != nil && *e.Error != "" {
		return e.Name + ": " + *e.Error
	}
	return e.Name + " failed"
}

// A machine is one as the service has it.
type machine struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	State    string          `json:"state"`
	IP       *string         `json:"publicIp"`
	Usage    decimal.Decimal `json:"usageRate"`   // USD an hour
	Storage  decimal.Decimal `json:"storageRate"` // USD a month
	Created  time.Time       `json:"dtCreated"`
	Modified string          `json:"dtModified"`
	Deleted  *string         `json:"dtDeleted"`
}

// Machines are all machines that there are.
func (c *Client) Machines(ctx context.Context) ([]rental.Machine, error) {
	all, err := rows[machine](ctx, c, "/machines", nil)
	if err != nil {
		return nil, err
	}
	var out []rental.Machine
	for _, m := range all {
		if m.Deleted != nil && *m.Deleted != "" {
			continue
		}
		r := m.rental()
		if r.Status == rental.Stopped && strings.HasPrefix(m.Name, "muster-") {
			r.Why = c.why(ctx, m)
		}
		out = append(out, r)
	}
	return out, nil
}

func (m *machine) rental() rental.Machine {
	r := rental.Machine{ID: m.ID, Label: m.Name, Status: rental.Booting, USDPerHour: m.Usage.Add(m.Storage.DivRound(hoursOfMonth, 6)).Add(addressHourly), Since: m.Created}
	switch m.State {
	case "ready":
		r.Status = rental.Running
	case "off", "stopping":
		r.Status = rental.Stopped
	case "provisioning", "starting", "serviceready", "restarting", "upgrading":
	default:
		r.Status, r.Why = rental.Away, m.State
	}
	if r.Status == rental.Running && m.IP != nil && *m.IP != "" {
		r.User, r.Host, r.Port = "paperspace", *m.IP, 22
	}
	return r
}

// why is the reason in the last event of a machine that is off, asked once; ""
// without an answer: the machine is off all the same.
func (c *Client) why(ctx context.Context, m machine) string {
	key := m.ID + " " + m.Modified
	c.mu.Lock()
	why, known := c.whys[key]
	c.mu.Unlock()
	if known {
		return why
	}
	all, err := rows[event](ctx, c, "/machine-events", url.Values{"machineId": {m.ID}})
	if err != nil {
		return ""
	}
	if len(all) > 0 {
		if last := slices.MaxFunc(all, func(a, b event) int { return a.Created.Compare(b.Created) }); last.failed() {
			why = last.why()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.whys[key] = why
	return why
}

// Release deletes a machine and its disk. One that is gone is released.
func (c *Client) Release(ctx context.Context, id string) error {
	err := c.change(ctx, http.MethodDelete, id, "")
	if rental.ProblemOf(err).Code == "NOT_FOUND" {
		return nil
	}
	return err
}

// Stop stops a machine: its disk is billed on.
func (c *Client) Stop(ctx context.Context, id string) error {
	return c.change(ctx, http.MethodPatch, id, "/stop")
}

// Start starts a stopped machine, at another address, if there is capacity.
func (c *Client) Start(ctx context.Context, id string) error {
	return c.change(ctx, http.MethodPatch, id, "/start")
}

// change asks for a change of a machine. One that is on its way is no error. A JSON
// content type without a body is refused.
func (c *Client) change(ctx context.Context, method, id, verb string) error {
	var a struct{ Data *machine }
	err := c.call(ctx, method, "/machines/"+url.PathEscape(id)+verb, nil, map[string]any{}, &a)
	switch {
	case strings.Contains(rental.ProblemOf(err).Message, "This machine is currently"):
		return nil
	case err == nil && a.Data == nil:
		return c.api.Unreachable(errors.New("an answer to a change without the machine in it"))
	}
	return err
}
