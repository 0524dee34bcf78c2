package planfile

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/ceiling"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

var now = time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)

const source = `campaign "test" {}
variable "token" {
  type      = string
  sensitive = true
}
phase "a" {
  grid {
    axes = { seed = [1, 2, 3], name = ["x y", "z"] }
  }
  params = { lr = "0.1" }
  job {
    command = "train --seed ${cell.seed} --name ${shellquote(cell.name)} --lr ${param.lr} --out ${shellquote(output.out)}"
    env     = { TOKEN = var.token }
    output "out" {
      path = "out/${cell.key}.txt"
    }
    resources {
      walltime = "1h"
      gpus     = 1
    }
  }
  place { candidates = [backend.local.local] }
  smoke {
    params = { lr = "0" }
    cells  = "first"
  }
}
`

func load(t *testing.T, text string) *lang.Campaign {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "test.muster.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, diags := lang.Load(lang.LoadOptions{Dir: dir, Vars: []string{"token=s3cret"}, SensitiveKey: []byte("k"), Schemas: map[string]offer.Schema{"local": {Type: "local"}, "ssh": {Type: "ssh"}}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return c
}

func pool() offer.Pool {
	return offer.Pool{Backend: "local.local", Kind: offer.MachinePool, Word: "machine", CPUs: 4, GPUs: 2, GPUModel: "A100", Idle: 2, Total: 2, Price: offer.Price{Known: true, USDPerGPUHour: "1"}}
}

// saved plans a campaign, saves the plan and reads it back.
func saved(t *testing.T, c *lang.Campaign, st *state.State) (*planner.Plan, *File, string) {
	t.Helper()
	in := planner.Input{Campaign: c, State: st, Pools: []offer.Pool{pool()}, Now: now, Options: planner.Options{Reason: "why not"}}
	p, diags := planner.Make(in)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	path := filepath.Join(t.TempDir(), "x.mplan")
	if err := Write(path, p, Meta{Muster: "test", Input: in, Providers: map[string]string{"slurm": "1.0"}}); err != nil {
		t.Fatal(err)
	}
	f, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return p, f, path
}

func completed(p *planner.Plan, cells ...int) *state.State {
	st := &state.State{Lineage: "l", Serial: 4, Jobs: map[string]*state.Job{}}
	pp := p.Phases[0]
	for _, i := range cells {
		a := pp.Phase.Address(i)
		st.Jobs[a] = &state.Job{Address: a, Phase: "a", Axes: state.TextsOf(pp.Phase.Axes(i)), Scheme: planner.Scheme, Result: pp.Result[i].String(), Status: state.Completed,
			Attempts: []state.Attempt{{N: 1, Token: "t", Backend: "local.local"}}}
	}
	return st
}

func TestReadGivesBackWhatWasWritten(t *testing.T) {
	t.Parallel()
	c := load(t, source)
	p, f, path := saved(t, c, nil)
	got, diags := f.Bind(c)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for i, pp := range p.Phases {
		g := got.Phases[i]
		if !reflect.DeepEqual(g.Kind, pp.Kind) || !reflect.DeepEqual(g.Result, pp.Result) || !reflect.DeepEqual(g.Place, pp.Place) || !reflect.DeepEqual(g.Smoke, pp.Smoke) {
			t.Errorf("phase %s: %+v, want %+v", pp.Phase.Name, g, pp)
		}
		if g.Decision(0).Backend != "local.local" {
			t.Errorf("placement %+v", g.Decision(0))
		}
	}
	if got.ID != p.ID || got.Counts != p.Counts || !reflect.DeepEqual(got.Ceiling, p.Ceiling) || f.Options().Reason != "why not" {
		t.Errorf("head %+v", f.Head)
	}
	if a, k := ceiling.Ceiling(got.Phases[0].Decision(0), got.Phases[0].Phase.Retry, nil); !k.All() || a["usd"].String() != "1" {
		t.Errorf("ceiling of a bound plan: %v", a)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	data, _ := os.ReadFile(path)
	if bytes.Contains(data, []byte("s3cret")) {
		t.Error("a sensitive value is in the file")
	}
}

func TestCheck(t *testing.T) {
	c := load(t, source)
	p, _, _ := saved(t, c, nil)
	approval := func(finished bool) []state.Approval {
		a := state.Approval{Who: "ada", Begun: now}
		if finished {
			a.Finished, a.Outcome = now, "done"
		}
		return []state.Approval{a}
	}
	for name, tc := range map[string]struct {
		was  *state.State
		edit func(f *File, st *state.State) (*lang.Campaign, []place.Quoted)
		want string // in the first error; "" = none
	}{
		"nothing moved": {was: completed(p, 0)},
		"campaign edited": {was: completed(p), edit: func(*File, *state.State) (*lang.Campaign, []place.Quoted) {
			return load(t, strings.Replace(source, `lr = "0.1"`, `lr = "0.2"`, 1)), nil
		}, want: "test.muster.hcl was edited"},
		"more jobs completed: fine": {was: completed(p), edit: func(f *File, st *state.State) (*lang.Campaign, []place.Quoted) {
			st.Jobs = completed(p, 0, 1).Jobs
			return c, nil
		}},
		"a job failed since": {was: completed(p), edit: func(f *File, st *state.State) (*lang.Campaign, []place.Quoted) {
			st.Jobs = completed(p, 0).Jobs
			st.Jobs[p.Phases[0].Phase.Address(0)].Status = state.Failed
			return c, nil
		}, want: "was attempted: failed"},
		"the plan's own attempts, begun: resumed": {was: completed(p), edit: func(f *File, st *state.State) (*lang.Campaign, []place.Quoted) {
			st.Jobs = completed(p, 0).Jobs
			job := st.Jobs[p.Phases[0].Phase.Address(0)]
			job.Status, job.Attempts[0].Plan = state.Failed, f.Head.ID
			st.Approvals = approval(false)
			st.Approvals[0].Plan = f.Head.ID
			return c, nil
		}},
		"finished: refused": {was: completed(p), edit: func(f *File, st *state.State) (*lang.Campaign, []place.Quoted) {
			st.Approvals = approval(true)
			st.Approvals[0].Plan = f.Head.ID
			return c, nil
		}, want: "ada finished it"},
		"another lineage": {was: completed(p), edit: func(f *File, st *state.State) (*lang.Campaign, []place.Quoted) {
			st.Lineage = "other"
			return c, nil
		}, want: "lineage"},
		"price within the tolerance": {was: completed(p), edit: func(f *File, st *state.State) (*lang.Campaign, []place.Quoted) { return c, quote(f, "1.10") }},
		"price rose":                 {was: completed(p), edit: func(f *File, st *state.State) (*lang.Campaign, []place.Quoted) { return c, quote(f, "1.11") }, want: "usd an hour were 1 and are 1.11"},
		"price rose by digits nobody reads": {was: completed(p), edit: func(f *File, st *state.State) (*lang.Campaign, []place.Quoted) {
			return c, quote(f, "1.4141095890410959")
		}, want: "usd an hour were 1 and are 1.4141. That"},
		"price in units not known any more": {was: completed(p), edit: func(f *File, st *state.State) (*lang.Campaign, []place.Quoted) {
			q := quote(f, "1")
			q[0].Quote.Price.UnknownSU = true
			return c, q
		}, want: "the price in service units is no longer known"},
		"price in units known by now": {was: completed(p), edit: func(f *File, st *state.State) (*lang.Campaign, []place.Quoted) {
			for i := range f.Head.Phases[0].Placements {
				f.Head.Phases[0].Placements[i].Price.UnknownSU = true
			}
			q := quote(f, "1")
			q[0].Quote.Price.SUPerGPUHour = "500"
			return c, q
		}},
		"a quote expired": {was: completed(p), edit: func(f *File, st *state.State) (*lang.Campaign, []place.Quoted) {
			f.Head.Quotes = quote(f, "1")
			f.Head.Quotes[0].Quote.Expires = now.Add(time.Hour)
			return c, nil
		}, want: "no new one"},
		"a quote expired and stands again": {was: completed(p), edit: func(f *File, st *state.State) (*lang.Campaign, []place.Quoted) {
			f.Head.Quotes = quote(f, "1")
			f.Head.Quotes[0].Quote.Expires = now.Add(time.Hour)
			return c, quote(f, "1")
		}},
		"a quote stands": {was: completed(p), edit: func(f *File, st *state.State) (*lang.Campaign, []place.Quoted) {
			f.Head.Quotes = quote(f, "1")
			f.Head.Quotes[0].Quote.Expires = now.Add(3 * time.Hour)
			return c, nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, f, _ := saved(t, c, tc.was)
			campaign, quotes := c, []place.Quoted(nil)
			if tc.edit != nil {
				campaign, quotes = tc.edit(f, tc.was)
			}
			l := f.Check(campaign, tc.was, quotes, now.Add(2*time.Hour))
			if tc.want == "" {
				if l.HasErrors() {
					t.Errorf("refused: %v", l)
				}
				return
			}
			if !l.HasErrors() || !strings.Contains(l[0].Detail, tc.want) {
				t.Errorf("got %v, want %q", l, tc.want)
			}
		})
	}
}

func quote(f *File, usd string) []place.Quoted {
	d := f.Head.Phases[0].Placements[1]
	return []place.Quoted{{Shape: d.Shape, Quote: offer.Quote{Backend: d.Backend, Pool: d.Pool, Fits: true, Price: offer.Price{Known: true, USDPerGPUHour: usd}}}}
}

func TestProviderVersions(t *testing.T) {
	t.Parallel()
	_, f, _ := saved(t, load(t, source), nil)
	if l := f.CheckProviders(map[string]string{"slurm": "1.1"}); !l.HasErrors() {
		t.Error("a provider's new version is told")
	}
	if l := f.CheckProviders(map[string]string{"slurm": "1.0"}); l.HasErrors() {
		t.Error(l)
	}
}

// TestDamage flips and cuts: no damaged file is ever taken for a plan.
func TestDamage(t *testing.T) {
	t.Parallel()
	_, _, path := saved(t, load(t, source), nil)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range data {
		bad := bytes.Clone(data)
		bad[at] ^= 0x55
		if _, err := decode(bad); err == nil {
			t.Fatalf("byte %d flipped, and the file was read", at)
		}
		if _, err := decode(data[:at]); err == nil {
			t.Fatalf("cut at %d, and the file was read", at)
		}
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	p, f, _ := saved(t, load(t, source), nil)
	var mem, disk bytes.Buffer
	if err := WriteJSON(&mem, p, "test", nil); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteJSON(&disk, nil); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		FormatVersion string `json:"format_version"`
		Jobs          []Job
	}
	if err := json.Unmarshal(mem.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.FormatVersion != FormatVersion || len(doc.Jobs) != 6 || doc.Jobs[0].Action != "run" || doc.Jobs[0].Address != p.Phases[0].Phase.Address(0) {
		t.Errorf("got %+v", doc)
	}
	a, b := mem.String(), disk.String()
	if a, b = a[strings.Index(a, `"jobs":[`):], b[strings.Index(b, `"jobs":[`):]; a != b {
		t.Errorf("a plan and its file differ:\n%s\n%s", a, b)
	}
	var lines bytes.Buffer
	if err := f.WriteJSONL(&lines); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(lines.String(), "\n"); n != 7 {
		t.Errorf("%d lines, want the plan and 6 jobs", n)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) { decode(data) })
}
