package refresh

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/questions"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// An ask is everything that one backend is asked.
type ask struct {
	name     string
	conf     providers.Backend
	lang     *lang.Backend // nil when it left the campaign
	p        providers.Provider
	can      offer.Capabilities
	groups   []questions.Group
	tokens   []string
	attempts map[string]*state.Attempt // by token
	imports  []lang.Import
	outputs  []recorded
	replaced []*state.Replaced
	early    chan looked // what look finds, if it looks while the provider comes up
	offers   []offer.Pool
}

// asks gathers the questions by backend. A backend that nothing could go to
// and where nothing of ours is, is left alone.
func (o *observer) asks() []*ask {
	by := map[string]*ask{}
	get := func(name string) *ask {
		name = strings.TrimPrefix(name, "backend.")
		if a := by[name]; a != nil {
			return a
		}
		a := &ask{name: name, attempts: map[string]*state.Attempt{}}
		by[name] = a
		return a
	}
	for _, g := range o.groups {
		if len(g.Candidates) == 0 {
			for _, b := range o.Campaign.Backends {
				a := get(b.Address())
				a.groups = append(a.groups, g)
			}
			continue
		}
		for _, c := range g.Candidates {
			a := get(c)
			a.groups = append(a.groups, g)
		}
	}
	if o.Refresh {
		for _, j := range o.State.InFlight() {
			if at := j.Last(); at != nil {
				a := get(at.Backend)
				token, _, _ := strings.Cut(at.Token, "/")
				a.tokens = append(a.tokens, token)
				a.attempts[token] = at
			}
		}
		for _, im := range o.Campaign.Imports {
			if o.State.Jobs[im.To] == nil {
				a := get(im.Backend)
				a.imports = append(a.imports, im)
			}
		}
		o.recordedOutputs(get)
		for _, all := range o.State.Replaced {
			for i := range all {
				a := get(all[i].Job.Outputs[0].Backend)
				a.replaced = append(a.replaced, &all[i])
			}
		}
	}
	var out []*ask
	for _, name := range sortedKeys(by) {
		if a := by[name]; o.configuration(a) {
			out = append(out, a)
		}
	}
	return out
}

// configuration finds how a backend is configured: by the campaign, or as the
// state remembers it.
func (o *observer) configuration(a *ask) bool {
	for _, b := range o.Campaign.Backends {
		if b.Address() == a.name {
			a.lang, a.conf = b, site.Backend(o.Campaign, b, o.State.Lineage)
			if b.Type == "local" {
				a.conf.Environ = site.Environ(o.Environ)
			}
			return true
		}
	}
	kept, ok := o.State.Backends[a.name]
	if !ok || json.Unmarshal(kept.Config, &a.conf) != nil {
		return false
	}
	a.conf.Name, a.conf.Type = a.name, kept.Type
	return true
}

// ask asks one backend everything, and notes why if it cannot be asked.
func (o *observer) ask(ctx context.Context, a *ask) {
	if o.Here && !here(a.conf.Type) {
		o.unasked(a, "-refresh=false asks nobody")
		return
	}
	defer o.announce("waiting for backend." + a.name)()
	whole := ctx
	ctx, cancel := context.WithTimeout(whole, askTimeout)
	defer func() { cancel() }()
	if a.conf.Type == "local" && !o.Verify && len(a.outputs) > 0 {
		a.lookEarly()
	}
	login := func(context.Context, *ask) error {
		providers.Login(whole, a.p, a.name)
		cancel()
		ctx, cancel = context.WithTimeout(whole, askTimeout) // what a person takes is not the backend's
		return nil
	}
	steps := []func(context.Context, *ask) error{o.configure, login, o.pools, o.quotes, o.jobs, o.imported, o.look, o.replaced, o.ground, o.preflight, o.copies}
	for _, step := range steps {
		err := step(ctx, a)
		if providers.IsWithheld(err) {
			_ = o.preflight(ctx, a) // so that what it would run is withheld in one go
			o.unasked(a, "it is not trusted yet")
			return
		}
		if err != nil {
			o.mu.Lock()
			o.out.Observed.Unreachable[a.name] = whyNot(ctx, err)
			o.mu.Unlock()
			return
		}
	}
}

// here reports whether backends of a type are this machine and no more.
func here(typ string) bool { return typ == localType || typ == "sim" }

// unasked notes that nobody asked a backend.
func (o *observer) unasked(a *ask, why string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.out.Observed.Unreachable[a.name], o.out.Observed.Unasked[a.name] = why, true
}

// whyNot is why a backend cannot be asked, in words.
func whyNot(ctx context.Context, err error) string {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		return fmt.Sprintf("it did not answer everything within %v", askTimeout)
	}
	if _, ok := errors.AsType[miswritten](err); ok {
		return "it cannot be used as it is written (its own error says why)"
	}
	return providers.WithHint(err)
}

// A miswritten error is a mistake in what is written of a backend, which no answer
// of it mends.
type miswritten struct{ error }

func (m miswritten) Unwrap() error { return m.error }

func (o *observer) configure(ctx context.Context, a *ask) (err error) {
	if a.p, err = o.Provider(a.conf.Type); err != nil {
		return err
	}
	schema, err := a.p.Schema(ctx)
	if err != nil {
		return err
	}
	a.can = schema.Can
	o.mu.Lock()
	o.out.Can[a.conf.Type] = schema.Can
	if schema.Version != "" {
		o.out.Versions[a.conf.Type] = schema.Version
	}
	o.mu.Unlock()
	err = a.p.Configure(ctx, a.conf)
	if e := (*providers.Error)(nil); errors.As(err, &e) && e.Class == providers.Invalid {
		o.mu.Lock()
		o.out.Observed.Findings = append(o.out.Observed.Findings, misconfigured(a.name, err))
		o.mu.Unlock()
		return miswritten{err}
	}
	return err
}

// misconfigured tells a mistake in what is written of a backend, such as one in
// its profile: an error, where a backend that cannot be asked may be none.
func misconfigured(name string, err error) observed.Finding {
	return observed.Finding{Diagnostic: diag.Diagnostic{Summary: "backend." + name + " cannot be used as it is written", Detail: providers.WithHint(err), Address: "backend." + name}}
}

func (o *observer) pools(ctx context.Context, a *ask) error {
	pools, err := a.p.Pools(ctx, a.name)
	if err != nil {
		return err
	}
	pools = slices.Clone(pools)
	for i := range pools {
		pools[i].Rank = i
	}
	a.offers = pools
	o.mu.Lock()
	o.out.Pools = append(o.out.Pools, pools...)
	for _, p := range pools {
		for _, n := range p.Notes {
			if text, ok := strings.CutPrefix(n, offer.Mended); ok {
				o.out.Observed.Findings = append(o.out.Observed.Findings, observed.Finding{Diagnostic: diag.Diagnostic{Severity: diag.Warning,
					Summary: "backend." + a.name + wasMended, Detail: text, Address: "backend." + a.name}})
			}
		}
	}
	o.mu.Unlock()
	return nil
}

const wasMended = " was put right"

// Mended is what backends put right as they were asked, in words, for those who
// show no findings.
func Mended(list []observed.Finding) (out []string) {
	for _, f := range list {
		if strings.HasSuffix(f.Summary, wasMended) {
			out = append(out, f.Summary+": "+f.Detail)
		}
	}
	return out
}

// quotes asks what each distinct shape would cost and how long it would wait.
func (o *observer) quotes(ctx context.Context, a *ask) error {
	var shapes []offer.Shape
	for _, g := range a.groups {
		s := g.Shape
		s.Options = string(g.Options[a.conf.Type])
		if !contains(shapes, s) {
			shapes = append(shapes, s)
		}
	}
	if len(shapes) == 0 {
		return nil
	}
	quotes, err := a.p.Quote(ctx, a.name, shapes)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, q := range quotes {
		if q.Shape >= 0 && q.Shape < len(shapes) {
			o.out.Quotes = append(o.out.Quotes, place.Quoted{Shape: shapes[q.Shape], Quote: q})
		}
	}
	return nil
}

func contains(shapes []offer.Shape, s offer.Shape) bool {
	for _, o := range shapes {
		if same(o, s) {
			return true
		}
	}
	return false
}

func same(a, b offer.Shape) bool {
	if len(a.GPU.Models) != len(b.GPU.Models) {
		return false
	}
	for i := range a.GPU.Models {
		if a.GPU.Models[i] != b.GPU.Models[i] {
			return false
		}
	}
	a.GPU.Models, b.GPU.Models = nil, nil
	return a.CPUs == b.CPUs && a.Memory == b.Memory && a.GPUs == b.GPUs && a.GPU.Memory == b.GPU.Memory && a.Disk == b.Disk &&
		a.Nodes == b.Nodes && a.Walltime == b.Walltime && a.Options == b.Options && a.Smoke == b.Smoke
}

const findMax = 2000 // tokens of one Find call

// jobs looks for what is in flight.
func (o *observer) jobs(ctx context.Context, a *ask) error {
	for tokens := a.tokens; len(tokens) > 0; {
		n := min(len(tokens), findMax)
		obs, err := a.p.Find(ctx, a.name, tokens[:n])
		if err != nil {
			return err
		}
		tokens = tokens[n:]
		o.mu.Lock()
		for _, v := range obs {
			token, _, _ := strings.Cut(v.Token, "/")
			if at := a.attempts[token]; at != nil && v.Presence == offer.Absent {
				if why := site.Elsewhere(a.conf, at, v.Node); why != "" {
					v.Presence, v.Reason = offer.Unknown, why
				}
			}
			o.out.Observed.Jobs[token] = v
		}
		o.mu.Unlock()
	}
	return nil
}

func (o *observer) imported(ctx context.Context, a *ask) error {
	for _, im := range a.imports {
		obs, err := a.p.Find(ctx, a.name, []string{im.ID})
		if err != nil {
			return err
		}
		if len(obs) == 1 {
			o.mu.Lock()
			o.out.Observed.Imported[im.To] = obs[0]
			o.mu.Unlock()
		}
	}
	return nil
}

func (o *observer) phase(name string) *lang.Phase {
	for _, p := range o.Campaign.Phases {
		if p.Name == name {
			return p
		}
	}
	return nil
}
