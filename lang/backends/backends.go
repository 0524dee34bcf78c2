// Package backends reads the backends that a campaign declares and the
// expressions that name them. Every backend it returns is declared once and
// configured as its provider's schema says.
package backends

import (
	"cmp"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/muster-run/muster/lang/decode"
	"github.com/muster-run/muster/lang/schema"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/wording"
	"github.com/muster-run/muster/providers/offer"
)

// A Backend is a place to run, configured once.
type Backend struct {
	Type, Name string
	Profile    string
	// ProfileSource is the text of Profile, where it is a file.
	ProfileSource string
	Workdir       string // "" = the campaign's directory (local only)
	Setup         string
	Env           map[string]string
	MaxParallel   int
	Price         offer.Price     // Known only when a price block or attribute is written
	Exchange      string          // "1 EUR = $1.08" where the price is in another currency
	Hold          time.Duration   // rentals: kept this long after the last job
	OnHold        string          // rentals: "stop", "release", "keep"
	Config        json.RawMessage // the provider's own settings, checked against its schema
	Sensitive     []string        // JSON pointers into Config of sensitive values, which no state may hold
	SecretSetup   bool            // Setup holds a sensitive value
	SecretEnv     bool            // Env holds one
	Verified      string          // month in which the block was compared with the platform: "2026-05"; "" = not stated
	Clocks        []offer.Clock   // when the platform deletes or closes something, as the block states
	Rented        []Machine
	Rents         bool          // its provider creates and releases machines
	DeadMan       bool          // those end, or stop, when muster has been off for long
	Timer         bool          // of DeadMan: only by a timer of the platform
	Boot          time.Duration // of Rents: the most that is billed before a job starts
	Implied       bool          // local.local without a block
	Range         hcl.Range
}

// WorkdirOf is where jobs of the backend leave their outputs, for a campaign in
// a folder: absolute, or beginning with ~/. Without a workdir it is the folder,
// and a relative one of this machine is below it.
func (b *Backend) WorkdirOf(campaign string) string {
	switch {
	case b.Workdir == "":
		return campaign
	case b.Type == "local" && !filepath.IsAbs(b.Workdir) && !strings.HasPrefix(b.Workdir, "~"):
		return filepath.Join(campaign, b.Workdir)
	}
	return b.Workdir
}

// Address is "slurm.alpine".
func (b *Backend) Address() string { return b.Type + "." + b.Name }

// Local is the address of the backend that is always there.
const Local = "local.local"

// A Set is the backends of one campaign.
type Set struct {
	*decode.Reader
	schemas map[string]offer.Schema

	All   []*Backend // sorted by address; local.local is always there
	Names []string   // their addresses

	split map[hcl.Range]bool // options that were told not to hold wherever their jobs may run
}

// Read reads the backend blocks and adds local.local.
func Read(r *decode.Reader, blocks []*syntax.Block, schemas map[string]offer.Schema) *Set {
	s := &Set{Reader: r, schemas: schemas, split: map[hcl.Range]bool{}}
	for _, b := range blocks {
		s.All = append(s.All, s.backend(b))
	}
	if !slices.ContainsFunc(s.All, func(b *Backend) bool { return b.Address() == Local }) {
		s.All = append(s.All, &Backend{Type: "local", Name: "local", Config: json.RawMessage("{}"), Implied: true})
	}
	slices.SortFunc(s.All, func(a, b *Backend) int { return strings.Compare(a.Address(), b.Address()) })
	for _, b := range s.All {
		s.Names = append(s.Names, b.Address())
	}
	return s
}

func (s *Set) backend(b *syntax.Block) *Backend {
	out := &Backend{
		Type: b.Labels[0], Name: b.Labels[1], Profile: s.Text(b, "profile"), Workdir: s.Text(b, "workdir"), Setup: s.Text(b, "setup"),
		Env: s.TextMap(b, "env"), MaxParallel: s.Integer(b, "max_parallel", 1, 0), Hold: s.Duration(b, "hold", 0),
		OnHold: s.OneOf(b, "on_hold", "stop", "release", "keep"), Config: json.RawMessage("{}"), Range: b.Range,
	}
	s.EnvNames(b, "env", out.Env)
	out.SecretSetup, out.SecretEnv = s.Secret(b.Expr("setup")), s.Secret(b.Expr("env"))
	if e := b.Expr("price"); e != nil {
		out.Price, out.Exchange = s.Price(e)
	}
	s.dated(b, out)
	s.NoSecret(b, "workdir")
	offered, ok := s.schemas[out.Type]
	if !ok {
		s.Sure.Errorat(b.Syntax.LabelRanges[0], "Unknown type of backend", "There is no provider for backends of type %q%s %s", wording.Clip(out.Type),
			wording.DidYouMean(out.Type, slices.Sorted(maps.Keys(s.schemas))), s.KnownTypes())
		return out
	}
	if offered.Opaque {
		return out
	}
	out.DeadMan, out.Timer, out.Boot = offered.Can.DeadMan, offered.Can.Timer, offered.Can.Boot
	if out.Rents = offered.Can.Rents; out.Rents && (b.Expr("hold") == nil || b.Expr("on_hold") == nil) {
		s.Sure.Errorat(b.Syntax.LabelRanges[0], "A backend that rents does not say what happens to its machines",
			"An idle machine is billed. Write hold = \"10m\", how long a machine is kept after its last job, and on_hold = \"release\", \"stop\" or \"keep\", what happens then.")
	}
	if out.OnHold == "stop" && out.Rents && !offered.Can.Stops {
		s.Wrong(b.Expr("on_hold"), "on_hold", "Machines of type %q cannot be stopped: on_hold is \"release\" or \"keep\".", out.Type)
	}
	out.Config, out.Sensitive = s.Config(offered.Config, b.Syntax.Body, "backend "+out.Type, schema.Backend)
	s.profile(b, out, offered)
	if w := out.Workdir; w != "" && offered.Can.Remote && !strings.HasPrefix(w, "/") && w != "~" && !strings.HasPrefix(w, "~/") {
		s.Wrong(b.Expr("workdir"), "workdir", "%q must be absolute or begin with ~/ on a remote backend.", wording.Clip(w))
	}
	return out
}

// profile reads a profile that is a file, and reports one that there is not. Its clocks
// count as if the block had them: also while nobody can be asked.
func (s *Set) profile(b *syntax.Block, own *Backend, offered offer.Schema) {
	profiles := slices.Sorted(maps.Keys(offered.Profiles))
	defer func() { s.profiled(own, offered, cmp.Or(own.ProfileSource, string(offered.Profiles[own.Profile]))) }()
	switch {
	case own.Profile == "" || slices.Contains(profiles, own.Profile):
	case len(profiles) == 0:
		s.Wrong(b.Expr("profile"), "profile", "The %s provider ships no profiles, so there is no %q. Take the line out.", own.Type, wording.Clip(own.Profile))
	case own.OwnProfile():
		own.ProfileSource = s.profileFile(b, own.Profile)
	default:
		s.Wrong(b.Expr("profile"), "profile", "The %s provider has no profile %q%s Shipped: %s. One of your own is a file, whose name ends in .hcl.", own.Type, wording.Clip(own.Profile), wording.DidYouMean(own.Profile, profiles), strings.Join(profiles, ", "))
	}
}

// profiled adds the clocks of a profile that can be read; its provider reports problems of
// others. The pools of a host are live and have no month: theirs is the profile's.
func (s *Set) profiled(own *Backend, offered offer.Schema, src string) {
	file, diags := hclsyntax.ParseConfig([]byte(src), own.Profile, hcl.InitialPos)
	if diags.HasErrors() {
		return
	}
	body := file.Body.(*hclsyntax.Body)
	top := &syntax.Block{Attrs: body.Attributes}
	if own.Verified == "" && offered.Can.HostQueue {
		own.Verified = s.Text(top, "verified")
	}
	for _, c := range body.Blocks {
		if c.Type == "clock" && len(c.Labels) == 1 {
			own.Clocks = append(own.Clocks, s.clock(&syntax.Block{Labels: c.Labels, Attrs: c.Body.Attributes, Range: c.DefRange(), Syntax: c}))
		}
	}
}

// KnownTypes says for which types there is a provider.
func (s *Set) KnownTypes() string {
	if len(s.schemas) == 0 {
		return "No provider is installed."
	}
	return "Installed: " + strings.Join(slices.Sorted(maps.Keys(s.schemas)), ", ") + "."
}
