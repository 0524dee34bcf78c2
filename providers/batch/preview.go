package batch

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/arrays"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

// Script shows how like jobs would be submitted.
func (s *Provider) Script(r providers.ScriptRequest) (providers.Script, error) {
	return preview(s.options.Type, r)
}

// Terms are the requests of jobs to the queue beside their shape.
func (s *Provider) Terms(config, options json.RawMessage) offer.Terms {
	return s.options.Type.Terms(config, options)
}

// preview shows how like jobs would be submitted. The script is built as at
// submission, from the plan's facts about the pool.
func preview(t scheduler.Type, r providers.ScriptRequest) (providers.Script, error) {
	site, err := t.Open(scheduler.Opening{Backend: r.Backend})
	if err != nil {
		return providers.Script{}, err
	}
	site.Recall(r.Pool)
	out := providers.Script{Sizes: []int{1}}
	switch each := r.Like.Shape.Pack; {
	case r.Apart:
	case each > 1:
		out.Sizes, out.Packed = sizes(r.Count, each), true
	default:
		out.Sizes = sizes(r.Count, site.LongestArray())
	}
	spool := filepath.Join(r.Like.Workdir, ".muster", t.Name(), "CAMPAIGN")
	list := make([]*batch, len(out.Sizes))
	for part, n := range out.Sizes {
		k := &batch{Name: arrays.Name(r.Like.Phase, "TOKEN", part), Phase: r.Like.Phase, Pool: r.Like.Pool, Limit: r.Like.Cap, Array: n > 1 && !out.Packed, Packed: n > 1 && out.Packed, Slots: r.Like.Shape.Slots}
		k.dir = node.Batch(filepath.Join(spool, "batches", k.Name))
		for i := range n {
			k.Indexes = append(k.Indexes, i)
		}
		list[part] = k
	}
	capped(list)
	q := list[0].request(r.Like, r.Backend.Campaign, spool)
	q.Await, q.Agent = r.Returns, []string{filepath.Join(r.Like.Workdir, ".muster", "bin", "muster"), "provider", "node"}
	if out.Text, err = site.Script(q); err != nil {
		return providers.Script{}, err
	}
	to := site.Scheduler()
	out.Command, out.Staying, out.Leaving = to.Words().Submit, to.Command("script.sh", false), to.Command("script.sh", r.Ahead)
	for _, e := range r.After {
		d := scheduler.Dependency{Kind: scheduler.AfterOK, ID: "ID-OF-" + e.Phase}
		switch can := to.Elements(); {
		case e.Each && out.Packed:
			d.Kind = scheduler.AfterAny
		case e.Each && can.AfterLike:
			d.Kind = scheduler.AfterLike
		case e.Each && !can.Apart && r.Count > 1:
			d.Kind = scheduler.AfterAny
		}
		q.Depend = append(q.Depend, d)
	}
	awaiting, err := site.Script(q)
	out.Awaiting = besides(awaiting, out.Text)
	return out, err
}

// sizes are the lengths of the arrays that jobs are cut into; most is the longest.
func sizes(jobs, most int) (list []int) {
	for left := jobs; left > 0; left -= most {
		list = append(list, min(left, most))
	}
	return list
}

// besides are the lines of a text that another text lacks.
func besides(text, other string) (lines []string) {
	had := strings.Split(other, "\n")
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); !slices.Contains(had, line) {
			lines = append(lines, line)
		}
	}
	return lines
}
