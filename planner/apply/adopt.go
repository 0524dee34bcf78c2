package apply

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// adoptMost is how many jobs are verified in one call before their adoption.
const adoptMost = 200

// An adoptee is a cell whose files become its result.
type adoptee struct {
	p    *phase
	cell int32
}

// adoptFiles verifies the files that the plan adopts, where they are, and records
// them as results. A job whose files do not pass stays as it
// is, and does not run: the approval names no run of it.
func (ru *reuse) adoptFiles() {
	by := map[string][]adoptee{}
	var order []string
	for _, p := range ru.phases {
		for i, k := range p.plan.Kind {
			if k != planner.AdoptFiles || ru.halted == progress.Beyond {
				continue
			}
			address := p.Address(i)
			if rec := ru.st.Jobs[address]; ru.byJob[address] != nil || rec != nil && rec.InFlight() {
				ru.notAdopted(p, int32(i), "a launch of it is under way")
				continue
			}
			if p.unsettledAt(int32(i)) {
				ru.notAdopted(p, int32(i), "a file that it reads is not digested yet")
				continue
			}
			at := p.plan.Details[i].At
			if by[at] == nil {
				order = append(order, at)
			}
			by[at] = append(by[at], adoptee{p, int32(i)})
		}
	}
	for _, at := range order {
		backend, pool := providers.CutAt(at)
		b := ru.backends.At(backend, pool)
		for all := by[at]; len(all) > 0; {
			n := min(len(all), adoptMost)
			if b == nil || b.Provider == nil {
				for _, c := range all[:n] {
					ru.notAdopted(c.p, c.cell, "backend."+backend+" cannot be reached")
				}
			} else {
				ru.adoptAt(b.Provider, b.Filesystem(pool), pool, all[:n])
			}
			all = all[n:]
		}
	}
	ru.Sync()
}

// adoptAt verifies and records files that are on one spot.
func (ru *reuse) adoptAt(files providers.Files, at site.Filesystem, pool string, all []adoptee) {
	v := providers.VerifyRequest{Backend: at.Name(), Workdir: at.Workdir, Open: true}
	for _, c := range all {
		v.Outputs = append(v.Outputs, jobspec.Declared(c.p.Phase, int(c.cell))...)
	}
	done := ru.report.Slow("verifying files to adopt on backend." + at.Name())
	got, err := files.Verify(ru.Context(), v)
	done()
	if err == nil && len(got) != len(v.Outputs) {
		err = fmt.Errorf("backend.%s does not answer for every file", at.Name())
	}
	for _, c := range all {
		if err != nil {
			ru.notAdopted(c.p, c.cell, strings.TrimSuffix(providers.WithHint(err), "."))
			continue
		}
		n := len(c.p.Outputs)
		ru.adoptCell(c, got[:n], at, pool)
		got = got[n:]
	}
}

func (ru *reuse) adoptCell(c adoptee, outs []offer.Output, at site.Filesystem, pool string) {
	o := offer.Observation{Outputs: outs, Metrics: map[string]offer.Metric{}}
	for k, out := range outs {
		if !out.OK {
			ru.notAdopted(c.p, c.cell, fmt.Sprintf("output %s (%s): %s", out.Name, out.Path, out.Verdict))
			return
		}
		if seen := c.p.plan.Details[int(c.cell)].Seen; k >= len(seen) || seen[k].Size != out.Size || seen[k].MTime != out.MTime || seen[k].Inode != out.Inode || seen[k].Files != out.Files {
			ru.notAdopted(c.p, c.cell, out.Path+" changed since the plan was made")
			return
		}
		for name, m := range out.Metrics {
			o.Metrics[name] = m
		}
	}
	backend, _ := providers.CutAt(at.Name())
	var exit *int
	if c.p.plan.Details[int(c.cell)].Ran {
		exit = new(int)
	}
	metrics, unread := ru.metrics(c.p, c.p.Address(int(c.cell)), o.Metrics)
	ru.Emit(state.Reused{Job: ru.builder.identity(c.p, c.cell), Outputs: jobspec.OutputsOf(&o, backend, at.Workdir), Metrics: metrics, Unread: unread, By: ru.Who, At: ru.Clock(),
		Attempt: state.Attempt{N: 1, Token: ru.Mint(), Backend: backend, Pool: pool, Plan: ru.approval, Adopter: ru.Who, Exit: exit, Ended: ru.Clock()}})
}

func (ru *reuse) notAdopted(p *phase, cell int32, why string) {
	ru.notPutThere(p, cell, "did not adopt its files: "+why)
}
