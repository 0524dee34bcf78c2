package planner

import (
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner/change"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/state"
)

// refreshOnly plans nothing: every record is brought up to date, and the rest is
// left out. Loose records get a row; it returns the rows that have news.
func refreshOnly(fs *facts, ps phases, loose []*state.Job) (rows []Row, diags diag.List) {
	for _, w := range ps.drafts {
		for i := range w.pp.Kind {
			w.pp.Kind[i] = Skipped
			if !w.chosen(i) {
				continue
			}
			job := w.record(i)
			if job == nil {
				continue
			}
			kind, d := fs.news(job)
			w.pp.Kind[i] = kind
			w.keep(i, kind, d)
		}
	}
	for _, f := range fs.in.Observed.Findings {
		f.Severity = diag.Warning // nothing is started that it could stop
		diags.Append(f.Diagnostic)
	}
	for _, job := range loose {
		if kind, d := fs.news(job); kind != None && fs.targeted(job) {
			rows = append(rows, Row{Kind: kind, Address: job.Address, Backend: backendOf(job), Detail: d})
		}
	}
	return rows, diags
}

func backendOf(job *state.Job) string {
	if at := job.Last(); at != nil {
		return at.Backend
	}
	return ""
}

// news is a refresh's finding about a record that the record does not have
// yet.
func (fs *facts) news(job *state.Job) (Kind, Detail) {
	f, d := fs.observe(job), Detail{State: job}
	switch {
	case f.Unknown != "":
		d.Text = f.Unknown
		return UnknownAt, d
	case f.Found:
		d.Reasons = []Reason{change.Of("intent", "submitting", "found on its backend")}
		return Record, d
	case f.Absent:
		d.Reasons = []Reason{change.Of("intent", "submitting", "confirmed absent from its backend")}
		return Record, d
	case f.Status != f.Was:
		d.Reasons = []Reason{change.Of("status", string(f.Was), string(f.Status))}
		if f.Status == state.Failed || f.Status == state.Cancelled {
			d.Text = f.Failure()
		}
		return Record, d
	}
	if f.Status == state.Completed {
		if altered, _ := fs.in.Observed.Altered(job); len(altered) > 0 {
			d.Text = strings.Join(append(altered, fs.in.Observed.Broken(f)...), "; ")
			return Altered, d
		}
		if broken := fs.in.Observed.Broken(f); len(broken) > 0 {
			d.Text, d.Lacks = strings.Join(broken, "; "), observed.Lacks(broken)
			return Missing, d
		}
		if slices.ContainsFunc(job.Outputs, func(o state.Output) bool { return o.Missing }) {
			d.Reasons = []Reason{change.Of("outputs", "missing", "as recorded")}
			return Record, d
		}
	}
	return None, d
}
