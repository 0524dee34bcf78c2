package apply

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A reading is a completed job whose metrics are read again, all from one place.
type reading struct {
	p       *phase
	address string
	metrics []lang.Metric
	outputs []state.Output // by metric
}

// A readingPlace has the outputs of several readings.
type readingPlace struct{ backend, pool, workdir string }

// outdated are the jobs of this run whose metrics are read again, by the records that it
// begins with: a job that moves gets another definition.
func (ru *reuse) outdated() (out []reading) {
	if ru.halted == progress.Beyond {
		return nil
	}
	rs := planner.NewReadings(ru.st.Definitions)
	for _, p := range ru.phases {
		if p.plan.Reread == nil {
			continue
		}
		for i := range p.plan.Kind {
			if !p.plan.Rereads(i) {
				continue
			}
			rec := ru.st.Jobs[p.Address(i)]
			if from := p.plan.Details[i].From; p.plan.Kind[i] == planner.Move && from != "" {
				rec = ru.st.Jobs[from]
			}
			if metrics := rs.Outdated(p.Phase, rec); len(metrics) > 0 {
				out = append(out, reading{p: p, address: p.Address(i), metrics: metrics})
			}
		}
	}
	return out
}

// places are readings by where the outputs are.
func (ru *reuse) places(all []reading) (order []readingPlace, by map[readingPlace][]reading) {
	by = map[readingPlace][]reading{}
	for _, r := range all {
		rec := ru.st.Jobs[r.address]
		if rec == nil {
			continue
		}
		parts := map[readingPlace]*reading{}
		for _, m := range r.metrics {
			k := slices.IndexFunc(rec.Outputs, func(o state.Output) bool { return o.Name == m.Output && !o.Missing })
			if k < 0 {
				continue
			}
			o := rec.Outputs[k]
			at := readingPlace{backend: o.Backend, workdir: o.Workdir}
			if last := rec.Last(); last != nil && last.Backend == o.Backend {
				at.pool = last.Pool
			}
			if parts[at] == nil {
				parts[at] = &reading{p: r.p, address: r.address}
			}
			parts[at].metrics, parts[at].outputs = append(parts[at].metrics, m), append(parts[at].outputs, o)
		}
		for at, part := range parts {
			if by[at] == nil {
				order = append(order, at)
			}
			by[at] = append(by[at], *part)
		}
	}
	return order, by
}

// readAgain reads metrics whose definition was corrected from the outputs that were
// verified. Nothing runs, and an output that holds other bytes now is left alone.
func (ru *reuse) readAgain(all []reading) {
	read := map[*phase]map[string]bool{}
	order, by := ru.places(all)
	for _, at := range order {
		b := ru.backends.At(at.backend, at.pool)
		for list := range slices.Chunk(by[at], adoptMost) {
			if b == nil || b.Provider == nil {
				for _, r := range list {
					ru.notReadAgain(r, "backend."+at.backend+" cannot be reached")
				}
				continue
			}
			ru.readAt(b.Provider, b.Filesystem(at.pool).Name(), at, list, read)
		}
	}
	for _, p := range ru.phases {
		if n := len(read[p]); n > 0 {
			ru.Note("phase."+p.Name, fmt.Sprintf("phase.%s: read metric %s again from the outputs of %s", p.Name, strings.Join(p.plan.Reread.Metrics, ", "), units.Count(n, "job")), false)
		}
	}
	if len(all) > 0 {
		ru.Sync()
	}
}

func (ru *reuse) readAt(files providers.Files, name string, at readingPlace, list []reading, read map[*phase]map[string]bool) {
	v := providers.VerifyRequest{Backend: name, Workdir: at.workdir, Open: true}
	for _, r := range list {
		for i, o := range r.outputs {
			v.Outputs = append(v.Outputs, jobspec.ToRead(r.p.Phase, o, r.metrics[i]))
		}
	}
	done := ru.report.Slow("reading metrics again on backend." + name)
	got, err := files.Verify(ru.Context(), v)
	done()
	if err == nil && len(got) != len(v.Outputs) {
		err = fmt.Errorf("backend.%s does not answer for every file", name)
	}
	for _, r := range list {
		if err != nil {
			ru.notReadAgain(r, strings.TrimSuffix(providers.WithHint(err), "."))
			continue
		}
		if ru.recordReading(r, got[:len(r.outputs)]) {
			if read[r.p] == nil {
				read[r.p] = map[string]bool{}
			}
			read[r.p][r.address] = true
		}
		got = got[len(r.outputs):]
	}
}

// recordReading keeps the values of one job.
func (ru *reuse) recordReading(r reading, got []offer.Output) bool {
	found, by := map[string]offer.Metric{}, map[string]string{}
	for i, o := range got {
		m := r.metrics[i]
		if o.Digest != r.outputs[i].Digest {
			ru.notReadAgain(r, o.Path+" does not hold the bytes that were verified")
			return false
		}
		value, ok := o.Metrics[m.Name]
		if !ok {
			ru.notReadAgain(r, "backend."+r.outputs[i].Backend+" did not read metric "+m.Name)
			return false
		}
		found[m.Name], by[m.Name] = value, m.Print()
	}
	values, unread := ru.metrics(r.p, r.address, found)
	ru.Emit(state.MetricsRead{Address: r.address, Metrics: values, Unread: unread, Read: by, At: ru.Clock()})
	return true
}

func (ru *reuse) notReadAgain(r reading, why string) {
	ru.Note(r.address, r.address+": its metrics were not read again: "+why, true)
}
