package login

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/arrays"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/node"
	sbatch "github.com/muster-run/muster/providers/slurm/script"
	"github.com/muster-run/muster/providers/wrapper"
)

// Submit takes jobs in: what is new is laid down on the spool in batches, and
// then whatever the spool has that Slurm does not is handed over.
func (s *Slurm) Submit(ctx context.Context, r providers.SubmitRequest) ([]providers.Submitted, error) {
	b, unlock, err := s.ruled(r.Backend, r.Fence, r.Holder)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c := b.campaign
	if err := c.make(); err != nil {
		return nil, err
	}
	out := make([]providers.Submitted, len(r.Jobs))
	var fresh []*providers.Job
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if j.Workdir == "" {
			j.Workdir = b.Workdir
		}
		out[i].Token = j.Token
		if k := c.jobs[j.Token]; k == nil {
			if err := b.check(j); err != nil {
				out[i].Err = err
				continue
			}
			fresh = append(fresh, j)
		} else if k.digest != digestOf(j) {
			out[i].Err = providers.Errorf(providers.Conflict, "token %s is another job's", j.Token)
		}
	}
	if err := c.succeed(fresh); err != nil {
		return nil, err
	}
	if err := c.lay(b, r.Batch, fresh); err != nil {
		return nil, err
	}
	mine := make([]*job, len(out)) // one that is refused is forgotten
	for i := range out {
		mine[i] = c.jobs[out[i].Token]
	}
	failed := s.handOver(ctx, b)
	if err := c.seeHolds(ctx); err != nil {
		return nil, err
	}
	for i, k := range mine {
		if out[i].Err != nil || k == nil {
			continue
		}
		out[i].Handle, out[i].Stage, out[i].HeldBy = k.elementID(), k.batch.stage(), k.last.HeldBy // no handle while it waits for room
		if err := failed[k.batch]; err != nil {
			out[i].Err = err
		}
	}
	return out, nil
}

// check refuses a job that Slurm could not be asked for.
func (b *backend) check(j *providers.Job) *providers.Error {
	if len(j.Token) < 2 {
		return providers.Errorf(providers.Invalid, "%s has no token", j.Address)
	}
	o, err := sbatch.ParseOptions(j.Options)
	if err != nil {
		return providers.Errorf(providers.Invalid, "options of %s cannot be read: %v", j.Address, err)
	}
	if bad := sbatch.OwnOption(o.Extra); bad != "" {
		return providers.Errorf(providers.Invalid, "options.extra of %s holds %s", j.Address, bad)
	}
	return nil
}

// lay writes new jobs down as batches. From then on they are the spool's.
func (c *campaign) lay(b *backend, token string, jobs []*providers.Job) error {
	if len(jobs) == 0 {
		return nil
	}
	if token == "" {
		token = jobs[0].Token
	}
	if err := c.begin(jobs); err != nil {
		return err
	}
	known := func(token string) string {
		if j := c.open(token); j != nil {
			return j.batch.Name
		}
		return ""
	}
	gathered := arrays.Gather(jobs, b.longest(), known)
	list := make([]*batch, len(gathered))
	for part, like := range gathered {
		first := like[0]
		k := &batch{Name: arrays.Name(first.Phase, token, part), Seq: c.nextSeq() + part, Phase: first.Phase, Pool: first.Pool, Limit: first.Cap,
			Array: len(like) > 1, Made: time.Now(), jobs: map[int]*job{}}
		k.dir = node.Batch(c.path("batches", k.Name))
		for i := range like {
			k.Indexes = append(k.Indexes, i)
		}
		list[part] = k
	}
	capped(list)
	var queued []offer.Observation
	for part, like := range gathered {
		k := list[part]
		o, _ := sbatch.ParseOptions(like[0].Options) // they were read when the jobs came
		elements, err := c.elements(k, like, b.bounds(k.Pool, o, like[0].Shape))
		if err != nil {
			return fmt.Errorf("write batch %s on the spool: %w", k.Name, err)
		}
		for i := range elements {
			j := c.adopt(k, elements[i].Index, &elements[i].Job)
			queued = append(queued, j.last)
		}
		c.batches = append(c.batches, k)
	}
	return c.tell(queued...)
}

// begin starts to count the failures of phases anew that have nothing left to
// run: what comes now is another batch of them.
func (c *campaign) begin(jobs []*providers.Job) error {
	open := map[string]bool{}
	for _, j := range c.jobs {
		if !j.ended {
			open[j.phase] = true
		}
	}
	for _, j := range jobs {
		if open[j.Phase] {
			continue
		}
		open[j.Phase] = true
		if err := node.Spool(c.spool).Forget(j.Phase); err != nil {
			return fmt.Errorf("begin to count the failures of %s: %w", j.Phase, err)
		}
	}
	return nil
}

// elements writes a batch down, each job at the index that its like element
// has in what it comes after.
func (c *campaign) elements(k *batch, jobs []*providers.Job, most node.Bounds) ([]node.Element, error) {
	elements := make([]node.Element, len(jobs))
	index := arrays.Depend(jobs, nil, c.ahead).Index
	secrets := map[string][]byte{}
	for i, j := range jobs {
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

func (c *campaign) nextSeq() int {
	if n := len(c.batches); n > 0 {
		return c.batches[n-1].Seq + 1
	}
	return 1
}

// open is the job that has yet to complete before one that comes after a token
// may start; nil when there is none, or it is not ours.
func (c *campaign) open(token string) *job {
	j := c.jobs[c.heir(token)]
	if j == nil || j.last.Status == offer.Completed {
		return nil
	}
	if e, ok := node.Spool(c.spool).LastEnd(j.token); ok && e.Completed() {
		return nil
	}
	return j
}

// ahead is where the job of a token stands, if others still come after it.
func (c *campaign) ahead(token string) (arrays.Element, bool) {
	j := c.open(token)
	if j == nil {
		return arrays.Element{}, false
	}
	return arrays.Element{Of: j.batch.ahead(), Index: j.index}, true
}

// handOver submits every batch that Slurm does not have, in order, while those
// that others come after are held; then it releases them. It says for each
// batch that was not taken why, if that is an error: a batch that waits for
// room is in good hands.
func (s *Slurm) handOver(ctx context.Context, b *backend) map[*batch]*providers.Error {
	c := b.campaign
	failed := map[*batch]*providers.Error{}
	var todo []*batch
	for _, k := range c.batches {
		if k.id == "" && !k.over() {
			todo = append(todo, k)
		}
	}
	if len(todo) == 0 {
		c.letGo(ctx)
		return failed
	}
	follow := c.followed(todo)
	for i := 0; i < len(todo); i++ {
		k := todo[i]
		part, err := c.unparked(k)
		if err != nil {
			failed[k] = asError(err)
			break
		}
		if part != nil {
			todo = slices.Insert(todo, i, part)
			follow[part] = follow[k]
			k = part
		}
		if c.unready(k) {
			continue
		}
		parts, err := c.divide(k)
		if len(parts) > 0 {
			todo = slices.Insert(todo, i, parts...)
			for _, part := range parts {
				follow[part] = follow[k]
			}
			k = parts[0]
		}
		if err != nil {
			failed[k] = asError(err)
			break
		}
		k, err = s.hand(ctx, b, k, follow[k] || c.held || c.heirsIn(k))
		if err != nil && !k.tried.IsZero() { // sbatch did not say: it may have submitted
			if where, _ := c.resolve(ctx, k); where == offer.Found {
				err = nil
			}
		}
		if err != nil {
			pe := asError(err)
			if pe.Class == providers.Quota {
				c.tell(k.waiting(b.named(k, pe))...) // and so does what comes after it
				continue
			}
			failed[k] = pe
			if pe.Class == providers.Unreachable || pe.Class == providers.Internal {
				for _, later := range todo[i:] {
					failed[later] = pe
				}
				break
			}
			c.refused(k, pe)
		}
	}
	err := c.letGo(ctx)
	if err == nil {
		err = c.holdParked(ctx, todo)
	}
	if err := asError(err); err != nil {
		for _, k := range todo {
			if k.id != "" && k.held != "" && !c.held {
				failed[k] = err
			}
		}
	}
	return failed
}

// holdParked holds jobs of batches that Slurm has by now, and that were held by
// token while it was not known whether it has them.
func (c *campaign) holdParked(ctx context.Context, batches []*batch) error {
	var list []*job
	for _, k := range batches {
		for _, j := range k.jobs {
			if k.id != "" && c.parked[j.token] && !j.ended && j.last.Status != offer.Running {
				list = append(list, j)
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	err := c.cluster.Scontrol(ctx, "hold", strings.Join(cancelIDs(list), ","))
	if cluster.Gone(err) || cluster.Unchangeable(err) {
		return nil
	}
	return err
}

// asError is an error as a diagnostic.
func asError(err error) *providers.Error {
	var pe *providers.Error
	if err != nil && !errors.As(err, &pe) {
		pe = providers.Errorf(providers.Internal, "%v", err)
	}
	return pe
}

// unready reports whether a batch may not be handed over yet: its phase is
// stopped, or Slurm does not have what it comes after.
func (c *campaign) unready(k *batch) bool {
	if node.Spool(c.spool).Stopped(k.Phase) != "" {
		return true // what its wrapper would refuse need not be sent
	}
	if k.tried.IsZero() && c.anyParked(k) {
		return true
	}
	if p := c.before(k); p != nil && p.id == "" {
		return true
	}
	for _, j := range k.jobs {
		for _, t := range j.after {
			if p := c.open(t); p != nil && p.batch.id == "" && !p.ended {
				return true
			}
		}
	}
	return false
}

// over reports whether nothing of a batch is left to do.
func (b *batch) over() bool {
	for _, j := range b.jobs {
		if !j.ended {
			return false
		}
	}
	return true
}

// followed are the batches that others of the list come after.
func (c *campaign) followed(list []*batch) map[*batch]bool {
	in := map[*batch]bool{}
	for _, k := range list {
		in[k] = true
	}
	out := map[*batch]bool{}
	for _, k := range list {
		if p := c.before(k); p != nil {
			out[p] = true
		}
		for _, j := range k.jobs {
			for _, t := range j.after {
				if p := c.jobs[c.heir(t)]; p != nil && in[p.batch] {
					out[p.batch] = true
				}
			}
		}
	}
	return out
}

// hand submits one batch, or the part of it for which there is room: that is
// what it returns.
func (s *Slurm) hand(ctx context.Context, b *backend, k *batch, hold bool) (*batch, error) {
	c := b.campaign
	if !k.tried.IsZero() {
		switch where, err := c.resolve(ctx, k); {
		case err != nil, where == offer.Found:
			return k, err
		case where == offer.Unknown:
			return k, &providers.Error{Class: providers.Unreachable, Summary: "It is not known yet whether Slurm has the job", Detail: "sbatch of " + k.Name + " did not say; it is looked for"}
		}
	}
	jobs, err := c.wanted(k)
	if err != nil || len(jobs) == 0 {
		return k, err
	}
	n, why, err := b.room(ctx, k)
	if err != nil {
		return k, err
	}
	if n < len(jobs) {
		part, err := c.split(k, k.Indexes[:n])
		if err != nil {
			return k, err
		}
		if err := c.tell(k.waiting(why)...); err != nil {
			return k, err
		}
		k, jobs = part, jobs[:n]
	}
	return s.send(ctx, b, k, jobs, hold)
}

// send submits one batch for which there is room. Where Slurm has another
// opinion of that it is asked how many there is room for.
func (s *Slurm) send(ctx context.Context, b *backend, k *batch, jobs []*providers.Job, hold bool) (*batch, error) {
	c := b.campaign
	e := arrays.Depend(jobs, k.Indexes, c.ahead)
	if p := c.before(k); p != nil {
		e.Also("afterany:" + p.id)
	}
	text, err := s.text(b, k, jobs, e)
	if err != nil {
		return k, err
	}
	script := filepath.Join(string(k.dir), "script.sh")
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return k, fmt.Errorf("write script: %w", err)
	}
	// An element's own dependency must be there before it could start.
	if k.wide = e.Each != nil; k.wide {
		if err := k.dir.Note("wide", "each waits for all, until it is told its own"); err != nil {
			return k, err
		}
	}
	held := hold || k.wide
	if held {
		if err := k.hold(untilAllIsIn); err != nil {
			return k, err
		}
	}
	if err := c.pace.Wait(ctx, b.Config.Rate); err != nil {
		return k, err
	}
	k.tried = time.Now()
	if err := errors.Join(k.dir.Note("failed", ""), k.dir.Note("tried", k.tried.Format(time.RFC3339Nano))); err != nil {
		return k, fmt.Errorf("note the submission: %w", err)
	}
	id, unclear, err := c.cluster.Submit(ctx, sbatch.Argv(script, held))
	c.rowsAt = time.Time{}
	if err != nil {
		if unclear {
			return k, errors.Join(err, k.dir.Note("failed", time.Now().Format(time.RFC3339Nano)))
		}
		k.tried = time.Time{}
		if noteErr := k.dir.Note("tried", ""); noteErr != nil {
			return k, errors.Join(err, noteErr)
		}
		if n := c.lessThan(ctx, k, script, err); n > 0 {
			part, err := c.split(k, k.Indexes[:n])
			if err != nil {
				return k, err
			}
			return s.send(ctx, b, part, jobs[:n], hold)
		}
		return k, err
	}
	return k, c.identify(k, id)
}

// identify notes the id that Slurm gave a batch.
func (c *campaign) identify(k *batch, id string) error {
	k.id = id
	if err := k.dir.Note("id", id); err != nil {
		return fmt.Errorf("note the id of %s: %w", k.Name, err)
	}
	return nil
}

// waiting is what there is to tell of jobs that wait on the spool, where it is
// news.
func (b *batch) waiting(why string) (list []offer.Observation) {
	for _, i := range b.Indexes {
		if j := b.jobs[i]; j != nil && !j.ended && j.last.Reason != why {
			o := j.last
			o.Status, o.Reason, o.Stage, o.HeldBy = offer.Queued, why, offer.Accepted, ""
			list = append(list, o)
		}
	}
	return list
}

// wanted are the jobs of a batch that are still to run: not those that were
// cancelled meanwhile, nor those that come after what has failed, which end
// here.
func (c *campaign) wanted(k *batch) ([]*providers.Job, error) {
	elements, err := k.dir.Read()
	if err != nil {
		return nil, err
	}
	k.Indexes = nil
	var jobs []*providers.Job
	var blocked []offer.Observation
	for i := range elements {
		j := k.jobs[elements[i].Index]
		switch {
		case j == nil || j.ended:
		case c.stuck(j):
			blocked = append(blocked, j.cancelled(offer.Blocked))
		default:
			k.Indexes = append(k.Indexes, j.index)
			jobs = append(jobs, &elements[i].Job)
		}
	}
	return jobs, c.tell(blocked...)
}

// stuck reports whether something a job comes after has ended otherwise than
// well, or is not with us at all, as it was refused: its start would not run.
func (c *campaign) stuck(j *job) bool {
	for _, t := range j.after {
		p := c.jobs[c.heir(t)]
		if p != nil && p.ended && p.last.Status != offer.Completed || p == nil && node.Spool(c.spool).Unmet(t) {
			return true
		}
	}
	return false
}

// refused ends the jobs of a batch that Slurm will not have.
func (c *campaign) refused(k *batch, why *providers.Error) {
	for i, j := range k.jobs {
		delete(c.jobs, j.token)
		delete(k.jobs, i)
	}
	os.RemoveAll(string(k.dir))
	c.batches = slices.DeleteFunc(c.batches, func(b *batch) bool { return b == k })
}

// cancelled is the end of a job that did not run.
func (j *job) cancelled(reason string) offer.Observation {
	o := j.last
	o.Status, o.Reason, o.Ended, o.Class = offer.Cancelled, reason, time.Now(), ""
	return o
}

// text is the script of a batch.
func (s *Slurm) text(b *backend, k *batch, jobs []*providers.Job, e arrays.Edges) (string, error) {
	agent, err := s.agent(b)
	if err != nil {
		return "", err
	}
	others, err := s.otherAgents(b, k.Pool)
	if err != nil {
		return "", err
	}
	r, err := b.Config.Request(jobs[0], b.Last().Partition(k.Pool))
	if err != nil {
		return "", err
	}
	r.Name, r.Pool, r.Array, r.Indexes, r.Cap, r.Dir, r.Count, r.Campaign = k.Name, k.Pool, k.Array, k.Indexes, k.Cap, string(k.dir), len(jobs), b.Campaign
	r.Depend, r.Await, r.Spool, r.Agent, r.Others = e.Common, b.campaign.mayReturn(jobs), b.campaign.spool, agent, others
	return r.Text()
}

// mayReturn reports whether something that jobs come after may fail and be
// submitted again under a new id, as it needs more than Slurm can change on a
// job that it has. Then they are not cancelled with it, but pointed at it.
func (c *campaign) mayReturn(jobs []*providers.Job) bool {
	for _, j := range jobs {
		for _, t := range j.After {
			if p := c.open(t); p != nil && p.scales {
				return true
			}
		}
	}
	return false
}
