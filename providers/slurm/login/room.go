package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/slurm/arrays"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/node"
	"github.com/muster-run/muster/providers/slurm/script"
)

// options are those of a batch's jobs.
func (b *batch) options() script.Options {
	if len(b.Indexes) == 0 {
		return script.Options{}
	}
	spec, err := b.dir.Job(b.Indexes[0])
	if err != nil {
		return script.Options{}
	}
	o, _ := script.ParseOptions(spec.Options) // it was read when the job came
	return o
}

// room is how many jobs of a batch may be handed over now, as far as limits
// are known, and why it is not all; none is an error of class quota.
func (b *backend) room(ctx context.Context, k *batch) (n int, why string, err error) {
	c := b.campaign
	if err := c.crowded(k); err != nil {
		return 0, "", err
	}
	s, err := b.Limits(ctx)
	if err != nil {
		return 0, "", err
	}
	n = len(k.Indexes)
	l := s.Partition(k.Pool)
	if l == nil {
		return n, why, nil
	}
	list := s.SubmitLimits(b.Config.Account, b.QoSName(s, l, k.options().QoS), l)
	if len(list) == 0 {
		return n, why, nil
	}
	rows, err := c.queued(ctx)
	if err != nil {
		return 0, "", err
	}
	for _, l := range list {
		mine := 0
		for _, r := range rows {
			if !cluster.Ended(r.State) && l.Has(r) {
				mine++
			}
		}
		if left := l.Most - mine; left < n {
			n, why = left, fmt.Sprintf("%s lets you have %d jobs submitted", l.Who, l.Most)
		}
		if n <= 0 {
			return 0, why, &providers.Error{Class: providers.Quota, Summary: why}
		}
	}
	return n, why, nil
}

// named is why Slurm takes no more of a batch, with the limits that are known and
// their numbers.
func (b *backend) named(k *batch, why *providers.Error) string {
	text := why.Summary
	s := b.Last()
	l := s.Partition(k.Pool)
	if l == nil || strings.Contains(text, "lets you have") {
		return text
	}
	for _, l := range s.SubmitLimits(b.Config.Account, b.QoSName(s, l, k.options().QoS), l) {
		if strings.Contains(text, "(QOS") && !strings.HasPrefix(l.Who, "qos ") || strings.Contains(text, "(Assoc") && !strings.HasPrefix(l.Who, "account ") {
			continue
		}
		text += fmt.Sprintf("; %s lets you have %d jobs submitted", l.Who, l.Most)
	}
	return text
}

// queued is the queue, as it was seen a moment ago if nothing was submitted
// since.
func (c *campaign) queued(ctx context.Context) ([]cluster.QueueRow, error) {
	if time.Since(c.rowsAt) < lookFresh {
		return c.rows, nil
	}
	rows, err := c.cluster.Queue(ctx)
	if err != nil {
		return nil, err
	}
	c.rows, c.rowsAt = rows, time.Now()
	return rows, nil
}

// fitting finds out from Slurm itself how many jobs of a batch that it refused
// for a limit it would take: a limit may be one that is not told, or shared
// with others.
func (c *campaign) fitting(ctx context.Context, k *batch, script string) int {
	takes := func(n int) bool {
		return c.cluster.WouldTake(ctx, "--array="+cluster.FormatIndexes(k.Indexes[:n]), script)
	}
	if !k.Array || len(k.Indexes) < 2 || !takes(1) {
		return 0
	}
	low, high := 1, len(k.Indexes) // low is taken, high is not
	for high-low > 1 {
		if mid := (low + high) / 2; takes(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// lessThan is how many jobs Slurm would take of a batch that it refused with
// an error, 0 if it is not for a limit on submitted jobs, or for less than one.
func (c *campaign) lessThan(ctx context.Context, k *batch, script string, refusal error) int {
	var pe *providers.Error
	if !errors.As(refusal, &pe) || pe.Class != providers.Quota {
		return 0
	}
	return c.fitting(ctx, k, script)
}

// divide takes an array apart whose jobs come after arrays that had to be
// divided themselves: each part comes after like elements of one. The batch
// keeps the last of them.
func (c *campaign) divide(k *batch) (parts []*batch, err error) {
	after := false
	for _, j := range k.jobs {
		for _, t := range j.after {
			p := c.open(t)
			after = after || p != nil && p.batch.Of != ""
		}
	}
	if !after || !k.Array || !k.tried.IsZero() {
		return nil, nil
	}
	jobs, err := c.wanted(k)
	if err != nil {
		return nil, err
	}
	like := arrays.ByUpstream(jobs, func(token string) string {
		if p := c.open(token); p != nil {
			return p.batch.Name
		}
		return ""
	})
	for _, list := range like[:max(len(like)-1, 0)] {
		var indexes []int
		for _, j := range list {
			indexes = append(indexes, c.jobs[j.Token].index)
		}
		slices.Sort(indexes)
		part, err := c.split(k, indexes)
		if err != nil {
			return parts, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// split takes jobs out of an array that is too long for the room there is, as
// an array of its own with the same indexes; the rest stays.
func (c *campaign) split(k *batch, indexes []int) (*batch, error) {
	elements, err := k.dir.Read()
	if err != nil {
		return nil, err
	}
	part := &batch{Of: cmp.Or(k.Of, k.Name), Seq: k.Seq, Phase: k.Phase, Pool: k.Pool, Limit: k.Limit, Cap: min(k.Cap, len(indexes)), Behind: k.Behind, Array: k.Array,
		Made: k.Made, Indexes: slices.Clone(indexes), jobs: map[int]*job{}}
	part.Name = c.partName(part.Of)
	part.dir = node.Batch(c.path("batches", part.Name))
	var mine []node.Element
	secrets := map[string][]byte{}
	for _, e := range elements {
		if !slices.Contains(part.Indexes, e.Index) {
			continue
		}
		mine = append(mine, e)
		if text := k.dir.Secrets(e.Job.Token); text != nil {
			secrets[e.Job.Token] = text
		}
	}
	// The batch keeps its files: of a job that is in both, the part has it.
	if err := part.write(mine, secrets, k.dir.Bounds()); err != nil {
		return nil, fmt.Errorf("divide batch %s: %w", k.Name, err)
	}
	for _, i := range part.Indexes {
		if j := k.jobs[i]; j != nil {
			part.jobs[i], j.batch = j, part
			delete(k.jobs, i)
		}
	}
	k.Indexes = slices.DeleteFunc(slices.Clone(k.Indexes), func(i int) bool { return slices.Contains(part.Indexes, i) })
	c.batches = slices.Insert(c.batches, slices.Index(c.batches, k), part)
	return part, nil
}

// partName is a name for a part of a batch that no other has.
func (c *campaign) partName(of string) string {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s-%d", of, n)
		if !slices.ContainsFunc(c.batches, func(k *batch) bool { return k.Name == name }) && !exists(c.path("batches", name)) {
			return name
		}
	}
}
