// Package lambda is a client of the API of Lambda Cloud, as far as renting machines
// needs it, after its OpenAPI document 1.6.0 of April 2025; it accepts the additions
// of newer ones. Its tests run against the simulator of that API; it has not met the
// live service.
package lambda

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/rental"
)

// A Client acts for the account of a key.
type Client struct {
	api  *rental.API
	pace *rental.Pace
}

var _ rental.Cloud = (*Client)(nil)

// New makes a client. It asks nothing.
func New(a rental.Access) *Client {
	return &Client{api: rental.NewAPI(a), pace: rental.NewPace(a)}
}

// Account is whose key it is. No call of the API names the account: two keys are one
// account only where both see a machine.
func (c *Client) Account(context.Context) (offer.Account, error) {
	return c.api.Account(func() (string, error) { return "", nil })
}

// The least time between two calls, and between two launches; the documentation has
// 1 s and 12 s. The clocks of both sides are not one.
const (
	apart       = 1200 * time.Millisecond
	launchApart = 12500 * time.Millisecond
)

// get asks a question.
func (c *Client) get(ctx context.Context, path string, into any) error {
	return c.api.Question(ctx, func() error { return c.call(ctx, http.MethodGet, path, nil, into) })
}

// call makes a call, and reads the data of its answer, which must have some.
func (c *Client) call(ctx context.Context, method, path string, body, into any) error {
	kinds := map[string]time.Duration{"": apart}
	if path == launchPath {
		kinds["launch"] = launchApart
	}
	if err := c.pace.Wait(ctx, kinds); err != nil {
		return err
	}
	r, err := c.api.Ask(ctx, method, path, nil, body)
	if err != nil {
		return err
	}
	if r.Status != http.StatusOK {
		return c.meaning(r)
	}
	var a struct{ Data json.RawMessage }
	if err := c.api.Read(r, &a); err != nil {
		return err
	}
	if len(a.Data) == 0 || string(a.Data) == "null" {
		return c.api.Unreachable(errors.New("an answer without data"))
	}
	return c.api.Read(rental.Reply{Status: r.Status, Body: a.Data}, into)
}

// meaning gives the errors that mean the same on every route their class.
func (c *Client) meaning(r rental.Reply) error {
	var a struct {
		Error struct{ Code, Message string }
	}
	_ = json.Unmarshal(r.Body, &a) // a page of a proxy has none of it
	p, err := c.api.Problem(r, a.Error.Code, a.Error.Message)
	switch {
	case errors.Is(err, rental.ErrLater):
		c.pace.Refused("", r, apart)
		return err
	case err != nil:
		return err
	case p.Code == "global/invalid-api-key":
		return c.api.UnknownKey(r.Status, "misspelt, has expired, or was deleted", "on the account's page of API keys")
	case p.Code == "global/account-inactive":
		return &providers.Error{Class: providers.Auth, Summary: "The Lambda account is not active", Hint: "Verify its email address and its payment method in Lambda's console."}
	case p.Code == "global/invalid-address":
		return &providers.Error{Class: providers.Auth, Summary: "The Lambda account has no valid billing address", Hint: "Correct it in Lambda's console."}
	case r.Status == http.StatusForbidden:
		return &providers.Error{Class: providers.Auth, Summary: "The API key for Lambda may not do this", Detail: p.Error(), Hint: "Use a key that may launch and terminate instances."}
	}
	return p
}

// A kind is an instance type.
type kind struct {
	Name         string
	GPU          string `json:"gpu_description"`
	Cents        int64  `json:"price_cents_per_hour"`
	Architecture string // of newer documents; "" = unknown
	Specs        struct {
		CPUs    int   `json:"vcpus"`
		GPUs    int   `json:"gpus"`
		Memory  int64 `json:"memory_gib"`
		Storage int64 `json:"storage_gib"`
	}
}

// description is "A100 (80 GB SXM4)".
var description = lazyregexp.New(`^(.*?) \((\d+) GB ?(.*)\)$`)

// device is a type's GPU: "A100 80GB SXM4", and its memory in bytes.
func (k *kind) device() (model string, memory int64) {
	m := description.FindStringSubmatch(k.GPU)
	if m == nil {
		return k.GPU, 0
	}
	gb, err := strconv.ParseInt(m[2], 10, 64)
	if err != nil {
		return k.GPU, 0
	}
	return strings.TrimSpace(m[1] + " " + m[2] + "GB " + m[3]), gb * 1e9
}

// arm reports whether a type's processors are no x86: programs and images built for
// most machines do not run there.
func (k *kind) arm() bool {
	return k.Architecture != "" && k.Architecture != "x86_64" || strings.Contains(k.Name, "gh200") || strings.Contains(k.Name, "gb200")
}

// Offers are types with capacity in a region, cheapest first. Those with ARM
// processors are offered only where their GPU is asked for.
func (c *Client) Offers(ctx context.Context, w rental.Want) ([]rental.Offer, error) {
	var kinds map[string]struct {
		Type    kind `json:"instance_type"`
		Regions []struct {
			Name, Description string
		} `json:"regions_with_capacity_available"`
	}
	if err := c.get(ctx, "/instance-types", &kinds); err != nil {
		return nil, err
	}
	var out []rental.Offer
	var has []string
	for _, k := range kinds {
		model, memory := k.Type.device()
		if k.Type.Specs.GPUs != w.GPUs || k.Type.Specs.Storage<<30 < w.Disk {
			continue
		}
		has = append(has, model)
		if !w.Allows(model) || k.Type.arm() && len(w.Models) == 0 {
			continue
		}
		for _, r := range k.Regions {
			out = append(out, rental.Offer{ID: k.Type.Name + "/" + r.Name, GPU: model, GPUs: k.Type.Specs.GPUs, GPUMemory: memory, USDPerHour: decimal.New(k.Type.Cents, -2),
				CPUs: k.Type.Specs.CPUs, Memory: k.Type.Specs.Memory << 30, Place: cmp.Or(r.Description, r.Name) + " (" + r.Name + ")"})
		}
	}
	if !slices.ContainsFunc(has, w.Allows) {
		slices.Sort(has)
		return nil, providers.Errorf(providers.Invalid, "Lambda has no machine with %s and %s of disk; with that disk and as many it has %s", units.Count(w.GPUs, "GPU")+" "+strings.Join(w.Models, " or "), units.FormatSize(w.Disk), cmp.Or(strings.Join(has, ", "), "none"))
	}
	slices.SortFunc(out, func(a, b rental.Offer) int {
		if n := a.USDPerHour.Cmp(b.USDPerHour); n != 0 {
			return n
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out, nil
}

// key is the name of the account's ssh key that is a public key, added if there is
// none. The name follows from the key: two who add it at once add one.
func (c *Client) key(ctx context.Context, public string) (string, error) {
	sum := sha256.Sum256([]byte(public))
	name := "muster-" + hex.EncodeToString(sum[:8])
	for again := false; ; again = true {
		var all []struct {
			Name   string
			Public string `json:"public_key"`
		}
		if err := c.get(ctx, "/ssh-keys", &all); err != nil {
			return "", err
		}
		for _, k := range all {
			if same(k.Public, public) {
				return k.Name, nil
			}
		}
		var added struct{ Name string }
		err := c.call(ctx, http.MethodPost, "/ssh-keys", map[string]string{"name": name, "public_key": public}, &added)
		if err == nil {
			return added.Name, nil
		}
		if again || rental.ProblemOf(err).Code != "global/invalid-parameters" {
			return "", err
		}
	}
}

// same reports whether two public keys are, whatever their comments.
func same(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	return len(x) > 1 && len(y) > 1 && x[0] == y[0] && x[1] == y[1]
}

const launchPath = "/instance-operations/launch"

// Rent launches an instance of an offer's type in its region.
func (c *Client) Rent(ctx context.Context, o rental.Offer, r rental.Order) (string, error) {
	name, region, ok := strings.Cut(o.ID, "/")
	if !ok {
		return "", &rental.Refused{Err: fmt.Errorf("%q is not an offer of Lambda", o.ID)}
	}
	key, err := c.key(ctx, r.Key)
	if err != nil {
		return "", fmt.Errorf("%w: %w", rental.ErrLater, fmt.Errorf("add muster's ssh key to the account: %w", err))
	}
	var a struct {
		IDs []string `json:"instance_ids"`
	}
	err = c.call(ctx, http.MethodPost, launchPath, map[string]any{
		"region_name": region, "instance_type_name": name, "ssh_key_names": []string{key}, "file_system_names": []string{}, "name": r.Label,
	}, &a)
	var known *providers.Error
	switch {
	case err == nil && len(a.IDs) == 1:
		return a.IDs[0], nil
	case err == nil:
		return "", c.api.Unreachable(errors.New("an answer to a launch without an instance in it"))
	case errors.Is(err, rental.ErrLater):
		return "", err
	case rental.ProblemOf(err).Code == "instance-operations/launch/insufficient-capacity":
		return "", fmt.Errorf("%w: %w", rental.ErrTaken, err)
	case rental.ProblemOf(err).Status != 0, errors.As(err, &known) && known.Class == providers.Auth:
		return "", &rental.Refused{Err: err}
	}
	return "", err
}

// An instance is a machine as the service has it. Its Jupyter token, a secret, is not
// read.
type instance struct {
	ID     string
	Name   string
	IP     string
	Status string
	Type   kind `json:"instance_type"`
}

// Machines are all instances that there are. Those that were terminated are listed for
// a while.
func (c *Client) Machines(ctx context.Context) ([]rental.Machine, error) {
	var all []instance
	if err := c.get(ctx, "/instances", &all); err != nil {
		return nil, err
	}
	var out []rental.Machine
	for _, i := range all {
		if i.Status != "terminated" {
			out = append(out, i.machine())
		}
	}
	return out, nil
}

func (i *instance) machine() rental.Machine {
	m := rental.Machine{ID: i.ID, Label: i.Name, USDPerHour: decimal.New(i.Type.Cents, -2)}
	switch i.Status {
	case "booting":
		m.Status = rental.Booting
	case "active":
		m.Status = rental.Running
	case "terminating", "preempted":
		m.Status, m.Why = rental.Broken, i.Status
	default: // unhealthy, and what newer documents may add
		m.Status, m.Why = rental.Away, i.Status
	}
	if i.IP != "" && m.Status == rental.Running {
		m.User, m.Host, m.Port = "ubuntu", i.IP, 22
	}
	return m
}

// Release terminates an instance. One that is gone is released.
func (c *Client) Release(ctx context.Context, id string) error {
	var a struct {
		Terminated []instance `json:"terminated_instances"`
	}
	err := c.call(ctx, http.MethodPost, "/instance-operations/terminate", map[string]any{"instance_ids": []string{id}}, &a)
	switch {
	case rental.ProblemOf(err).Code == "global/object-does-not-exist":
		return nil
	case err == nil && !slices.ContainsFunc(a.Terminated, func(i instance) bool { return i.ID == id }):
		return c.api.Unreachable(errors.New("an answer to a terminate without the instance in it"))
	}
	return err
}
