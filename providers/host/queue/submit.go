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
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/host/wire"
	"github.com/muster-run/muster/providers/image"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
)

// submissions accepts jobs, under the fence of their campaign's lease.
type submissions struct {
	*core
	dependencies *dependencies
	starts       *starts
	fences       map[string]providers.Fence // by lineage
	order        int64
}

// submit accepts jobs. When it returns they are on disk.
func (ik *submissions) submit(ctx context.Context, s wire.Submission) ([]providers.Submitted, error) {
	// The client may die at any point here; an accepted job must become ready even so.
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
	refused, err := ask(ctx, ik.core, func() error { return ik.accept(s, jobs, out) })
	if err != nil {
		return nil, err
	}
	if refused != nil {
		return nil, refused
	}
	for _, j := range jobs {
		if j != nil && j.secret {
			if err := ik.keepSecrets(j.spec.Token, s.Secrets[j.spec.Token]); err != nil {
				return nil, providers.Errorf(providers.Unreachable, "Secrets cannot be kept: %v", err)
			}
		}
	}
	if err := ik.journal.Sync(); err != nil {
		return nil, spoolBroken(err)
	}
	return out, ik.do(ctx, func() {
		for _, j := range jobs {
			if j != nil {
				j.taken = true
				ik.dependencies.release(j)
			}
		}
	})
}

// spoolBroken is the answer of a queue that cannot write to its spool.
func spoolBroken(err error) *providers.Error {
	hint := "make room on the disk that holds its spool"
	if attempt.Denied(err) {
		hint = "make its spool writable again"
	}
	return &providers.Error{Class: providers.Unreachable, Summary: "The queue cannot write to its spool", Detail: err.Error(),
		Hint: hint + "; nothing that was acknowledged is lost"}
}

func newJob(raw json.RawMessage) (*job, error) {
	j := &job{ended: make(chan struct{}), jobState: jobState{Status: offer.Queued}}
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

// identity is the part of a submission that must be equal when a token is submitted twice. The
// umask is no part of it, as the second may come from another shell, nor is how outputs are
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
func (ik *submissions) accept(s wire.Submission, jobs []*job, out []providers.Submitted) error {
	if err := ik.fence(s.Place.Lineage, s.Fence, s.Holder); err != nil {
		return err
	}
	if ik.yielded {
		return providers.Errorf(providers.Unreachable, "The queue is being taken over")
	}
	ik.leaves = false
	if why := cmp.Or(ik.stuck, ik.full); why != nil {
		return spoolBroken(why)
	}
	pl := ik.at(s.Place)
	env := ik.environOf(s.Environ)
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
		if known, err := ik.known(j, batch); known || err != nil {
			jobs[i], out[i].Err = nil, err
			if k := ik.jobs[j.spec.Token]; err == nil && k != nil && !k.taken {
				jobs[i] = k // an earlier call came to nothing after this: it is taken in now
			}
			continue
		}
		ik.order++
		j.place, j.order, j.environ = pl, ik.order, env
		ik.jobs[j.spec.Token] = j
		ik.put(entry{Job: &jobEntry{Place: pl.n, Order: j.order, Hash: j.hash, Environ: env, Secret: j.secret, Spec: s.Jobs[i]}})
		taken = append(taken, j)
	}
	for _, j := range taken {
		ik.dependencies.link(j)
	}
	return nil
}

// known reports whether a job was submitted before; it is an error if the specifications
// differ, or if the job waits for an unknown one.
func (ik *submissions) known(j *job, batch map[string]bool) (bool, *providers.Error) {
	t := j.spec.Token
	old, there := "", false
	if k := ik.jobs[t]; k != nil {
		old, there = k.hash, true
	} else if g, ok := ik.tombstones[t]; ok {
		old, there = g.Hash, true
	}
	if there && old != j.hash {
		return true, providers.Errorf(providers.Conflict, "Token %s is known with another specification", t)
	}
	if there {
		return true, nil
	}
	for _, up := range j.spec.After {
		_, over := ik.tombstones[up]
		if ik.jobs[up] == nil && !over && !batch[up] {
			return false, providers.Errorf(providers.Invalid, "Job waits for token %s, which this queue does not know", up)
		}
	}
	return false, nil
}

// environOf keeps an environment once.
func (ik *submissions) environOf(vars []providers.EnvVar) string {
	if len(vars) == 0 {
		return ""
	}
	b, _ := json.Marshal(vars)
	sum := sha256.Sum256(b)
	name := hex.EncodeToString(sum[:8])
	if _, ok := ik.starts.environs[name]; !ok {
		ik.starts.environs[name] = vars
		ik.put(entry{Environ: &environEntry{Name: name, Vars: vars}})
	}
	return name
}

// fence refuses a holder of the campaign's lease that another has overtaken.
func (ik *submissions) fence(lineage string, n uint64, holder string) error {
	next, changed, err := ik.fences[lineage].Admit(n, holder)
	if changed {
		ik.fences[lineage] = next
		ik.put(entry{Fence: &fenceEntry{Lineage: lineage, Fence: next.N, Holder: next.Holder}})
	}
	return err
}

func (ik *submissions) keepSecrets(token string, vars []providers.EnvVar) error {
	if len(vars) == 0 {
		return nil
	}
	for _, v := range vars {
		if !isVariable(v.Name) {
			return errors.New("secret " + v.Name + " is not a variable's name")
		}
	}
	f, err := os.OpenFile(ik.secretsPath(token), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
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

// settle makes an accepted request durable. refused is the queue's answer; err says
// that the queue could not be asked.
func (ik *submissions) settle(refused, err error) error {
	if err != nil {
		return err
	}
	if refused != nil {
		return refused
	}
	if err := ik.journal.Sync(); err != nil {
		return spoolBroken(err)
	}
	return nil
}
