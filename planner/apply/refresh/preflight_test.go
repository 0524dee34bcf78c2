package refresh

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// asked is a backend that says what its machines are and keeps the checks.
type asked struct {
	providers.Provider
	pools  []offer.Pool
	checks []providers.Check
	found  func(providers.Check) string // "" = nothing
}

func (a *asked) Schema(context.Context) (offer.Schema, error) {
	return offer.Schema{Type: "local"}, nil
}
func (a *asked) Configure(context.Context, providers.Backend) error { return nil }

func (a *asked) Pools(_ context.Context, name string) ([]offer.Pool, error) {
	for i := range a.pools {
		a.pools[i].Backend = name
	}
	return a.pools, nil
}
func (a *asked) Quote(context.Context, string, []offer.Shape) ([]offer.Quote, error) { return nil, nil }
func (a *asked) Preflight(_ context.Context, _ string, checks []providers.Check) (out []providers.Finding, _ error) {
	a.checks = checks
	for i, c := range checks {
		if a.found != nil && a.found(c) != "" {
			out = append(out, providers.Finding{Check: i, Summary: a.found(c)})
		}
	}
	return out, nil
}

// ofJobs are the checks of what jobs need, and not of the volumes that they write to.
func (a *asked) ofJobs() (out []providers.Check) {
	for _, c := range a.checks {
		if c.Shape.CPUs > 0 {
			out = append(out, c)
		}
	}
	return out
}

func (a *asked) observe(t *testing.T, hcl string, st *state.State) Result {
	t.Helper()
	return a.observeAs(t, a, hcl, st)
}

func (a *asked) observeAs(t *testing.T, p providers.Provider, hcl string, st *state.State) Result {
	t.Helper()
	c, diags := lang.LoadFiles(map[string][]byte{"t.muster.hcl": []byte("campaign \"t\" {}\n" + hcl)},
		lang.LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if st == nil {
		st = &state.State{Version: state.SchemaVersion}
	}
	return Observe(t.Context(), Input{Campaign: c, State: st, Preflight: true, Provider: func(string) (providers.Provider, error) { return p, nil }})
}

func phase(axes, job string) string {
	return "phase \"a\" {\n  grid { axes = { " + axes + " } }\n  job {\n    command = \"run ${cell.seed}\"\n" + job + "\n  }\n}\n"
}

// TestChecksAreOfDistinctNeeds: what differs by cell is looked for once for
// each value, however many jobs have it.
func TestChecksAreOfDistinctNeeds(t *testing.T) {
	t.Parallel()
	const seeds = "seed = range(3000)"
	for name, c := range map[string]struct {
		axes, job string
		checks    int
	}{
		"nothing differs":                      {seeds, `image = "a.sif"`, 1},
		"image by cell":                        {seeds + ", env = [\"a\", \"b\"]", `image = "${cell.env}.sif"`, 2},
		"one image in the end":                 {seeds, `image = cell.seed < 0 ? "a.sif" : "b.sif"`, 1},
		"setup by cell":                        {seeds + ", env = [\"a\", \"b\"]", `setup = "conda activate ${cell.env}"`, 2},
		"a variable that the setup reads":      {seeds + ", env = [\"a\", \"b\"]", "setup = \"conda activate $WHICH\"\n env = { WHICH = cell.env, SEED = cell.seed }", 2},
		"a variable that no setup reads":       {seeds, `env = { SEED = cell.seed }`, 1},
		"a variable beside a setup":            {seeds, "setup = \"module load cuda\"\n env = { SEED = cell.seed }", 1},
		"an image of each request":             {seeds + ", n = [1, 2]", "image = \"a.sif\"\n resources {\n cpus = cell.n\n }", 2},
		"requests and images, not all of both": {seeds + ", n = [1, 2]", "image = \"${cell.n}.sif\"\n resources {\n cpus = cell.n\n }", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &asked{pools: []offer.Pool{{Total: 4, CPUs: 4}}}
			a.observe(t, phase(c.axes, c.job), nil)
			if len(a.ofJobs()) != c.checks {
				t.Errorf("%d checks, want %d", len(a.ofJobs()), c.checks)
			}
		})
	}
}

// TestFindingNamesItsCells, and all of them; those that are done as they are
// defined now are none of its.
func TestFindingNamesItsCells(t *testing.T) {
	t.Parallel()
	hcl := phase(`seed = range(4), env = ["a", "b"]`, `image = "${cell.env}.sif"`)
	a := &asked{pools: []offer.Pool{{Total: 4}}, found: func(c providers.Check) string {
		if strings.HasPrefix(c.Image, "b") {
			return "not there"
		}
		return ""
	}}
	r := a.observe(t, hcl, nil)
	if f := r.Observed.Findings; len(f) != 1 || fmt.Sprint(f[0].Cells) != "[4 5 6 7]" || f[0].Phase != "a" || f[0].Address != "phase.a" {
		t.Fatalf("%+v", f)
	}
	c, _ := lang.LoadFiles(map[string][]byte{"t.muster.hcl": []byte("campaign \"t\" {}\n" + hcl)}, lang.LoadOptions{Dir: t.TempDir()})
	p := c.Phases[0]
	st := &state.State{Version: state.SchemaVersion, Jobs: map[string]*state.Job{}}
	for _, i := range []int{4, 5, 6, 7} {
		st.Jobs[p.Address(i)] = &state.Job{Address: p.Address(i), Phase: "a", Status: state.Completed, Definition: p.Definition().Digest}
	}
	st.Jobs[p.Address(6)].Definition = "sha256:before"
	if f := a.observe(t, hcl, st).Observed.Findings; len(f) != 1 || fmt.Sprint(f[0].Cells) != "[6]" {
		t.Errorf("%+v", f)
	}
	st.Jobs[p.Address(6)].Definition = p.Definition().Digest
	if a.observe(t, hcl, st); len(a.ofJobs()) != 1 {
		t.Errorf("what is done is looked for: %+v", a.checks)
	}
}

// TestRoomForAllThatRunAtOnce: a volume needs what `disk` declares for as many
// jobs as run there at once, beside what all of them leave; that every job
// keeps all of it is worth a warning, until it is known what jobs leave.
func TestRoomForAllThatRunAtOnce(t *testing.T) {
	t.Parallel()
	const GB = 1_000_000_000
	for name, c := range map[string]struct {
		pools []offer.Pool
		axes  string
		job   string
		want  []string // pool: disk, keep, in GB
	}{
		"as many as there are slots": {[]offer.Pool{{MaxJobs: 4}}, "seed = range(10)", "", []string{": 40 100"}},
		"as many as there are GPUs": {[]offer.Pool{{MaxJobs: 64, GPUs: 2, Total: 2, Idle: 2}}, "seed = range(10)", "gpus = 1",
			[]string{": 20 100"}},
		"no more than there are jobs": {[]offer.Pool{{MaxJobs: 4}}, "seed = range(3)", "", []string{": 30 0"}},
		"two hosts with a disk each": {[]offer.Pool{{Name: "a", MaxJobs: 2, Filesystem: "a"}, {Name: "b", MaxJobs: 6, Filesystem: "b"}}, "seed = range(16)", "",
			[]string{"a: 20 40", "b: 60 120"}},
		"two hosts with one disk": {[]offer.Pool{{Name: "a", MaxJobs: 2, Filesystem: "nfs"}, {Name: "b", MaxJobs: 6, Filesystem: "nfs"}}, "seed = range(16)", "",
			[]string{": 80 160"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &asked{pools: c.pools}
			a.observe(t, phase(c.axes, "resources {\n disk = \"10GB\"\n "+c.job+"\n }"), nil)
			var got []string
			for _, c := range a.checks {
				if c.Disk > 0 {
					got = append(got, fmt.Sprintf("%s: %d %d", c.Pool, c.Disk/GB, c.Keep/GB))
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	a := &asked{pools: []offer.Pool{{MaxJobs: 4}}}
	a.observe(t, phase("seed = range(10)", "resources {\n disk = \"10GB\"\n }\n output \"m\" {\n path = \"m${cell.seed}\"\n min_size = \"2GB\"\n }"), nil)
	if c := a.checks[len(a.checks)-1]; c.Disk != 10*2*GB+4*8*GB || c.Keep != 10*2*GB+10*8*GB {
		t.Errorf("results and what is declared beside them: %d %d", c.Disk, c.Keep)
	}
}

// TestFilesOfAllThatIsOpen: a volume needs the files of every job that is not done,
// of a folder or a glob as many as those that are done left.
func TestFilesOfAllThatIsOpen(t *testing.T) {
	t.Parallel()
	a := &asked{pools: []offer.Pool{{MaxJobs: 4}}, found: func(c providers.Check) string {
		if c.Jobs > 0 {
			return "few inodes"
		}
		return ""
	}}
	hcl := phase("seed = range(10)", "output \"m\" {\n path = \"m${cell.seed}\"\n }\n output \"g\" {\n glob = \"g${cell.seed}/*\"\n }")
	r := a.observe(t, hcl, nil)
	if c := a.checks[len(a.checks)-1]; c.Files != 20 || c.Jobs != 10 || c.Disk != 0 {
		t.Errorf("one of each output: %+v", c)
	}
	if f := r.Observed.Findings; len(f) != 1 || f[0].Phase != "a" {
		t.Errorf("the phase that needs them: %+v", f)
	}
	st := &state.State{Version: state.SchemaVersion, Jobs: map[string]*state.Job{}}
	for i, files := range []int{30, 50} {
		address := fmt.Sprintf("phase.a[\"seed=%d\"]", i)
		st.Jobs[address] = &state.Job{Address: address, Phase: "a", Status: state.Completed, Outputs: []state.Output{{Name: "m", Size: 1}, {Name: "g", Size: 1, Files: files}}}
	}
	a.observe(t, hcl, st)
	if c := a.checks[len(a.checks)-1]; c.Files != 8*(1+40) || c.Jobs != 8 {
		t.Errorf("eight left of ten, with 40 files in the glob: %+v", c)
	}
}

// A miswriting is a backend whose block, or profile, is wrong.
type miswriting struct{ asked }

func (m *miswriting) Configure(context.Context, providers.Backend) error {
	return providers.Errorf(providers.Invalid, "site.hcl:2: verified is not a month\nsite.hcl:5: max_nodes is 5")
}

// TestMistakesOfABackendAreToldOnce: they are an error, a line each, and why the
// backend cannot be asked says only that.
func TestMistakesOfABackendAreToldOnce(t *testing.T) {
	t.Parallel()
	c, diags := lang.LoadFiles(map[string][]byte{"t.muster.hcl": []byte("campaign \"t\" {}\n" + phase("seed = [1]", ""))},
		lang.LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	r := Observe(t.Context(), Input{Campaign: c, State: &state.State{Version: state.SchemaVersion}, Preflight: true, Provider: func(string) (providers.Provider, error) { return &miswriting{}, nil }})
	why := r.Observed.Unreachable["local.local"]
	if why == "" || strings.Contains(why, "site.hcl") || strings.Contains(why, "\n") {
		t.Errorf("cannot be asked: %q", why)
	}
	told := 0
	for _, f := range r.Observed.Findings {
		told += strings.Count(f.Detail, "verified is not a month\n") + strings.Count(f.Detail, "max_nodes is 5")
	}
	if told != 2 {
		t.Errorf("findings: %+v", r.Observed.Findings)
	}
}

// TestRepairsAreShown: muster shows the repairs that a backend made when it was asked, and no other notes of its pools.
func TestRepairsAreShown(t *testing.T) {
	t.Parallel()
	a := &asked{pools: []offer.Pool{{Name: "p", Notes: []string{"a note", offer.Repaired + "two jobs were taken out"}}}}
	var got []string
	found := a.observe(t, phase("seed = [1]", ""), nil).Observed.Findings
	if text := Repairs(found); len(text) != 1 || text[0] != "backend.local.local: two jobs were taken out" {
		t.Errorf("in words: %q", text)
	}
	for _, f := range found {
		if strings.Contains(f.Summary, "put right") {
			got = append(got, f.Address+": "+f.Detail)
		}
		if strings.Contains(f.Detail, "a note") {
			t.Errorf("told: %+v", f)
		}
	}
	if len(got) != 1 || got[0] != "backend.local.local: two jobs were taken out" {
		t.Errorf("told: %q", got)
	}
}
