package slurm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// testsMost is how many `sbatch --test-only` one Quote may run, and testsEach how
// many of one shape it may in any case.
const testsMost, testsEach = 32, 2

// Quote says on which partitions shapes fit and how long they would wait by
// Slurm's own schedule. Shapes that Slurm would refuse do not fit.
func (b *Site) Quote(ctx context.Context, shapes []offer.Shape) ([]offer.Quote, error) {
	pools, err := b.Pools(ctx)
	if err != nil {
		return nil, err
	}
	live, err := b.Facts(ctx)
	if err != nil {
		live = nil
	}
	var out []offer.Quote
	for i, shape := range shapes {
		o, err := optionsOf(shape.Options)
		if err != nil {
			for _, p := range pools {
				out = append(out, offer.Quote{Backend: b.Name, Pool: p.Name, Shape: i, Wait: -1, Why: err.Error()})
			}
			continue
		}
		f := b.fitter(live, shape, o, pools)
		waits := f.trials(ctx, max(testsMost/len(shapes), testsEach))
		for _, p := range pools {
			q := f.quote(p)
			q.Shape = i
			if l := live.Partition(p.Name); l != nil {
				q.Price = charged(p.Price, b.perBilling(p.Name), live, l, f.shape, o)
			}
			if wait, asked := waits[p.Name]; asked {
				q.Wait = wait
			}
			q.Wait = f.awake(p, q)
			out = append(out, q)
		}
	}
	return out, nil
}

// optionsOf are the slurm options within a shape's, which may be theirs alone
// or by type of backend.
func optionsOf(text string) (Options, error) {
	if text == "" {
		return Options{}, nil
	}
	var by map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &by); err == nil {
		if own, ok := by["slurm"]; ok {
			return parseOptions(own)
		}
	}
	return parseOptions(json.RawMessage(text))
}

// wait asks Slurm when a job would start that were submitted now; -1 = it
// does not say. The error is for options that sbatch cannot read.
func (b *Site) wait(ctx context.Context, s offer.Shape, o Options, pool string) (time.Duration, error) {
	argv := []string{"--partition=" + pool}
	add := func(name, value string) {
		if value != "" {
			argv = append(argv, "--"+name+"="+value)
		}
	}
	scriptRequest{Request: scheduler.Request{Job: &providers.Job{Shape: s}}, Gres: cluster.Gres(b.Last().Partition(pool), o.Spread(s))}.resources(add, o)
	add("account", b.Config.Account)
	if add("qos", o.QoS); o.QoS == "" {
		add("qos", b.Config.QoS)
	}
	add("constraint", o.Constraint)
	add("reservation", o.Reservation)
	if s.Walltime > 0 {
		add("time", cluster.FormatLimit(s.Walltime))
	}
	add("licenses", o.Licenses)
	if o.Exclusive {
		argv = append(argv, "--exclusive")
	}
	argv = slices.DeleteFunc(argv, func(a string) bool { return replacesArg(o.Extra, a) })
	at, err := b.Cluster.WouldStart(ctx, append(append(slices.Clone(argv), o.Args()...), "--wrap=true")...)
	if at.IsZero() && err == nil && len(o.Extra) > 0 {
		if without, _ := b.Cluster.WouldStart(ctx, append(argv, "--wrap=true")...); !without.IsZero() {
			return -1, providers.Errorf(providers.Invalid, "no node of the partition fits with extra = %q; one does without it", o.Extra)
		}
	}
	if at.IsZero() {
		return -1, err
	}
	return max(time.Until(at).Round(time.Second), 0), nil
}

// trials ask Slurm when jobs of a shape would start on partitions, of so many at
// most, and note which it would refuse: then others are named.
func (f *fitter) trials(ctx context.Context, most int) map[string]time.Duration {
	waits := map[string]time.Duration{}
	if f.live == nil {
		return waits
	}
	for _, p := range f.all {
		q := f.quote(p)
		if !q.Fits && q.MaxTime == 0 || len(waits) == most || !f.worth(p) {
			continue
		}
		segment := f.shape
		if !q.Fits {
			segment.Walltime = q.MaxTime
		}
		wait, err := f.wait(ctx, segment, f.o, p.Name)
		if waits[p.Name] = wait; err != nil {
			m := misfit{refused: true}
			m.why, m.would = refused(err)
			if f.found[p.Name] = m; cluster.Unread(err) {
				f.wrong = m
				return nil
			}
		}
	}
	return waits
}

// another is what to do about a refusal, with the partitions that would do but
// the one that refused.
func (f *fitter) another(hint, but string) string {
	const vague = "choose another partition"
	would := f.choices(but)
	switch {
	case would == "":
		return strings.NewReplacer(", or "+vague, "", vague+", or ", "", vague+"; ", "", vague, "").Replace(hint)
	case strings.Contains(hint, vague):
		return strings.Replace(hint, vague, would, 1)
	case strings.HasPrefix(hint, "choose partition"): // of the partitions with the missing resource, those that take it
		return would
	}
	return either(hint, would)
}

// awake is the least wait of a shape on a partition, with delays that the
// scheduler leaves out: nodes that are powered down boot first, and a reservation
// has yet to begin.
func (f *fitter) awake(p offer.Pool, q offer.Quote) time.Duration {
	l := f.live.Partition(p.Name)
	if l == nil || !q.Fits {
		return q.Wait
	}
	least := f.live.Resumes(l, f.shape, f.o.Requirements().Constraint)
	if opens := f.live.Opens(f.o.Requirements().Reservation); !opens.IsZero() {
		least = max(least, time.Until(opens).Round(time.Second))
	}
	if least == 0 {
		return q.Wait
	}
	return max(q.Wait, least)
}

// refused is why Slurm would not take a shape, and what to do.
func refused(err error) (why, would string) {
	var pe *providers.Error
	if errors.As(err, &pe) {
		if pe.Detail == "" {
			return pe.Summary, pe.Hint
		}
		return fmt.Sprintf("Slurm would refuse it: %s (%s)", pe.Summary, pe.Detail), pe.Hint
	}
	return err.Error(), ""
}
