package selection

import (
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

func campaign(t *testing.T) *lang.Campaign {
	t.Helper()
	src := `campaign "c" {}
backend "local" "local" {}
phase "train" {
  grid { axes = { N = [1, 2], seed = [7, 8] } }
  job { command = "true ${cell.N} ${cell.seed}" }
}
phase "figure" {
  job { command = "true" }
}
`
	c, diags := lang.LoadFiles(map[string][]byte{"c.muster.hcl": []byte(src)}, lang.LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return c
}

// left is a state that remembers a job which the campaign wants no longer.
func left() *state.State {
	gone := &state.Job{Address: `phase.train["N=3,seed=7"]`, Phase: "train"}
	smoke := &state.Job{Address: "phase.figure", Phase: "figure", Smoke: true}
	return &state.State{Jobs: map[string]*state.Job{gone.Key(): gone, smoke.Key(): smoke}}
}

func TestOf(t *testing.T) {
	c := campaign(t)
	for _, test := range []struct{ addresses, named, text string }{
		{"seed=7", `phase.train["N=1,seed=7"] phase.train["N=2,seed=7"] phase.train["N=3,seed=7"]`, "3 of 6 jobs selected"},
		{"N=3", `phase.train["N=3,seed=7"]`, "1 of 6 jobs selected"},
		{"phase.figure N=2,seed=8", `phase.figure phase.train["N=2,seed=8"]`, "2 of 6 jobs selected"},
	} {
		t.Run(test.addresses, func(t *testing.T) {
			jobs, diags := Of(c, left(), strings.Fields(test.addresses))
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			named := jobs.Named()
			slices.Sort(named)
			if got := strings.Join(named, " "); got != test.named || jobs.Text() != test.text || jobs.All() {
				t.Errorf("%s; %s", got, jobs.Text())
			}
		})
	}
	if _, diags := Of(c, left(), []string{"seed=9"}); !diags.HasErrors() {
		t.Error("seed=9 means nothing, and nothing is said of it")
	}
}

// Without an address every job is meant, and the list has those of the
// campaign, in its order.
func TestNoneMeanAll(t *testing.T) {
	c := campaign(t)
	jobs, diags := Of(c, left(), nil)
	if len(diags) > 0 || !jobs.All() || !jobs.Has("phase.anything") || len(jobs.Named()) != 0 {
		t.Errorf("%v %+v", diags, jobs)
	}
	want := []string{"phase.figure", `phase.train["N=1,seed=7"]`, `phase.train["N=1,seed=8"]`, `phase.train["N=2,seed=7"]`, `phase.train["N=2,seed=8"]`}
	if got := jobs.List(c); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestOne(t *testing.T) {
	c := campaign(t)
	for _, test := range []struct{ address, want, err string }{
		{"N=1,seed=8", `phase.train["N=1,seed=8"]`, ""},
		{"N=3", `phase.train["N=3,seed=7"]`, ""},
		{"N=1", "", `N=1 means 2 jobs (phase.train["N=1,seed=7"], phase.train["N=1,seed=8"], …): name one`},
	} {
		t.Run(test.address, func(t *testing.T) {
			jobs, diags := Of(c, left(), []string{test.address})
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			got, err := jobs.One(c, test.address)
			if got != test.want || err == nil != (test.err == "") || err != nil && err.Error() != test.err {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestProposed(t *testing.T) {
	c := campaign(t)
	if got := Proposed(c, ""); len(got) != 5 {
		t.Errorf("nothing begun: %q", got)
	}
	got := Proposed(c, "seed=7,N")
	for _, want := range []string{"seed=7,N=1", "seed=7,N=2", "phase.figure"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %q", want, got)
		}
	}
}
