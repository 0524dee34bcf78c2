package refresh

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// An asker asks backends, in steps. Some steps belong to parts that own their findings.
type asker struct {
	*facts
	answers   *answers
	outputs   *outputs
	grounds   *grounds
	preflight *preflight
	copies    *copies
}

// ask asks one backend everything, and notes why if it cannot be asked.
func (as *asker) ask(ctx context.Context, a *ask) {
	if as.Here && !here(a.conf.Type) {
		as.answers.unasked(a.name, "-refresh=false asks nobody")
		return
	}
	defer as.announce("waiting for backend." + a.name)()
	whole := ctx
	ctx, cancel := context.WithTimeout(whole, askTimeout)
	defer func() { cancel() }()
	if a.conf.Type == "local" && !as.Verify && len(a.outputs) > 0 {
		a.lookEarly()
	}
	login := func(context.Context, *ask) error {
		providers.Login(whole, a.p, a.name)
		cancel()
		ctx, cancel = context.WithTimeout(whole, askTimeout) // a person's time at a prompt is not the backend's
		return nil
	}
	steps := []func(context.Context, *ask) error{as.configure, login, as.pools, as.quotes, as.jobs, as.rentals, as.imported, as.outputs.look, as.replaced, as.grounds.look, as.preflight.run, as.copies.compare}
	for _, step := range steps {
		err := step(ctx, a)
		if providers.IsWithheld(err) {
			_ = as.preflight.run(ctx, a) // so that all its commands are withheld at once
			as.answers.unasked(a.name, "it is not trusted yet")
			return
		}
		if err != nil {
			as.answers.unreachable(a.name, whyNot(ctx, err), providers.WantsLogin(err) != "")
			return
		}
	}
}

// rentals asks a backend that rents which machines of the campaign may be billed.
func (as *asker) rentals(ctx context.Context, a *ask) error {
	p, rents := a.p.(providers.Renter)
	if !rents || !as.Refresh {
		return nil
	}
	list, err := p.Rentals(ctx, a.name)
	if err != nil {
		return err
	}
	list = slices.Clone(list)
	for i, r := range list {
		if _, known := as.State.Rentals[r.ID]; known {
			list[i].Orphan = false // its provider forgot it, and the state did not
		}
	}
	as.answers.Lock()
	defer as.answers.Unlock()
	as.answers.Observed.Rented(a.name, list)
	return nil
}

// here reports whether backends of a type are this machine and no more.
func here(typ string) bool { return typ == localType || typ == "sim" }

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

// A miswritten error is a mistake in the text about a backend, which no answer of it fixes.
type miswritten struct{ error }

func (m miswritten) Unwrap() error { return m.error }

func (as *asker) configure(ctx context.Context, a *ask) (err error) {
	if a.p, err = as.Provider(a.conf.Type); err != nil {
		return err
	}
	schema, err := a.p.Schema(ctx)
	if err != nil {
		return err
	}
	a.can = schema.Can
	as.answers.Lock()
	as.answers.Can[a.conf.Type] = schema.Can
	if schema.Version != "" {
		as.answers.Versions[a.conf.Type] = schema.Version
	}
	as.answers.Unlock()
	err = a.p.Configure(ctx, a.conf)
	if e := (*providers.Error)(nil); errors.As(err, &e) && e.Class == providers.Invalid {
		as.answers.find(misconfigured(a.name, err))
		return miswritten{err}
	}
	return err
}

// misconfigured reports a mistake in the text about a backend, such as one in its profile: an
// error, where a backend that does not answer may be none.
func misconfigured(name string, err error) observed.Finding {
	return observed.Finding{Diagnostic: diag.Diagnostic{Summary: "backend." + name + " cannot be used as it is written", Detail: providers.WithHint(err), Address: "backend." + name}}
}

func (as *asker) pools(ctx context.Context, a *ask) error {
	pools, err := a.p.Pools(ctx, a.name)
	if err != nil {
		return err
	}
	pools = slices.Clone(pools)
	for i := range pools {
		pools[i].Rank = i
	}
	a.offers = pools
	as.answers.Lock()
	as.answers.Pools = append(as.answers.Pools, pools...)
	for _, p := range pools {
		for _, n := range p.Notes {
			if text, ok := strings.CutPrefix(n, offer.Repaired); ok {
				as.answers.Observed.Findings = append(as.answers.Observed.Findings, observed.Finding{Diagnostic: diag.Diagnostic{Severity: diag.Warning,
					Summary: putRight, Detail: text, Address: "backend." + a.name}})
			}
		}
	}
	as.answers.Unlock()
	return nil
}

const putRight = "The queue was put right"

// Repairs are those that backends made when they were asked, in words, for those who
// show no findings.
func Repairs(list []observed.Finding) (out []string) {
	for _, f := range list {
		if f.Summary == putRight {
			out = append(out, f.Address+": "+f.Detail)
		}
	}
	return out
}

// quotes asks what each distinct shape would cost and how long it would wait.
func (as *asker) quotes(ctx context.Context, a *ask) error {
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
	as.answers.Lock()
	defer as.answers.Unlock()
	for _, q := range quotes {
		if q.Shape >= 0 && q.Shape < len(shapes) {
			as.answers.Quotes = append(as.answers.Quotes, place.Quoted{Shape: shapes[q.Shape], Quote: q})
		}
	}
	return nil
}

func contains(shapes []offer.Shape, s offer.Shape) bool {
	return slices.ContainsFunc(shapes, func(o offer.Shape) bool { return o.Key() == s.Key() })
}

const findMax = 2000 // tokens of one Find call

// jobs looks for jobs in flight.
func (as *asker) jobs(ctx context.Context, a *ask) error {
	for tokens := a.tokens; len(tokens) > 0; {
		n := min(len(tokens), findMax)
		obs, err := a.p.Find(ctx, a.name, tokens[:n])
		if err != nil {
			return err
		}
		tokens = tokens[n:]
		as.answers.Lock()
		for _, v := range obs {
			token, _, _ := strings.Cut(v.Token, "/")
			if at := a.attempts[token]; at != nil && v.Presence == offer.Absent {
				if why := site.Elsewhere(a.conf, a.can, as.State.Backends[a.name], at, &v); why != "" {
					v.Presence, v.Reason = offer.Unknown, why
				}
			}
			as.answers.Observed.Jobs[token] = v
		}
		as.answers.Unlock()
	}
	return nil
}

func (as *asker) imported(ctx context.Context, a *ask) error {
	for _, im := range a.imports {
		obs, err := a.p.Find(ctx, a.name, []string{im.ID})
		if err != nil {
			return err
		}
		if len(obs) == 1 {
			as.answers.Lock()
			as.answers.Observed.Imported[im.To] = obs[0]
			as.answers.Unlock()
		}
	}
	return nil
}
