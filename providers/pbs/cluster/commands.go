// Package cluster runs PBS's commands and parses their answers: the jobs of the
// queue and of its history, queues and nodes, why a job waits, and what a refusal
// means. It keeps no state and decides nothing about jobs.
//
// Recordings of OpenPBS 23.06 and a real server test it. PBS Pro has had JSON since
// 13; a value that a version does not report is unknown, not an error.
package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

var (
	_ scheduler.Scheduler = (*Commands)(nil)
	_ scheduler.Node      = Node{}
)

// Bounds of PBS's commands.
const (
	askTimeout = 90 * time.Second
	// qsub is never ended early: one that is may have submitted all the same.
	submitTimeout = 10 * time.Minute
)

// idsAtOnce is how many ids go into one command.
const idsAtOnce = 500

// Commands are PBS's, run one at a time for one user. Their errors are of type
// *providers.Error: of class unreachable where nothing is known of the outcome.
type Commands struct {
	Notation
	line    *command.Line
	User    string // whose jobs are asked for; not to be changed
	mu      sync.Mutex
	server  string            // that answered; "" = none has
	unmoved map[string]listed // arrays by id, as they were listed last
	cycle   cycle             // of the scheduler, as the server said
}

// A listed array is its elements when its parent said this.
type listed struct {
	counts, changed, holds word
	rows                   []scheduler.Entry
}

// New asks by a runner, of the jobs of a user.
func New(r command.Runner, user string) *Commands {
	return &Commands{line: command.NewLine(r), User: user, unmoved: map[string]listed{}}
}

// Runs is the command that runs now, "" if none does, and since when.
func (c *Commands) Runs() (name string, since time.Time) { return c.line.Runs() }

// run runs a command that came to an end, whatever its status.
func (c *Commands) run(ctx context.Context, limit time.Duration, argv ...string) (command.Result, error) {
	r, err := c.line.Run(ctx, limit, argv)
	if err != nil {
		return r, &providers.Error{Class: providers.Unreachable, Summary: "PBS cannot be asked", Detail: err.Error(), Hint: hintFor(err.Error())}
	}
	return r, nil
}

// told is the output of a command that must succeed.
func (c *Commands) told(ctx context.Context, argv ...string) ([]byte, error) {
	r, err := c.run(ctx, askTimeout, argv...)
	if err != nil {
		return nil, err
	}
	if r.Code != 0 {
		return nil, refusal(argv[0], r)
	}
	return r.Out, nil
}

// Site is the output of a command of the site's own, which must succeed.
func (c *Commands) Site(ctx context.Context, argv ...string) ([]byte, error) {
	return c.told(ctx, argv...)
}

// Cluster is the name of the server. It is asked once: these commands are of one
// cluster.
func (c *Commands) Cluster(ctx context.Context) (string, error) {
	c.mu.Lock()
	name := c.server
	c.mu.Unlock()
	if name != "" {
		return name, nil
	}
	out, err := c.told(ctx, "qstat", "-Bf", "-F", "json")
	if err != nil {
		return "", err
	}
	var a queueAnswer
	if err := json.Unmarshal(out, &a); err != nil {
		return "", unread("qstat", err)
	}
	c.mu.Lock()
	c.server = a.Name
	c.mu.Unlock()
	return a.Name, nil
}

func unread(name string, err error) *providers.Error {
	return providers.Errorf(providers.Unreachable, "%s printed output that muster cannot read: %v", name, err)
}

// jobs asks qstat about ids. Those that it does not know, or that have ended, are
// not in the answer: for one of them its status is an error, and the others are in
// its output all the same. Seen on 23.06. One of which it says nothing is unknown.
func (c *Commands) jobs(ctx context.Context, ids []string, options ...string) (map[string]job, error) {
	out := map[string]job{}
	for part := range slices.Chunk(ids, idsAtOnce) {
		r, err := c.run(ctx, askTimeout, slices.Concat([]string{"qstat"}, options, []string{"-f"}, part)...)
		if err != nil {
			return nil, err
		}
		gone, _, other := lines("qstat", r)
		if r.Code != 0 && (len(other) > 0 || len(bytes.TrimSpace(r.Err)) == 0) {
			return nil, refusal("qstat", r)
		}
		some, err := parseJobs(r.Out)
		if err != nil {
			return nil, unread("qstat", err)
		}
		said := len(gone)
		for id := range some {
			if at, ok := c.Place(id); ok && at.Index < 0 || slices.Contains(part, id) {
				said++
			}
		}
		if said < len(part) {
			return nil, unread("qstat", fmt.Errorf("it said nothing about %d jobs", len(part)-said))
		}
		maps.Copy(out, some)
	}
	return out, nil
}

// Queue is every job of this user that has not ended. Jobs and arrays are asked
// first, and elements only of arrays that have moved since.
func (c *Commands) Queue(ctx context.Context) ([]scheduler.Entry, error) {
	out, err := c.told(ctx, "qselect", "-u", c.User)
	if err != nil {
		return nil, err
	}
	ids := strings.Fields(string(out))
	if len(ids) == 0 {
		return nil, nil
	}
	all, err := c.jobs(ctx, ids)
	if err != nil {
		return nil, err
	}
	var rows []scheduler.Entry
	var moved []string
	for _, id := range slices.Sorted(maps.Keys(all)) {
		j := all[id]
		if !isArray(id) {
			at, ok := c.Place(id)
			if !ok {
				return nil, unread("qstat", fmt.Errorf("job id %q", id))
			}
			rows = append(rows, j.row(at, nil))
		} else if list, ok := c.still(id, j); ok {
			rows = append(rows, list...)
		} else {
			moved = append(moved, id)
		}
	}
	if len(moved) > 0 {
		elements, err := c.jobs(ctx, moved, "-t")
		if err != nil {
			return nil, err
		}
		rows = append(rows, c.elements(elements)...)
	}
	c.unseen(ctx, all, rows)
	return rows, nil
}

// still are the elements of an array that are known without asking: none has begun,
// or it is as it was.
func (c *Commands) still(id string, j job) ([]scheduler.Entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if was, ok := c.unmoved[id]; ok && was.counts == j["array_state_count"] && was.changed == j["mtime"] && was.holds == j["Hold_Types"] {
		return was.rows, true
	}
	if !strings.HasSuffix(string(j["array_state_count"]), " Running:0 Exiting:0 Expired:0") {
		return nil, false
	}
	first, last, ok := strings.Cut(string(j["array_indices_submitted"]), "-")
	a, errA := strconv.Atoi(first)
	z, errZ := strconv.Atoi(last)
	if !ok || errA != nil || errZ != nil {
		return nil, false // somebody's array with steps
	}
	var rows []scheduler.Entry
	for i := a; i <= z; i++ {
		rows = append(rows, j.row(scheduler.ElementID{Array: id, Index: i}, nil))
	}
	return rows, true
}

// elements are the elements among jobs, which have their arrays, too.
func (c *Commands) elements(all map[string]job) (rows []scheduler.Entry) {
	by := map[string][]scheduler.Entry{}
	for id, j := range all {
		at, ok := c.Place(id)
		if !ok || at.Index < 0 {
			continue
		}
		if parent, ok := all[at.Array]; ok {
			by[at.Array] = append(by[at.Array], j.row(at, parent))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.unmoved)
	for _, id := range slices.Sorted(maps.Keys(by)) {
		slices.SortFunc(by[id], func(a, b scheduler.Entry) int { return a.Index - b.Index })
		parent := all[id]
		c.unmoved[id] = listed{parent["array_state_count"], parent["mtime"], parent["Hold_Types"], by[id]}
		rows = append(rows, by[id]...)
	}
	return rows
}

// Account lists jobs and arrays by PBS's job history, and by its queue where they
// have not ended. A site may keep no history.
func (c *Commands) Account(ctx context.Context, ids []string) (list []scheduler.Record, err error) {
	all, err := c.jobs(ctx, ids, "-x", "-t")
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if at, ok := c.Place(id); ok && !isArray(id) {
			j := all[id]
			list = append(list, j.launch(at))
		}
	}
	return list, nil
}

// Booted is unknown: PBS does not say, and cancels nothing that it could not launch.
func (c *Commands) Booted(context.Context) (time.Time, error) { return time.Time{}, nil }

// everything is more elements than any array has: max_run_subjobs cannot be unset.
const everything = 10_000_000

// AtOnce is how many elements of an array PBS runs at once.
func (c *Commands) AtOnce(ctx context.Context, array string) (int, error) {
	all, err := c.jobs(ctx, []string{array})
	if err != nil {
		return -1, err
	}
	j, ok := all[array]
	switch {
	case !ok:
		return -1, nil
	case !j.has("max_run_subjobs"), j["max_run_subjobs"].int() >= everything:
		return 0, nil
	}
	return j["max_run_subjobs"].int(), nil
}

// Command is how a script is submitted, held or not.
func (*Commands) Command(file string, held bool) []string {
	if held {
		return []string{"qsub", "-h", file}
	}
	return []string{"qsub", file}
}

// Submit runs qsub to its end, even if the caller has stopped waiting.
func (c *Commands) Submit(ctx context.Context, script string, held bool) (id string, unclear bool, err error) {
	r, err := c.run(context.WithoutCancel(ctx), submitTimeout, c.Command(script, held)...)
	if err != nil {
		return "", true, &providers.Error{Class: providers.Unreachable, Summary: "qsub did not finish", Detail: err.Error(), Hint: hintFor(err.Error())}
	}
	// A site's hooks may print more. The id is the last line.
	text := strings.Split(strings.TrimSpace(string(r.Out)), "\n")
	id = strings.TrimSpace(text[len(text)-1])
	if _, ok := c.Place(id); r.Code == 0 && ok {
		return id, false, nil
	}
	if r.Code == 0 {
		return "", true, providers.Errorf(providers.Unreachable, "qsub printed %q instead of a job id", id)
	}
	e := refusal("qsub", r)
	return "", e.Class == providers.Unreachable, e
}

// Takes: qsub cannot be asked without submitting.
func (c *Commands) Takes(context.Context, string, []int) bool { return false }

// settled is how long after a qsub without an answer a search that finds nothing
// means that there is no job. A job that comes even later finds its token claimed.
const settled = 15 * time.Second

// Search finds out whether PBS has the job of a qsub without an answer. Its name is
// its own, so that a job of an earlier submission does not have it.
func (c *Commands) Search(ctx context.Context, s scheduler.Submission) (id string, where offer.Presence, err error) {
	out, err := c.told(ctx, "qselect", "-x", "-u", c.User, "-N", s.Name)
	if err != nil {
		return "", offer.Unknown, err
	}
	if ids := strings.Fields(string(out)); len(ids) > 0 {
		return ids[0], offer.Found, nil
	}
	since := s.Tried
	if !s.Failed.IsZero() {
		since = s.Failed
	} else if command.Running("qsub", s.Script) {
		return "", offer.Unknown, nil
	}
	if time.Since(since) < settled {
		return "", offer.Unknown, nil
	}
	return "", offer.Absent, nil
}

// change runs a command on some ids. Others are changed where one is refused.
func (c *Commands) change(ctx context.Context, ids []string, argv ...string) error {
	var refused *scheduler.Refusal
	for part := range slices.Chunk(ids, idsAtOnce) {
		r, err := c.run(ctx, askTimeout, slices.Concat(argv, part)...)
		if err != nil {
			return err
		}
		if r.Code == 0 {
			continue
		}
		gone, fixed, other := lines(argv[0], r)
		e := refusal(argv[0], r)
		if len(other) > 0 || len(gone)+len(fixed) == 0 {
			return e
		}
		e.Class = providers.Invalid
		refused = &scheduler.Refusal{Err: e, Gone: len(fixed) == 0, Unchangeable: len(fixed) > 0}
	}
	if refused != nil {
		return refused
	}
	return nil
}

// Cancel cancels jobs.
func (c *Commands) Cancel(ctx context.Context, jobs []scheduler.Jobs) error {
	if err := c.change(ctx, idsOf(jobs), "qdel"); err != nil && !scheduler.Gone(err) {
		return err
	}
	return nil
}

// CancelWaiting cancels those jobs of a name that have not started: qdel cannot
// choose, so that a job may start between the question and the answer.
func (c *Commands) CancelWaiting(ctx context.Context, name string, jobs []scheduler.Jobs) error {
	var ids []string
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	all, err := c.jobs(ctx, ids, "-t")
	if err != nil {
		return err
	}
	waiting := map[string][]int{}
	for id, j := range all {
		at, ok := c.Place(id)
		if ok && !isArray(id) && string(j["Job_Name"]) == name && j.row(at, nil).State == scheduler.Waiting {
			waiting[at.Array] = append(waiting[at.Array], at.Index)
		}
	}
	var list []scheduler.Jobs
	for _, j := range jobs {
		there := waiting[j.ID]
		slices.Sort(there)
		switch {
		case j.Indexes != nil:
			there = slices.DeleteFunc(there, func(i int) bool { return !slices.Contains(j.Indexes, i) })
			fallthrough
		case isArray(j.ID):
			if len(there) > 0 {
				list = append(list, scheduler.Jobs{ID: j.ID, Indexes: there})
			}
		case len(there) > 0:
			list = append(list, scheduler.Jobs{ID: j.ID})
		}
	}
	if len(list) == 0 {
		return nil
	}
	return c.Cancel(ctx, list)
}

// Hold keeps jobs from starting; of an array, its waiting elements.
func (c *Commands) Hold(ctx context.Context, jobs []scheduler.Jobs) error {
	return c.saved(ctx, idsOf(jobs), "qhold", "-h", "u")
}

// Release releases held jobs.
func (c *Commands) Release(ctx context.Context, jobs []scheduler.Jobs) error {
	return c.saved(ctx, idsOf(jobs), "qrls", "-h", "u")
}

// saved changes holds of jobs, and has the server save that. OpenPBS 23.06 saves a hold at once
// only where it changes the job's state: one that is killed forgets the holds and releases of jobs
// that wait for others, until it saves these jobs for another reason. -j oe changes nothing, since
// every job of muster is submitted with it. A job that began meanwhile is saved already, and a
// site may refuse the alteration.
func (c *Commands) saved(ctx context.Context, ids []string, argv ...string) error {
	err := c.change(ctx, ids, argv...)
	if err == nil || scheduler.Heard(err) {
		if lost := c.change(ctx, ids, "qalter", "-j", "oe"); lost != nil && !scheduler.Heard(lost) {
			return lost
		}
	}
	return err
}

// Change changes jobs that wait.
func (c *Commands) Change(ctx context.Context, jobs []scheduler.Jobs, to scheduler.Change) error {
	terms := terms(to)
	if terms == nil {
		return &scheduler.Refusal{Err: providers.Errorf(providers.Invalid, "PBS does not change that of a job"), Unchangeable: true}
	}
	return c.change(ctx, idsOf(jobs), append([]string{"qalter"}, terms...)...)
}

// terms are a change in qalter's words; nil = it has none. qalter(1B).
func terms(to scheduler.Change) []string {
	switch to := to.(type) {
	case scheduler.Depend:
		if len(to) > 0 { // a completed job cannot be taken away: its dependency is met
			return []string{"-W", "depend=" + scheduler.Terms(Notation{}, to)}
		}
	case scheduler.Throttle:
		n := int(to)
		if n == 0 {
			n = everything
		}
		return []string{"-W", "max_run_subjobs=" + strconv.Itoa(n)}
	case scheduler.StartIn:
		return []string{"-a", time.Now().UTC().Add(time.Duration(to)).Format("200601021504.05")}
	case scheduler.Requeueable:
		if to {
			return []string{"-r", "y"}
		}
		return []string{"-r", "n"}
	}
	return nil
}
