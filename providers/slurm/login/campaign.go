package login

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/events"
	"github.com/muster-run/muster/providers/slurm/node"
)

// A campaign is what one campaign has on one backend: the batches on its
// spool, and what was told of their jobs. The spool is its only memory.
type campaign struct {
	spool   string
	cluster *cluster.Commands
	name    string // the campaign's

	mu      sync.Mutex
	loaded  bool
	batches []*batch
	jobs    map[string]*job // by token
	log     *events.Log     // all that was told, in order
	records node.Records    // that were read
	parked  map[string]bool // tokens of jobs that are held one by one
	stopped map[string]bool // phases, as far as it was told; see stops
	held    bool
	pace    cluster.Pace

	heirs     map[string]string // by token: the one that stands for it; see repoint
	unpointed map[string]bool   // of those: Slurm has not been told yet

	ends      int           // jobs that have ended
	looked    time.Time     // the last look at the queue that succeeded
	watched   bool          // somebody watches, and looks again
	rest      time.Duration // of accounting, between two questions of a watch
	accounted struct {
		n  int
		at time.Time
	}
	owing   map[string]*job    // by token: jobs with ends to be told; see settle
	settled time.Time          // accounting was asked of them
	rows    []cluster.QueueRow // the queue as it was at rowsAt, if nothing was submitted since
	rowsAt  time.Time
}

func newCampaign(spool string, c *cluster.Commands) *campaign {
	return &campaign{spool: spool, cluster: c, jobs: map[string]*job{}, log: events.In(spool), stopped: map[string]bool{},
		owing: map[string]*job{}, heirs: map[string]string{}, unpointed: map[string]bool{}}
}

func (c *campaign) path(parts ...string) string {
	return filepath.Join(append([]string{c.spool}, parts...)...)
}

// spoolDir is a campaign's directory in a workdir.
func spoolDir(workdir, lineage, backend string) string {
	sum := sha256.Sum256([]byte(lineage + "\x00" + backend))
	return filepath.Join(workdir, ".muster", "slurm", hex.EncodeToString(sum[:8]))
}

// load reads the spool once. A spool that is not there is an empty one.
func (c *campaign) load() error {
	if c.loaded {
		return nil
	}
	dirs, err := os.ReadDir(c.path("batches"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the spool: %w", err)
	}
	elements := map[*batch][]node.Element{}
	for _, d := range dirs {
		if strings.HasSuffix(d.Name(), ".new") {
			continue
		}
		b, list, err := loadBatch(c.path("batches", d.Name()))
		if err != nil {
			return fmt.Errorf("read the spool: %w", err)
		}
		c.batches, elements[b] = append(c.batches, b), list
	}
	slices.SortFunc(c.batches, func(a, b *batch) int { // parts before what they were taken out of
		return cmp.Or(a.Seq-b.Seq, strings.Compare(b.Of, a.Of), a.Made.Compare(b.Made), len(a.Name)-len(b.Name), strings.Compare(a.Name, b.Name))
	})
	holder := map[string]*batch{} // by token: a part keeps its files when a later one takes jobs out of it
	for _, b := range c.batches {
		for _, e := range elements[b] {
			if h := holder[e.Job.Token]; h == nil || b.part() > h.part() {
				holder[e.Job.Token] = b
			}
		}
	}
	for _, b := range c.batches {
		b.Indexes = nil
		for i := range elements[b] {
			e := &elements[b][i]
			if holder[e.Job.Token] == b {
				c.adopt(b, e.Index, &e.Job)
				b.Indexes = append(b.Indexes, e.Index)
			}
		}
	}
	c.held = exists(c.path("hold"))
	c.parked = map[string]bool{}
	parked, _ := os.ReadDir(c.path("holds")) // older spools have none
	for _, e := range parked {
		c.parked[e.Name()] = true
	}
	c.loadHeirs()
	if err := c.log.Load(); err != nil {
		return err
	}
	for _, e := range c.log.All() {
		c.apply(&e.Seen)
	}
	c.loaded = true
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (c *campaign) adopt(b *batch, index int, j *providers.Job) *job {
	k := &job{token: j.Token, address: j.Address, phase: j.Phase, digest: digestOf(j), after: j.After, base: max(j.Attempt, 1),
		walltime: j.Shape.Walltime, scales: j.Retry.Max > 1 && len(j.Retry.Scale) > 0, batch: b, index: index}
	k.last = offer.Observation{Token: j.Token, Presence: offer.Found, Status: offer.Queued, Attempt: k.base, Pool: j.Pool, Stage: b.stage()}
	b.jobs[index] = k
	c.jobs[j.Token] = k
	return k
}

// digestOf tells one spec from another. What a job comes after may differ:
// what has completed meanwhile is not named again. So may what is known of files,
// and the size of its phase.
func digestOf(j *providers.Job) string {
	k := *j
	k.After, k.MoveAside, k.Guard, k.Breaker.Jobs = nil, "", nil, 0
	b, err := json.Marshal(k)
	if err != nil {
		panic("bug: a job cannot be marshalled: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// make lays the folders of a spool down.
func (c *campaign) make() error {
	for _, d := range node.Dirs {
		if err := os.MkdirAll(c.path(d), 0o700); err != nil {
			return fmt.Errorf("make the spool: %w", err)
		}
	}
	return nil
}

// apply moves a job to what is told of it.
func (c *campaign) apply(o *offer.Observation) {
	j := c.jobs[o.Token]
	if j == nil || o.Attempt < j.last.Attempt && !over(o.Status) {
		return
	}
	j.last = *o
	if !j.ended && over(o.Status) {
		c.ends++
	}
	j.ended = over(o.Status)
}

func over(s offer.Status) bool {
	return s == offer.Completed || s == offer.Failed || s == offer.Cancelled || s == offer.Lost
}

// tell journals events and wakes those who watch. An end is told once, and
// after those of the launches before it.
func (c *campaign) tell(list ...offer.Observation) error {
	return c.tellNow(slices.DeleteFunc(list, func(o offer.Observation) bool {
		j := c.jobs[o.Token]
		if j == nil || len(j.owed) == 0 {
			return false
		}
		j.hold(o)
		return true
	})...)
}

// tellNow is tell for what waits for nothing.
func (c *campaign) tellNow(list ...offer.Observation) error {
	var told []events.Event
	for _, o := range list {
		j := c.jobs[o.Token]
		if j == nil || j.ended {
			continue
		}
		o.Presence = offer.Found
		if over(o.Status) && o.Attempt < j.last.Attempt {
			if o.Status != offer.Completed {
				notRun(&o)
			}
			o.Attempt = j.last.Attempt
		}
		if o.Handle == "" {
			o.Handle = j.elementID()
		}
		c.apply(&o)
		told = append(told, events.Event{Seen: o})
	}
	return c.log.Add(told...)
}

// notRun makes an end that of a later launch: Slurm put the job back, its policy
// did not let it run again, and how the launch before it ended is told already.
func notRun(o *offer.Observation) {
	o.Started, o.Usage = time.Time{}, nil
	o.Exit, o.Signal, o.Node, o.GPUs = nil, "", "", nil
}

// note tells something that is not about one job.
func (c *campaign) note(n providers.Note) error { return c.log.Add(events.Event{Note: &n}) }

// fence refuses a muster that another one has followed.
func (c *campaign) fence(n uint64, holder string) error {
	spool := node.Spool(c.spool)
	next, changed, err := spool.Fence().Admit(n, holder)
	if !changed {
		return err
	}
	return errors.Join(c.make(), spool.WriteFence(next))
}
