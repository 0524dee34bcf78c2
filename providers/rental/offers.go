package rental

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/offer"
)

// quoteLife is how long a price is good for: a marketplace moves by the minute, and
// the price is looked up again before a machine is rented.
const quoteLife = 15 * time.Minute

// searchLife is how long a search answers Pools and Quote, which are asked together:
// searches are limited to a few in a minute. Renting searches by itself.
const searchLife = 20 * time.Second

// tolerance is by how much a machine may cost more than its offer did: the price of a pool
// has it in USDPerHourAtMost.
var tolerance = decimal.RequireFromString("1.10")

// Pools are models of GPU with the offers of now.
func (p *Provider) Pools(ctx context.Context, name string) ([]offer.Pool, error) {
	b, err := p.backend(name)
	if err != nil {
		return nil, err
	}
	if err := b.owned(ctx); err != nil {
		return nil, err
	}
	by, avoided, err := b.look(ctx)
	if err != nil {
		return nil, err
	}
	b.bounds(false)
	var out []offer.Pool
	for _, pool := range sortedKeys(by) {
		out = append(out, b.pool(pool, by[pool]))
	}
	if len(out) == 0 {
		out = append(out, b.nothing())
	}
	for _, host := range sortedKeys(avoided) {
		out[0].Notes = append(out[0].Notes, fmt.Sprintf("avoided: host %s, since %s", host, avoided[host]))
	}
	if credit, known := b.credit(ctx); known {
		for i := range out {
			out[i].Balance = credit.StringFixed(2)
		}
		if note := b.lasts(credit); note != "" {
			out[0].Notes = append(out[0].Notes, note)
		}
	}
	return out, nil
}

// A market is the offers for a backend, and its last shown price.
type market struct {
	settings
	of       string // the backend
	account  Cloud
	platform Platform
	now      func() time.Time

	mu     sync.Mutex
	prices map[string]Offer // of each pool, the dearest that would be rented, when it was last shown
	// limits are the dearest hours to be rented, by pool, as plans count them: of the last
	// quote, whatever the market asks later.
	limits   map[string]decimal.Decimal
	there    map[string]decimal.Decimal // dearest hours of the machines of a pool that are there, or were ordered
	searched time.Time
	shown    []Offer // by the last search
}

// look returns the market's offers, and the hosts whose machines were unfit, and
// why.
func (b *backend) look(ctx context.Context) (by map[string][]Offer, avoided map[string]string, err error) {
	rentals, err := b.recorded()
	if err != nil {
		return nil, nil, err
	}
	avoided = map[string]string{}
	there := map[string]decimal.Decimal{}
	for _, r := range rentals {
		if r.Bad && r.Offer.Machine != "" {
			avoided[r.Offer.Machine] = r.Why
		}
		if !r.Over() && r.Step != Releasing {
			there[poolOf(r.Want)] = decimal.Max(there[poolOf(r.Want)], r.dearest())
		}
	}
	by, err = b.offers(ctx, avoided)
	b.market.mu.Lock()
	defer b.market.mu.Unlock()
	b.there = there
	return by, avoided, err
}

// dearest is the most that an hour of a rental may cost, or of the one that takes its place.
func (r *Rental) dearest() decimal.Decimal {
	switch r.Step {
	case Planned, Asked, Boots, Checking:
		return r.Want.MostUSDPerHour
	}
	return r.Offer.USDPerHour
}

// offers are those within the limits and of hosts that are not avoided, by pool,
// cheapest first.
func (b *market) offers(ctx context.Context, avoided map[string]string) (map[string][]Offer, error) {
	w := b.want(nil)
	b.mu.Lock()
	all, fresh := b.shown, b.now().Sub(b.searched) < searchLife
	b.mu.Unlock()
	if !fresh {
		var err error
		if all, err = b.account.Offers(ctx, w); err != nil {
			return nil, err
		}
	}
	by := map[string][]Offer{}
	for _, o := range all {
		if _, bad := avoided[o.Machine]; !bad && w.fits(o, b.now()) {
			by[poolName(o.GPUs, o.GPU)] = append(by[poolName(o.GPUs, o.GPU)], o)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !fresh {
		b.shown, b.searched = all, b.now()
	}
	b.prices = map[string]Offer{}
	for pool, offers := range by {
		slices.SortStableFunc(offers, func(x, y Offer) int { return x.USDPerHour.Cmp(y.USDPerHour) })
		b.prices[pool] = offers[min(b.MaxBoxes, len(offers))-1]
	}
	return by, nil
}

// bounds has machines be rented within the prices that were last shown. Only a quote, which
// a plan counts with, replaces the limit of a pool that has one.
func (b *market) bounds(quote bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limits == nil {
		b.limits = map[string]decimal.Decimal{}
	}
	for pool, o := range b.prices {
		if _, has := b.limits[pool]; quote || !has {
			b.limits[pool] = b.most(o)
		}
	}
}

// most is the dearest hour to be rented where an offer was shown: that and a little, never
// more than the backend's limit.
func (b *market) most(o Offer) decimal.Decimal {
	return decimal.Min(b.MostUSD, o.USDPerHour.Mul(tolerance))
}

// limit is the dearest hour of a pool that may be rented, by its last quote; false where this
// process quoted none.
func (b *market) limit(pool string) (decimal.Decimal, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	most, ok := b.limits[pool]
	return most, ok
}

func (b *market) pool(name string, offers []Offer) offer.Pool {
	f := b.platform.Facts()
	best := offers[0]
	pool := offer.Pool{
		Backend: b.of, Name: name, Kind: offer.RentalPool, Word: "offer", GPUs: best.GPUs, GPUModel: best.GPU, GPUClass: best.GPU, GPUMem: best.GPUMemory,
		CPUs: best.CPUs, Memory: best.Memory, MaxNodes: 1, MaxJobs: b.MaxBoxes * b.GPUs, Idle: min(len(offers), b.MaxBoxes) * b.GPUs, Total: b.MaxBoxes * b.GPUs, Wait: 0,
		Price: b.price(name), Source: "live", Home: f.Home, Filesystem: b.of, Clocks: b.clocks(offers), Verified: f.Verified, Spot: b.Spot,
	}
	for _, o := range offers {
		pool.GPUMem = min(pool.GPUMem, o.GPUMemory)
		pool.CPUs, pool.Memory = min(pool.CPUs, o.CPUs), min(pool.Memory, o.Memory)
		if o.MaxTime(b.now()) > pool.MaxTime {
			pool.MaxTime = o.MaxTime(b.now()).Truncate(time.Hour)
		}
	}
	for _, o := range offers[:min(3, len(offers))] {
		pool.Offers = append(pool.Offers, offer.Listing{USDPerHour: o.USDPerHour.String(), Text: o.describe(best)})
	}
	for _, t := range f.Tiers {
		pool.Notes = append(pool.Notes, f.survives(t))
	}
	pool.Notes = append(pool.Notes, f.Notes...)
	return pool
}

// nothing is the pool of a backend for which no machine is offered now.
func (b *market) nothing() offer.Pool {
	limits := "$" + b.MostUSD.String() + "/h"
	if b.Reliability > 0 {
		limits += fmt.Sprintf(" and a reliability of %g%% or more", b.Reliability*100)
	}
	gpus := strings.Join(b.GPU, " or ")
	if gpus == "" {
		gpus = "any GPU"
	}
	f := b.platform.Facts()
	return offer.Pool{Backend: b.of, Kind: offer.RentalPool, Word: "offer", GPUs: b.GPUs, GPUModel: strings.Join(b.GPU, " or "), Source: "live", Verified: f.Verified, Home: f.Home, Filesystem: b.of, Clocks: f.Clocks,
		Notes: []string{fmt.Sprintf("no machine with %d× %s and %s of disk is offered now for up to %s", b.GPUs, gpus, units.FormatSize(b.Disk), limits)}}
}

// price is the price in a pool's plan: that of the dearest offer that would be
// rented for it.
func (b *market) price(pool string) offer.Price {
	b.mu.Lock()
	defer b.mu.Unlock()
	o, ok := b.prices[pool]
	if !ok {
		return offer.Price{}
	}
	f := b.platform.Facts()
	return offer.Price{Known: true, USDPerHour: o.USDPerHour.String(), USDPerGBOut: o.USDPerGBOut.String(), Granularity: f.Granularity,
		USDPerHourAtMost: decimal.Max(b.most(o), b.there[pool]).String(), Spare: tried(f.Terms.Boot, f.Granularity) - f.Boot}
}

// tried is the longest that is billed beside a job's own time: so many machines may be
// ordered, each has the limit of a boot twice, until it runs and until it is checked, and is
// billed until its cloud has let it go. Each that is given back is a bill of its own.
func tried(boot, granularity time.Duration) time.Duration {
	each := 2*boot + providers.ReleaseTime
	bill := each
	if granularity > 0 {
		bill = (each + granularity - 1) / granularity * granularity
	}
	return (mostBoxes-1)*bill + each
}

// clocks are the known dates of the platform, and when the first of the machines that would be
// rented ends: a live answer, which a fact without a date cannot give.
func (b *market) clocks(offers []Offer) []offer.Clock {
	clocks := slices.Clone(b.platform.Facts().Clocks)
	var first time.Time
	for _, o := range offers[:min(b.MaxBoxes, len(offers))] {
		if !o.Until.IsZero() && (first.IsZero() || o.Until.Before(first)) {
			first = o.Until
		}
	}
	if !first.IsZero() {
		clocks = append(clocks, offer.Clock{What: b.platform.Facts().Until, At: first.Truncate(time.Minute)})
	}
	return clocks
}

// describe says what an offer is beside its price, for the person who pays, and what
// speaks for it beside the cheapest.
func (o Offer) describe(cheapest Offer) string {
	var parts []string
	if o.Reliability > 0 {
		parts = append(parts, "reliability "+strconv.FormatFloat(o.Reliability*100, 'f', 1, 64)+"%")
	}
	if !o.USDPerGBOut.IsZero() {
		parts = append(parts, "$"+o.USDPerGBOut.String()+" a GB out")
	}
	if !o.StoppedUSDPerHour.IsZero() {
		parts = append(parts, "$"+o.StoppedUSDPerHour.StringFixed(4)+"/h when stopped")
	}
	if o.Place != "" {
		parts = append(parts, o.Place)
	}
	if !o.Until.IsZero() {
		parts = append(parts, "until "+o.Until.UTC().Format(time.DateOnly))
	}
	switch {
	case o.ID == cheapest.ID:
		parts = append(parts, "the cheapest that fits")
	case o.Reliability > cheapest.Reliability:
		parts = append(parts, "more reliable than the cheapest")
	case o.Until.After(cheapest.Until):
		parts = append(parts, "lasts longer than the cheapest")
	default:
		parts = append(parts, "if the cheaper ones are taken")
	}
	return strings.Join(parts, ", ")
}

// MaxTime is how long an offer lasts; 0 = no end is stated.
func (o Offer) MaxTime(now time.Time) time.Duration {
	if o.Until.IsZero() {
		return 0
	}
	return o.Until.Sub(now)
}

// credit is the account's balance, in US dollars; false where that is unknown.
func (b *market) credit(ctx context.Context) (decimal.Decimal, bool) {
	creditor, ok := b.account.(Creditor)
	if !ok {
		return decimal.Zero, false
	}
	credit, err := creditor.Credit(ctx)
	return credit, err == nil
}

// lasts says when a credit runs out with all machines rented, "" where no price is known.
func (b *market) lasts(credit decimal.Decimal) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var rate decimal.Decimal
	for _, o := range b.prices {
		rate = decimal.Max(rate, o.USDPerHour.Mul(decimal.NewFromInt(int64(b.MaxBoxes))))
	}
	if rate.IsZero() {
		return ""
	}
	hours := credit.Div(rate)
	ends := b.now().Add(time.Duration(hours.InexactFloat64() * float64(time.Hour)))
	return fmt.Sprintf("with %s at $%s/h, the credit of $%s lasts until %s", units.Count(b.MaxBoxes, "machine"), rate.StringFixed(3), credit.StringFixed(2), units.FormatTime(ends.UTC()))
}

// Quote returns the shapes that the pools can run, and their prices.
func (p *Provider) Quote(ctx context.Context, name string, shapes []offer.Shape) ([]offer.Quote, error) {
	b, err := p.backend(name)
	if err != nil {
		return nil, err
	}
	by, _, err := b.look(ctx)
	if err != nil {
		return nil, err
	}
	b.bounds(true)
	var out []offer.Quote
	if len(by) == 0 {
		for i := range shapes {
			out = append(out, offer.Quote{Backend: b.Name, Shape: i, Passing: true, Why: b.nothing().Notes[0], Would: "a higher max_usd_per_hour, or other GPUs, in backend." + b.of})
		}
	}
	for _, pool := range sortedKeys(by) {
		for i, s := range shapes {
			q := offer.Quote{Backend: b.Name, Pool: pool, Shape: i, Price: b.price(pool), Expires: b.now().Add(quoteLife), Boot: b.platform.Facts().Boot}
			q.Why, q.Would = b.lacks(s, b.pool(pool, by[pool]))
			q.Fits = q.Why == ""
			out = append(out, q)
		}
	}
	return out, nil
}

// lacks says why a shape does not fit a pool, "" if it does.
func (b *market) lacks(s offer.Shape, pool offer.Pool) (why, would string) {
	switch {
	case s.Nodes > 1:
		return fmt.Sprintf("a rented machine is one node, and the job asks for %d", s.Nodes), "choose a scheduler"
	case s.GPUs > pool.GPUs:
		return fmt.Sprintf("the machine has %s, and the job asks for %d", units.Count(pool.GPUs, "GPU"), s.GPUs), fmt.Sprintf("gpus = %d in backend.%s", s.GPUs, b.of)
	case len(s.GPU.Models) > 0 && !slices.ContainsFunc(s.GPU.Models, func(m string) bool { return named(m, pool.GPUModel) }):
		return fmt.Sprintf("its GPU is %s, and the job asks for %s", pool.GPUModel, strings.Join(s.GPU.Models, " or ")), ""
	case s.GPU.Memory > pool.GPUMem:
		return fmt.Sprintf("its GPU has %s, and the job asks for %s", units.FormatSize(pool.GPUMem), units.FormatSize(s.GPU.Memory)), ""
	case s.CPUs > pool.CPUs && pool.CPUs > 0:
		return fmt.Sprintf("the machine has %s, and the job asks for %d", units.Count(pool.CPUs, "core"), s.CPUs), fmt.Sprintf("cpus = %d", pool.CPUs)
	case s.Memory > pool.Memory && pool.Memory > 0:
		return fmt.Sprintf("the machine has %s of memory, and the job asks for %s", units.FormatSize(pool.Memory), units.FormatSize(s.Memory)), ""
	case s.Disk > b.Disk:
		return fmt.Sprintf("the machine's disk has %s, and the job asks for %s", units.FormatSize(b.Disk), units.FormatSize(s.Disk)), "a larger disk in backend." + b.of
	case pool.MaxTime > 0 && s.Walltime > pool.MaxTime:
		return fmt.Sprintf("its host takes the machine back after %s, and the job may take %s", units.FormatDuration(pool.MaxTime), units.FormatDuration(s.Walltime)), ""
	}
	return "", ""
}

// Preflight runs the checks that need no machine.
func (p *Provider) Preflight(ctx context.Context, name string, checks []providers.Check) ([]providers.Finding, error) {
	b, err := p.backend(name)
	if err != nil {
		return nil, err
	}
	out, err := b.paid(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.dialer.Able(); err != nil {
		out = append(out, providers.Finding{Check: -1, Summary: fmt.Sprintf("No job could run on machines of backend.%s", b.Name), Detail: providers.WithHint(err)})
	}
	if t := b.platform.Facts().tier(b.depot.there(b.Workdir)); b.OnHold == "stop" && t.Name != "" && !t.Stop {
		out = append(out, providers.Finding{Check: -1, Summary: fmt.Sprintf("Machines that backend.%s stops lose their files", b.Name),
			Detail: fmt.Sprintf("workdir %s is on the %s of %s, which a stop erases: with muster off, results there would be lost. Set on_hold to \"release\" or \"keep\"%s.", b.Workdir, t.Name, b.platform.Facts().Name, b.keeping())})
	}
	for i, c := range checks {
		for _, r := range c.Require {
			if err := attempt.Required(&providers.Job{Workdir: b.depot.here(c.Workdir), Require: []providers.Require{{Path: b.depot.inside(r.Path), MinSize: r.MinSize}}}); err != nil {
				out = append(out, providers.Finding{Check: i, Warning: true, Summary: "No machine is there yet to look for a required file",
					Detail: strings.TrimPrefix(r.Message+": ", ": ") + fmt.Sprintf("muster sends no file %s to machines of backend.%s, so that it has to be in their image or on a volume. Each launch looks for it, and a job without it fails while its machine is billed.", r.Path, b.Name)})
			}
		}
		if !b.runs(c.Image) {
			out = append(out, providers.Finding{Check: i, Summary: fmt.Sprintf("Machines of backend.%s run image %s, and the job asks for %s", b.Name, b.Image, c.Image),
				Detail: "A rented machine is a container itself and starts no other. Use one image, or a backend for each."})
		}
		if c.Keep > b.Disk || c.Disk > b.Disk {
			out = append(out, providers.Finding{Check: i, Summary: fmt.Sprintf("The jobs leave up to %s, and a machine of backend.%s has %s of disk", units.FormatSize(max(c.Keep, c.Disk)), b.Name, units.FormatSize(b.Disk)),
				Detail: "The disk of a machine cannot grow. Set disk to more."})
		}
	}
	return out, nil
}

// runs reports whether a machine runs jobs in an image ("" = none of their own).
func (b *market) runs(image string) bool {
	return image == "" || image == b.Image || b.platform.Facts().Whole
}

// paid is a finding where the account's credit has run out.
func (b *market) paid(ctx context.Context) (out []providers.Finding, err error) {
	creditor, ok := b.account.(Creditor)
	if !ok {
		return nil, nil
	}
	credit, err := creditor.Credit(ctx)
	if errors.Is(err, ErrNotTold) {
		return nil, nil
	}
	if err == nil && !credit.IsPositive() {
		out = append(out, providers.Finding{Check: -1, Summary: fmt.Sprintf("The account of backend.%s has $%s left", b.of, credit.StringFixed(2)), Detail: "Nothing can be rented. Add credit first."})
	}
	return out, err
}

// keeping are the folders that survive a stop, as advice.
func (b *backend) keeping() (text string) {
	for _, t := range b.platform.Facts().Tiers {
		if t.Stop && t.Path != "/" {
			text += ", or workdir below " + t.Path
		}
	}
	return text
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
