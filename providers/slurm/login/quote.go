package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/script"
)

// testsMost is how many `sbatch --test-only` one Quote may run.
const testsMost = 8

// Quote says on which partitions shapes fit and how long they would wait, as
// Slurm's own planning has it now.
func (s *Slurm) Quote(ctx context.Context, name string, shapes []offer.Shape) ([]offer.Quote, error) {
	b, err := s.backend(name)
	if err != nil {
		return nil, err
	}
	pools, err := b.pools(ctx)
	if err != nil {
		return nil, err
	}
	live, liveErr := b.site(ctx)
	tests := 0
	var out []offer.Quote
	for i, shape := range shapes {
		var o script.Options
		if shape.Options != "" {
			if o, err = optionsOf(shape.Options); err != nil {
				return nil, err
			}
		}
		for _, p := range pools {
			q := offer.Quote{Backend: name, Pool: p.Name, Shape: i, Price: p.Price, Wait: -1}
			if l := live.Partition(p.Name); l != nil && !b.Price.Known {
				q.Price = charged(p.Price, b.perBilling(p.Name), live.Billing(l, shape), shape)
			}
			q.Why, q.Would = unfit(shape, o, p, pools)
			if q.Why == "" && liveErr == nil {
				q.Why, q.Would = b.limits(live, shape, o, p)
			}
			q.Fits = q.Why == ""
			if !q.Fits && liveErr == nil {
				q.MaxTime = b.cut(live, shape, o, p, pools)
			}
			if (q.Fits || q.MaxTime > 0) && liveErr == nil && tests < testsMost {
				tests++
				segment := shape
				if q.MaxTime > 0 {
					segment.Walltime = q.MaxTime
				}
				if q.Wait, err = b.wait(ctx, segment, o, p.Name); err != nil {
					q.Fits, q.MaxTime = false, 0
					q.Why, q.Would = refused(err)
				}
			}
			out = append(out, q)
		}
		if len(pools) == 0 {
			out = append(out, offer.Quote{Backend: name, Shape: i, Wait: -1, Why: "the cluster has none of the partitions that the backend block names"})
		}
	}
	return out, nil
}

// cut is the walltime with which a shape that does not fit a partition would, 0
// if something else keeps it out.
func (b *backend) cut(s *cluster.Facts, shape offer.Shape, o script.Options, p offer.Pool, all []offer.Pool) time.Duration {
	l := s.Partition(p.Name)
	if l == nil {
		return 0
	}
	most := s.LongestTime(b.config.Account, b.qosName(s, l, o.QoS), l)
	if most == 0 || shape.Walltime <= most {
		return 0
	}
	shape.Walltime = most
	if why, _ := unfit(shape, o, p, all); why != "" {
		return 0
	}
	if why, _ := b.limits(s, shape, o, p); why != "" {
		return 0
	}
	return most
}

// optionsOf are the slurm options within a shape's, which may be theirs alone
// or by type of backend.
func optionsOf(text string) (script.Options, error) {
	var by map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &by); err == nil {
		if own, ok := by["slurm"]; ok {
			return script.ParseOptions(own)
		}
	}
	return script.ParseOptions(json.RawMessage(text))
}

// unfit says why a shape cannot run on a partition, and where it could.
func unfit(s offer.Shape, o script.Options, p offer.Pool, all []offer.Pool) (why, would string) {
	if o.Partition != "" && o.Partition != p.Name {
		if !slices.ContainsFunc(all, func(p offer.Pool) bool { return p.Name == o.Partition }) {
			return fmt.Sprintf("there is no partition %s here; %s", o.Partition, cluster.Meant("partitions", o.Partition, poolNames(all))), ""
		}
		return fmt.Sprintf("the job is for partition %s only", o.Partition), ""
	}
	nodes := max(s.Nodes, o.Nodes, 1)
	fits := func(test func(p offer.Pool) bool) string { return otherwise(all, test) }
	switch {
	case p.MaxTime > 0 && s.Walltime > p.MaxTime:
		return fmt.Sprintf("partition %s ends jobs at %s", p.Name, units.FormatDuration(p.MaxTime)),
			fits(func(q offer.Pool) bool { return (q.MaxTime == 0 || s.Walltime <= q.MaxTime) && devices(s, q) })
	case s.GPUs > 0 && p.GPUs == 0:
		return fmt.Sprintf("partition %s has no GPUs", p.Name), fits(func(q offer.Pool) bool { return devices(s, q) })
	case s.GPUs > p.GPUs*nodes:
		return fmt.Sprintf("partition %s has %d GPUs a node, %d are asked for", p.Name, p.GPUs, s.GPUs), fits(func(q offer.Pool) bool { return devices(s, q) })
	case s.GPUs > 0 && !devices(s, p):
		return fmt.Sprintf("partition %s has GPUs of model %s", p.Name, p.GPUModel), fits(func(q offer.Pool) bool { return devices(s, q) })
	case p.CPUs > 0 && (s.CPUs+nodes-1)/nodes > p.CPUs:
		return fmt.Sprintf("nodes of partition %s have %d cores, %d are asked for", p.Name, p.CPUs, s.CPUs),
			fits(func(q offer.Pool) bool { return q.CPUs >= s.CPUs && devices(s, q) })
	case p.Memory > 0 && s.Memory > p.Memory*int64(nodes):
		return fmt.Sprintf("nodes of partition %s have %s of memory", p.Name, units.FormatSize(p.Memory)),
			fits(func(q offer.Pool) bool { return q.Memory*int64(nodes) >= s.Memory && devices(s, q) })
	case p.MaxNodes > 0 && nodes > p.MaxNodes:
		return fmt.Sprintf("partition %s gives a job %d nodes at most", p.Name, p.MaxNodes), fits(func(q offer.Pool) bool { return q.MaxNodes >= nodes })
	}
	return "", ""
}

// devices reports whether a partition's GPUs are those that are asked for.
func devices(s offer.Shape, p offer.Pool) bool {
	if s.GPUs == 0 {
		return true
	}
	if p.GPUs*max(s.Nodes, 1) < s.GPUs || s.GPU.Memory > 0 && p.GPUMem > 0 && p.GPUMem < s.GPU.Memory {
		return false
	}
	return len(s.GPU.Models) == 0 || slices.ContainsFunc(s.GPU.Models, func(m string) bool {
		return strings.EqualFold(m, p.GPUModel) || strings.EqualFold(m, p.GPUClass)
	})
}

func otherwise(all []offer.Pool, test func(offer.Pool) bool) string {
	var names []string
	for _, p := range all {
		if test(p) {
			text := p.Name
			if p.MaxTime > 0 {
				text += " (" + units.FormatDuration(p.MaxTime) + ")"
			}
			names = append(names, text)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "choose partition " + strings.Join(names, " or ")
}

func poolNames(all []offer.Pool) (names []string) {
	for _, p := range all {
		names = append(names, p.Name)
	}
	return names
}

// limits says why a quality of service or a partition's rules forbid a shape.
func (b *backend) limits(s *cluster.Facts, shape offer.Shape, o script.Options, p offer.Pool) (why, would string) {
	l := s.Partition(p.Name)
	if l == nil {
		return "", ""
	}
	name := b.qosName(s, l, o.QoS)
	if asked := o.QoS + b.config.QoS; asked != "" && !s.Closed && s.Quality(name) == nil {
		return fmt.Sprintf("there is no qos %s here; %s", name, cluster.Meant("qos", name, s.QoSNames(b.config.Account))), ""
	}
	if o.QoS != "" && !s.Closed && !slices.Contains(s.QoSNames(b.config.Account), o.QoS) {
		return fmt.Sprintf("qos %s is not yours", o.QoS), "yours are " + strings.Join(s.QoSNames(b.config.Account), ", ")
	}
	if why, would := s.Forbids(b.config.Account, name, shape, l); why != "" {
		return why, would
	}
	return s.Unmet(b.cluster.User, shape, cluster.Wishes{Constraint: o.Constraint, Reservation: o.Reservation, Licenses: o.Licenses}, l)
}

// wait asks Slurm when a job would start that were submitted now; -1 = it
// does not say. The error is for options that sbatch cannot read.
func (b *backend) wait(ctx context.Context, s offer.Shape, o script.Options, pool string) (time.Duration, error) {
	argv := []string{"--partition=" + pool}
	add := func(name, value string) {
		if value != "" {
			argv = append(argv, "--"+name+"="+value)
		}
	}
	script.Request{Job: &providers.Job{Shape: s}, Gres: b.gres(pool, s)}.Resources(add, o)
	add("account", b.config.Account)
	if add("qos", o.QoS); o.QoS == "" {
		add("qos", b.config.QoS)
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
	at, err := b.cluster.WouldStart(ctx, append(append(argv, o.Extra...), "--wrap=true")...)
	if at.IsZero() {
		return -1, err
	}
	return max(time.Until(at).Round(time.Second), 0), nil
}

// refused is why Slurm would not take a shape, and what to do.
func refused(err error) (why, would string) {
	var pe *providers.Error
	if errors.As(err, &pe) {
		return pe.Detail, pe.Hint
	}
	return err.Error(), ""
}
