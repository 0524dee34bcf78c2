package refresh

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

const verifyMax = 500 // outputs of one Verify call

// Outputs are those that the state has recorded.
type outputs struct {
	*facts
	answers *answers
}

// look compares recorded outputs with the existing files. It reports only
// those that differ, after it read them: a touched file with the same bytes is
// no difference.
func (o *outputs) look(ctx context.Context, a *ask) error {
	if a.early == nil { // early findings are sorted, and on this machine
		o.unreached(a)
		a.sortOutputs()
	}
	open := a.outputs
	if !o.Verify {
		var err error
		if open, err = o.differing(ctx, a); err != nil {
			return err
		}
	}
	for by, rs := range a.byFilesystem(open) {
		for len(rs) > 0 {
			n := min(len(rs), verifyMax)
			got, err := a.p.Verify(ctx, request(by, rs[:n], true))
			if providers.IsWithheld(err) {
				got, err = nil, nil // an unreadable file counts as unchanged
			}
			if err != nil {
				return err
			}
			for i := range got {
				if i < n {
					o.report(rs[i], got[i])
				}
			}
			rs = rs[n:]
		}
	}
	return nil
}

// unreached reports outputs on hosts that are no longer configured as missing
// there, and leaves the others to be looked at.
func (o *outputs) unreached(a *ask) {
	a.outputs = slices.DeleteFunc(a.outputs, func(r recorded) bool {
		_, pool := providers.CutAt(site.FilesystemOf(a.conf, a.offers, r.pool).Name())
		if pool == "" || !site.Gone(a.conf, pool) {
			return false
		}
		o.report(r, offer.Output{Path: r.out.Path, Verdict: pool + " is no longer in hosts of backend." + a.name})
		return true
	})
}

func (a *ask) sortOutputs() {
	order := func(x, y recorded) int { return compare(x.address, y.address, x.out.Name, y.out.Name) }
	if !slices.IsSortedFunc(a.outputs, order) {
		slices.SortFunc(a.outputs, order)
	}
}

// differing are the outputs whose size, time or inode is not as recorded.
// Files of this machine are looked at directly; others where they are.
func (o *outputs) differing(ctx context.Context, a *ask) ([]recorded, error) {
	var far, out []recorded
	if a.early != nil {
		n := <-a.early
		far, out = n.far, n.differ
	} else {
		far, out = a.nearby(a.can.Remote)
	}
	for by, rs := range a.byFilesystem(far) {
		for len(rs) > 0 {
			n := min(len(rs), verifyMax)
			got, err := a.p.Verify(ctx, request(by, rs[:n], false))
			if err != nil {
				return nil, err
			}
			for i := range got {
				if i < n && !alike(rs[i].out, got[i]) {
					out = append(out, rs[i])
				}
			}
			rs = rs[n:]
		}
	}
	return out, nil
}

func alike(o *state.Output, got offer.Output) bool {
	return got.OK && got.Size == o.Size && got.MTime == o.MTime && got.Inode == o.Inode && got.Files == o.Files &&
		(o.CTime == 0 || got.CTime == 0 || got.CTime == o.CTime)
}

func workdirOf(o *state.Output, a *ask) string {
	if o.Workdir != "" {
		return o.Workdir
	}
	return a.conf.Workdir
}

// lookEarly looks at the files of this machine while its provider comes up.
func (a *ask) lookEarly() {
	a.sortOutputs()
	a.early = make(chan looked, 1)
	go func() {
		far, differ := a.nearby(false)
		a.early <- looked{far, differ}
	}()
}

// looked is the result of nearby.
type looked struct{ far, differ []recorded }

// nearby looks at the files of this machine, on all cores: differ are other files, far those
// elsewhere or of more than one file.
func (a *ask) nearby(remote bool) (far, differ []recorded) {
	parts := slices.Collect(slices.Chunk(a.outputs, len(a.outputs)/runtime.GOMAXPROCS(0)+1))
	found := make([]looked, len(parts))
	var wg sync.WaitGroup
	for i, part := range parts {
		wg.Go(func() {
			var l looker
			defer l.close()
			for _, r := range part {
				switch dir := workdirOf(r.out, a); {
				case remote || r.out.Files > 0 || !filepath.IsAbs(dir):
					found[i].far = append(found[i].far, r)
				case !l.unchanged(dir, r.out):
					found[i].differ = append(found[i].differ, r)
				}
			}
		})
	}
	wg.Wait()
	for _, f := range found {
		far, differ = append(far, f.far...), append(differ, f.differ...)
	}
	return far, differ
}

// byFilesystem groups outputs by where they are looked at, and the workdir that
// their paths are below.
func (a *ask) byFilesystem(rs []recorded) map[[2]string][]recorded {
	out := map[[2]string][]recorded{}
	for _, r := range rs {
		spot := site.FilesystemOf(a.conf, a.offers, r.pool)
		workdir := r.out.Workdir
		if workdir == "" {
			workdir = spot.Workdir
		}
		key := [2]string{spot.Name(), workdir}
		out[key] = append(out[key], r)
	}
	return out
}

func request(at [2]string, rs []recorded, open bool) providers.VerifyRequest {
	v := providers.VerifyRequest{Backend: at[0], Workdir: at[1], Open: open, Outputs: make([]providers.Output, len(rs))}
	for i, r := range rs {
		out := jobspec.Output(r.spec, r.out.Name, r.out.Path)
		if r.spec == nil {
			out.Kind, out.MinCount = string(jobspec.KindOf(r.out)), min(r.out.Files, 1)
			if out.MinCount == 0 {
				out.MinCount = providers.NoneNeeded
			}
		}
		v.Outputs[i] = out
	}
	return v
}

// report keeps broken outputs, and those with other bytes than recorded.
func (o *outputs) report(r recorded, got offer.Output) {
	if got.Unverified { // nobody knows: it stays as recorded
		got = named(r, got)
		o.answers.find(observed.Finding{Diagnostic: diag.Diagnostic{Severity: diag.Warning,
			Summary: "An output could not be verified", Address: r.address,
			Detail: fmt.Sprintf("Output %s (%s): %s. muster assumes that it is as recorded. Raise verify_timeout or verify_max_size in its block.", got.Name, got.Path, got.Verdict)}})
		return
	}
	if got.OK && (got.Digest == "" || got.Digest == r.out.Digest || r.out.Digest == "") {
		if got.Digest != "" && got.Digest == r.out.Digest && (!alike(r.out, got) || r.out.CTime != got.CTime) {
			o.answers.Lock()
			o.answers.Observed.Touched[r.address] = append(o.answers.Observed.Touched[r.address], named(r, got))
			o.answers.Unlock()
		}
		return
	}
	got = named(r, got)
	o.answers.Lock()
	o.answers.Observed.Outputs[r.address] = append(o.answers.Observed.Outputs[r.address], got)
	o.answers.Unlock()
}

// named adds the output's name to a finding.
func named(r recorded, got offer.Output) offer.Output {
	if got.Name == "" {
		got.Name = r.out.Name
	}
	if got.Path == "" {
		got.Path = r.out.Path
	}
	return got
}
