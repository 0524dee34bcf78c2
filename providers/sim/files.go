package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// Files are never written: an output is there when its job completed, as large
// as it was asked to be, and its digest is that of its path.

// outputs are the outputs of a job.
func (w *world) outputs(j *job) []offer.Output {
	out := make([]offer.Output, len(j.Outputs))
	for i := range j.Outputs {
		out[i] = w.output(&j.Outputs[i])
		if j.fate.Size != nil {
			out[i].Size = max(out[i].Size, j.fate.Size(out[i].Name))
		}
	}
	return out
}

// lay notes where a job's outputs are, if others do not see them.
func (w *world) lay(j *job, outputs []offer.Output) {
	if !w.sea.apart {
		return
	}
	for i := range outputs {
		w.sea.lay(w.files(j.Pool), outputs[i].Path, outputs[i].Size)
	}
}

func (w *world) output(o *providers.Output) offer.Output {
	out := offer.Output{Name: o.Name, Path: o.Path, Size: max(o.MinSize, 1), Digest: w.site.Known[o.Path], OK: true}
	if o.Kind != "path" {
		out.Files = max(o.MinCount, 1) // also where none is needed
	}
	if out.Digest == "" {
		sum := sha256.Sum256([]byte(o.Path))
		out.Digest = "sha256:" + hex.EncodeToString(sum[:])
	}
	return out
}

// absolute is a path on the site: relative ones are in the workdir.
func absolute(workdir, p string) string {
	if path.IsAbs(p) {
		return p
	}
	return path.Join(workdir, p)
}

// Verify finds every output as its job left it.
func (s *Sim) Verify(_ context.Context, r providers.VerifyRequest) ([]offer.Output, error) {
	w, done, err := s.ask(r.Backend)
	if err != nil {
		return nil, err
	}
	defer done()
	_, pool := providers.CutAt(r.Backend)
	files := w.files(pool)
	out := make([]offer.Output, len(r.Outputs))
	for i := range r.Outputs {
		o := &r.Outputs[i]
		if out[i] = w.output(o); r.Open && !w.sea.has(files, o.Path, absolute(r.Workdir, o.Path)) {
			out[i] = offer.Output{Name: o.Name, Path: o.Path, Verdict: "it is not there"}
		}
	}
	return out, nil
}

// List finds one file for each pattern.
func (s *Sim) List(_ context.Context, backend string, patterns []string) ([]providers.FileInfo, error) {
	w, done, err := s.ask(backend)
	if err != nil {
		return nil, err
	}
	defer done()
	out := make([]providers.FileInfo, 0, len(patterns))
	for _, p := range patterns {
		f := providers.FileInfo{Path: p, Size: 1}
		if at, ok := w.touched[p]; ok {
			f.MTime = at.Add(time.Nanosecond).UnixNano()
		}
		out = append(out, f)
	}
	return out, nil
}

// Push takes a file and drops it. One that comes from a simulated site has no
// bytes, and takes its time.
func (s *Sim) Push(ctx context.Context, backend, path string, size int64, _ string, r io.ReadSeeker) error {
	from := ""
	if c, ok := r.(carrier); ok {
		if name := c.Origin(); s.serves(name) {
			from = name
		}
	}
	if from == "" && !s.awaits(backend, path) {
		if n, err := io.Copy(io.Discard, r); err != nil || n != size {
			return providers.Errorf(providers.Internal, "%s: %d of %d bytes arrived: %v", path, n, size, err)
		}
	}
	return s.carry(ctx, from, backend, path, size)
}

// Pull refuses: there are no bytes.
func (s *Sim) Pull(_ context.Context, backend, path string, _ int64, _ io.Writer) error {
	return providers.Errorf(providers.NotFound, "%s on %s is simulated: it has a digest and no bytes", path, backend)
}

// Remove forgets nothing, for nothing is kept.
func (s *Sim) Remove(_ context.Context, r providers.RemoveRequest) error {
	w, done, err := s.ask(r.Backend)
	if err != nil {
		return err
	}
	defer done()
	return w.fenced(r.Fence, r.Holder)
}

// Logs says that the job was simulated.
func (s *Sim) Logs(_ context.Context, r providers.LogRequest, to io.Writer) error {
	w, done, err := s.ask(r.Backend)
	if err != nil {
		return err
	}
	defer done()
	j := w.jobs[r.Token]
	if j == nil {
		return providers.Errorf(providers.NotFound, "There is no log: the job was simulated, and its log ended with that muster process (token %s)", r.Token)
	}
	_, err = fmt.Fprintf(to, "simulated: %s\n", j.status)
	return err
}

// billed is the bill of a launch in money when its price is another than the
// quoted one.
func billed(p offer.Price, s offer.Shape, d time.Duration, factor float64) string {
	return charged(p, s, paid(d, p), factor)
}

// paid is a duration as it is billed.
func paid(d time.Duration, p offer.Price) time.Duration {
	d = max(d, p.Minimum)
	if g := p.Granularity; g > 0 && d%g != 0 {
		d += g - d%g
	}
	return d
}

func charged(p offer.Price, s offer.Shape, d time.Duration, factor float64) string {
	hours := decimal.NewFromInt(int64(d)).DivRound(decimal.NewFromInt(int64(time.Hour)), 12)
	sum := decimal.Zero
	add := func(rate string, n int) {
		if r, err := decimal.NewFromString(rate); err == nil {
			sum = sum.Add(r.Mul(decimal.NewFromInt(int64(n))))
		}
	}
	add(p.USDPerGPUHour, s.Given().GPUs)
	add(p.USDPerCPUHour, max(s.Given().CPUs, 1))
	add(p.USDPerHour, max(s.Nodes, 1))
	return sum.Mul(hours).Mul(decimal.NewFromFloat(factor)).String() + " usd"
}
