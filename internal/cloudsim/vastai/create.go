package vastai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/cloudsim"
)

// A creation is the body of a create: the documented fields, and those that only
// the vendor's command line tool sends.
type creation struct {
	Image          string         `json:"image"`
	Template       *string        `json:"template_hash_id"`
	Label          *string        `json:"label"`
	Disk           *float64       `json:"disk"`
	RunType        *string        `json:"runtype"`
	TargetState    string         `json:"target_state"`
	Price          *float64       `json:"price"`
	Env            map[string]any `json:"env"`
	CancelUnavail  *bool          `json:"cancel_unavail"`
	VM             bool           `json:"vm"`
	OnStart        *string        `json:"onstart"`
	Args           []string       `json:"args"`
	ArgsStr        *string        `json:"args_str"`
	UseJupyterLab  bool           `json:"use_jupyter_lab"`
	JupyterDir     *string        `json:"jupyter_dir"`
	PythonUTF8     bool           `json:"python_utf8"`
	LangUTF8       bool           `json:"lang_utf8"`
	Force          bool           `json:"force"`
	User           *string        `json:"user"`
	ImageLogin     *string        `json:"image_login"`
	VolumeInfo     map[string]any `json:"volume_info"`
	ClientID       *string        `json:"client_id"`
	Extra          *string        `json:"extra"`
	ExtraFilters   map[string]any `json:"extra_filters"`
	runtype, label string
	disk           float64
}

// Limits of a create.
const (
	longestImage   = 1024
	longestLabel   = 256
	longestRelabel = 1024 // of an instance that there is
	longestStart   = 4096 // args, args_str and onstart together
	longestEnv     = 256
	longestEnvs    = 32768
	mostPorts      = 64
	leastBid       = 0.001
	mostBid        = 128.0 // of a machine, at create
	mostGPUBid     = 32.0  // of a GPU, at a change
)

// runWords are the words of launch modes, alone or together.
var runWords = []string{"ssh", "ssh_proxy", "ssh_direct", "ssh_direc", "jupyter", "jupyter_proxy", "jupyter_direct", "jupyter_direc", "args"}

// check reads a creation, and returns its first error.
func (r *creation) check(body []byte) (code, text string) {
	const invalid = "invalid_args"
	if err := cloudsim.Parse(body, r); err != nil {
		return invalid, "invalid json: " + err.Error()
	}
	r.disk = leastDisk
	if r.Disk != nil {
		r.disk = *r.Disk
	}
	r.runtype = "ssh"
	if r.RunType != nil && *r.RunType != "" {
		r.runtype = *r.RunType
	} else if len(r.Args) > 0 || deref(r.ArgsStr) != "" {
		r.runtype = "args"
	}
	r.label = deref(r.Label)
	start := len(strings.Join(r.Args, "")) + len(deref(r.ArgsStr)) + len(deref(r.OnStart))
	switch {
	case deref(r.Template) != "":
		return invalid, "template " + *r.Template + " not found"
	case r.Image == "":
		return invalid, "'image' is required"
	case len(r.Image) > longestImage:
		return invalid, "'image' is too long"
	case len(r.label) > longestLabel:
		return invalid, "'label' is too long"
	case r.disk < leastDisk:
		return invalid, fmt.Sprintf("'disk' must be at least %d", leastDisk)
	case start > longestStart:
		return invalid, "'onstart' is too long"
	case r.Price != nil && (*r.Price < leastBid || *r.Price > mostBid):
		return "invalid_price", fmt.Sprintf("bid price must be between %v and %v", leastBid, mostBid)
	case r.TargetState != "" && r.TargetState != "running" && r.TargetState != "stopped":
		return invalid, "'target_state' must be running or stopped"
	case r.VolumeInfo != nil:
		return invalid, "'volume_info': this simulator has no volumes"
	}
	for word := range strings.FieldsSeq(r.runtype) {
		if !slices.Contains(runWords, word) {
			return invalid, "'runtype' " + word
		}
	}
	return invalid, r.checkEnv()
}

func (r *creation) checkEnv() string {
	total, ports := 0, 0
	for name, value := range r.Env {
		text, ok := value.(string)
		total += len(name) + len(text)
		if strings.HasPrefix(name, "-p ") {
			ports++
		}
		if !ok || len(name)+len(text) > longestEnv {
			return "'env' " + name
		}
	}
	switch {
	case total > longestEnvs:
		return "'env' is too long"
	case ports > mostPorts:
		return "'env' has too many ports"
	}
	return ""
}

// create accepts an offer.
func (v *Vast) create(c *cloudsim.Call) cloudsim.Answer {
	n, ok := id(c, "id")
	refuse := func(status int, code, text string, more ...any) cloudsim.Answer {
		return failure(status, code, text, append([]any{"ask_id", n}, more...)...)
	}
	if !ok {
		return refuse(http.StatusBadRequest, "invalid_args", "error 400/3467: Invalid args: 'id' is required and must be a valid offer ID")
	}
	r := &creation{}
	if code, text := r.check(c.Body); text != "" {
		return refuse(http.StatusBadRequest, code, "error 400/3467: Invalid args: "+text)
	}
	notFound := refuse(http.StatusNotFound, "invalid_args", fmt.Sprintf("error 404/3603: no_such_ask Instance type by id %d is not available.", n))
	gone := refuse(http.StatusGone, "no_such_ask", fmt.Sprintf("error 410/3907: no_such_ask Instance type %d is no longer available.", n))
	switch fault := v.World.Faults.Take("create", r.label, goneNow, goneBefore); {
	case fault != nil && fault.Do == goneNow:
		return gone
	case fault != nil:
		return notFound
	}
	o := v.offers[n]
	if o == nil {
		return notFound
	}
	m := o.machine
	taken := m.free() == 0 || m.offline
	if o != m.offer && !taken {
		return notFound // listed again, under another id
	}
	if r.VM && len(v.keysOf(c.Account)) == 0 {
		return refuse(http.StatusBadRequest, "no_ssh_key_for_vm", "error 400: a VM needs an ssh key in the account")
	}
	if r.disk > m.diskGB {
		return refuse(http.StatusBadRequest, "invalid_args", "error 400/3467: Invalid args: 'disk' is more than the offer has")
	}
	if !v.left(c.Account).IsPositive() {
		return refuse(http.StatusBadRequest, "missing_billing", "error 400: the account has no credit")
	}
	cancel := r.Price == nil && r.TargetState != "stopped"
	if r.CancelUnavail != nil {
		cancel = *r.CancelUnavail
	}
	low := r.Price != nil && decimal.NewFromFloat(*r.Price).LessThan(m.minBid)
	if (taken || low) && cancel {
		return gone
	}
	i := v.rent(c.Account, m, r, !taken && !low && r.TargetState != "stopped")
	if low {
		// The contract is there, stopped, and its disk is charged: seen by public clients.
		return refuse(http.StatusBadRequest, "invalid_price", "error 400: the bid is lower than the minimum bid", "new_contract", i.id)
	}
	return cloudsim.JSON(http.StatusOK, map[string]any{"success": true, "new_contract": i.id, "instance_api_key": i.key.Text})
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// pairs are an env as instances show it.
func pairs(env map[string]any) [][]string {
	out := [][]string{}
	for name, value := range env {
		out = append(out, []string{name, fmt.Sprint(value)})
	}
	slices.SortFunc(out, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return out
}

// decode reads a JSON value of a query's parameter.
func decode(text string, v any) error { return json.Unmarshal([]byte(text), v) }
