package queue

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/wire"
	"github.com/muster-run/muster/providers/image"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
)

// submit takes jobs in. When it returns they are on the disk.
func (q *queue) submit(ctx context.Context, s wire.Submission) ([]providers.Submitted, error) {
	// Whoever asked may die at any point of this; a job that was taken in must
	// become ready even so.
	ctx = context.WithoutCancel(ctx)
	out := make([]providers.Submitted, len(s.Jobs))
	jobs := make([]*job, len(s.Jobs))
	for i, raw := range s.Jobs {
		j, err := newJob(raw)
		if err != nil {
			out[i].Err = providers.Errorf(providers.Invalid, "Job cannot be read: %v", err)
			continue
		}
		jobs[i], out[i].Token, out[i].Handle = j, j.spec.Token, j.spec.Token
		j.secret = len(s.Secrets[j.spec.Token]) > 0
	}
	refused, err := ask(ctx, q, func() error { return q.accept(s, jobs, out) })
	if err != nil {
		return nil, err
	}
	if refused != nil {
		return nil, refused
	}
	for _, j := range jobs {
		if j != nil && j.secret {
			if err := q.keepSecrets(j.spec.Token, s.Secrets[j.spec.Token]); err != nil {
				return nil, providers.Errorf(providers.Unreachable, "Secrets cannot be kept: %v", err)
			}
		}
	}
	if err := q.journal.Sync(); err != nil {
		return nil, noRoom(err)
	}
	return out, q.do(ctx, func() {
		for _, j := range jobs {
			if j != nil {
				j.taken = true
				q.ready(j)
			}
		}
	})
}

func noRoom(err error) *providers.Error {
	return &providers.Error{Class: providers.Unreachable, Summary: "The queue cannot write to its spool", Detail: err.Error(),
		Hint: "make room on the disk that holds its spool; nothing that was acknowledged is lost"}
}

func newJob(raw json.RawMessage) (*job, error) {
	j := &job{ended: make(chan struct{}), memory: memory{Status: offer.Queued}}
	if err := json.Unmarshal(raw, &j.spec); err != nil {
		return nil, err
	}
	same := identity(j.spec, raw)
	switch s := &j.spec; {
	case !safeToken(s.Token):
		return nil, errors.New("its token is not 8 to 128 letters, digits, - and _")
	case (s.Shell == "") == (len(s.Argv) == 0):
		return nil, errors.New("it needs either a command string or an argument list")
	case strings.ContainsRune(s.Shell, 0) || strings.ContainsRune(strings.Join(s.Argv, ""), 0):
		return nil, errors.New("its command holds a NUL byte")
	case !filepath.IsAbs(s.Workdir):
		return nil, errors.New("its workdir is not an absolute path")
	}
	if j.spec.Dir == "" {
		j.spec.Dir = j.spec.Workdir
	}
	if j.spec.Image != "" {
		if why := image.Wrong(&j.spec); why != "" {
			return nil, errors.New(why)
		}
	}
	j.spec.Shape.CPUs = max(j.spec.Shape.CPUs, 1)
	sum := sha256.Sum256(same)
	j.hash = hex.EncodeToString(sum[:8])
	return j, nil
}

// identity is what makes two submissions of a token the same. The umask does
// not, as the second may come from another shell, nor does how outputs are
// verified.
func identity(spec providers.Job, raw json.RawMessage) []byte {
	spec.Umask, spec.Outputs, spec.Metrics = nil, slices.Clone(spec.Outputs), slices.Clone(spec.Metrics)
	for i := range spec.Outputs {
		spec.Outputs[i].VerifyTimeout, spec.Outputs[i].VerifyMaxSize = 0, 0
	}
	for i := range spec.Metrics {
		spec.Metrics[i].Required = false
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return bytes.TrimSpace(raw)
	}
	return text
}

// safeToken keeps tokens usable as file names and words.
func safeToken(t string) bool {
	if len(t) < 8 || len(t) > 128 {
		return false
	}
	for _, c := range []byte(t) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// accept decides on each job, in the queue's goroutine. In jobs stay those to
// be taken in, each with its place.
func (q *queue) accept(s wire.Submission, jobs []*job, out []providers.Submitted) error {
	if err := q.fence(s.Place.Lineage, s.Fence, s.Holder); err != nil {
		return err
	}
	if q.yielded {
		return providers.Errorf(providers.Unreachable, "The queue is being taken over")
	}
	q.leaves = false
	if why := cmp.Or(q.stuck, q.full); why != nil {
		return noRoom(why)
	}
	pl := q.at(s.Place)
	env := q.environOf(s.Environ)
	batch := make(map[string]bool, len(jobs))
	for _, j := range jobs {
		if j != nil {
			batch[j.spec.Token] = true
		}
	}
	var taken []*job
	for i, j := range jobs {
		if j == nil {
			continue
		}
		if known, err := q.known(j, batch); known || err != nil {
			jobs[i], out[i].Err = nil, err
			if k := q.jobs[j.spec.Token]; err == nil && k != nil && !k.taken {
				jobs[i] = k // an earlier call came to nothing after this: it is taken in now
			}
			continue
		}
		q.order++
		j.place, j.order, j.environ = pl, q.order, env
		q.jobs[j.spec.Token] = j
		q.put(entry{Job: &jobEntry{Place: pl.n, Order: j.order, Hash: j.hash, Environ: env, Secret: j.secret, Spec: s.Jobs[i]}})
		taken = append(taken, j)
	}
	for _, j := range taken {
		q.link(j)
	}
	return nil
}

// known reports whether a job is there already; it is an error if it is
// there with another specification, or waits for one that is not there.
func (q *queue) known(j *job, batch map[string]bool) (bool, *providers.Error) {
	t := j.spec.Token
	old, there := "", false
	if k := q.jobs[t]; k != nil {
		old, there = k.hash, true
	} else if g, ok := q.graves[t]; ok {
		old, there = g.Hash, true
	}
	if there && old != j.hash {
		return true, providers.Errorf(providers.Conflict, "Token %s is known with another specification", t)
	}
	if there {
		return true, nil
	}
	for _, up := range j.spec.After {
		_, buried := q.graves[up]
		if q.jobs[up] == nil && !buried && !batch[up] {
			return false, providers.Errorf(providers.Invalid, "Job waits for token %s, which this queue does not know", up)
		}
	}
	return false, nil
}

// environOf keeps an environment once.
func (q *queue) environOf(vars []providers.EnvVar) string {
	if len(vars) == 0 {
		return ""
	}
	b, _ := json.Marshal(vars)
	sum := sha256.Sum256(b)
	name := hex.EncodeToString(sum[:8])
	if _, ok := q.environs[name]; !ok {
		q.environs[name] = vars
		q.put(entry{Environ: &environEntry{Name: name, Vars: vars}})
	}
	return name
}

// fence refuses a holder of the campaign's lease that another has overtaken.
func (q *queue) fence(lineage string, n uint64, holder string) error {
	next, changed, err := q.fences[lineage].Admit(n, holder)
	if changed {
		q.fences[lineage] = next
		q.put(entry{Fence: &fenceEntry{Lineage: lineage, Fence: next.N, Holder: next.Holder}})
	}
	return err
}

// secretsPath is where a job's secrets are kept until it has ended for good.
func (q *queue) secretsPath(token string) string { return filepath.Join(q.spool, "secrets", token) }

// secretsOf is the file of a job's secrets, "" where it has none.
func (q *queue) secretsOf(j *job) string {
	if !j.secret {
		return ""
	}
	return q.secretsPath(j.spec.Token)
}

func (q *queue) keepSecrets(token string, vars []providers.EnvVar) error {
	if len(vars) == 0 {
		return nil
	}
	for _, v := range vars {
		if !isVariable(v.Name) {
			return errors.New("secret " + v.Name + " is not a variable's name")
		}
	}
	f, err := os.OpenFile(q.secretsPath(token), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(wrapper.Exports(vars))
	return errors.Join(err, f.Sync(), f.Close())
}

func isVariable(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
