package batch

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/arrays"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
)

// intake writes new jobs on the spool, in batches. From then on a new muster finds
// them, and submits those that the scheduler does not have.
type intake struct {
	jobs    *jobs
	reports *reports
}

// add writes new jobs in batches, which it names by a token.
func (in *intake) add(site scheduler.Site, token string, list []*providers.Job) error {
	if len(list) == 0 {
		return nil
	}
	if token == "" {
		token = list[0].Token
	}
	if err := errors.Join(in.begin(list), in.supersede(list)); err != nil {
		return err
	}
	gathered := arrays.Gather(list, site.LongestArray(), in.jobs.openBatch)
	batches := make([]*batch, len(gathered))
	for part, like := range gathered {
		first := like[0]
		k := &batch{Name: arrays.Name(first.Phase, token, part), Seq: in.jobs.nextSeq() + part, Phase: first.Phase, Pool: first.Pool, Limit: first.Cap,
			Array: len(like) > 1 && first.Pack == "", Packed: len(like) > 1 && first.Pack != "", Slots: first.Shape.Slots, Made: time.Now(), jobs: map[int]*job{}}
		k.dir = node.Batch(in.jobs.path("batches", k.Name))
		for i := range like {
			k.Indexes = append(k.Indexes, i)
		}
		batches[part] = k
	}
	capped(batches)
	var queued []offer.Observation
	for part, like := range gathered {
		k := batches[part]
		elements, err := in.elements(k, like, site.Bounds(k.Pool, k.request(like[0], "", "").Job))
		if err != nil {
			return fmt.Errorf("write batch %s on the spool: %w", k.Name, err)
		}
		for i := range elements {
			j := in.jobs.add(k, elements[i].Index, &elements[i].Job)
			queued = append(queued, j.last)
		}
		in.jobs.batches = append(in.jobs.batches, k)
	}
	return in.reports.tell(queued...)
}

// supersede marks the failed launches that new jobs replace as cancelled: the scheduler may have
// given up a node on which one of them still runs.
func (in *intake) supersede(list []*providers.Job) error {
	for _, j := range list {
		if j.Guard == nil {
			continue
		}
		token, _, _ := strings.Cut(j.Guard.Before, ".")
		if old := in.jobs.byToken[token]; old == nil || !old.ended || old.last.Status == offer.Completed {
			continue
		}
		if err := os.WriteFile(in.jobs.path("cancels", token), nil, 0o600); err != nil {
			return fmt.Errorf("note that a launch of %s is superseded: %w", j.Address, err)
		}
	}
	return nil
}

// begin resets the failure counts of breakers with no job left to run.
func (in *intake) begin(list []*providers.Job) error {
	open := map[string]bool{}
	for _, j := range in.jobs.byToken {
		if !j.ended {
			open[j.of] = true
		}
	}
	for _, j := range list {
		of := j.StoppedAs()
		if open[of] {
			continue
		}
		open[of] = true
		if err := in.jobs.spool().Forget(of); err != nil {
			return fmt.Errorf("begin to count the failures of %s: %w", of, err)
		}
	}
	return nil
}

// elements writes a batch. Each job gets the index of the element that it depends
// on, where one dependency between like elements says it all.
func (in *intake) elements(k *batch, list []*providers.Job, most scheduler.Bounds) ([]node.Element, error) {
	elements := make([]node.Element, len(list))
	index := arrays.Depend(list, nil, in.jobs.notation.Elements(), in.jobs.ahead).Index
	secrets := map[string][]byte{}
	for i, j := range list {
		elements[i] = node.Element{Index: i, Job: *j}
		if index != nil && k.Array {
			elements[i].Index = index[i]
		}
		if len(j.Secrets) > 0 {
			secrets[j.Token] = wrapper.Exports(j.Secrets)
		}
	}
	slices.SortFunc(elements, func(a, b node.Element) int { return a.Index - b.Index })
	k.Indexes = nil
	for i := range elements {
		k.Indexes = append(k.Indexes, elements[i].Index)
	}
	return elements, k.write(elements, secrets, most)
}
