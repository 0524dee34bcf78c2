package planner

import (
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// The digest of an image is in the hash of a job. A job that ran before it was
// recorded is compared without it, and one whose image cannot be looked at now by
// the digest of its record.
func TestImageBytes(t *testing.T) {
	t.Parallel()
	c, diags := lang.LoadFiles(map[string][]byte{"c.muster.hcl": []byte(`campaign "c" {}
backend "local" "local" {}
phase "a" {
  job {
    command = "true"
    image   = "x.sif"
    resources { walltime = "1h" }
  }
}
`)}, lang.LoadOptions{Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	p := c.Phases[0]
	seen := func(digest string) result.Contents {
		if digest == "" {
			return nil
		}
		of, _ := p.Images(lang.Run)
		return result.Contents{"a": {{Name: result.Image, Of: of, Digests: []string{digest}}}}
	}
	ran := func(digest string) *state.Job {
		j := &state.Job{Address: "phase.a", Phase: "a", Status: state.Completed, Scheme: Scheme, Definition: p.Definition().Digest,
			Result: result.New(Scheme, nil).Read(seen(digest)).Phase(p)[0].String()}
		if digest != "" {
			j.InputBytes = state.TextsOf(map[string]string{result.Image: digest})
		}
		return j
	}
	for _, tc := range []struct {
		ran, now string
		want     Kind
	}{
		{"sha256:1", "sha256:1", None},
		{"sha256:1", "sha256:2", Rerun},
		{"sha256:1", "", None},
		{"", "sha256:1", None},
		{"", "", None},
	} {
		st := state.New("c")
		st.Jobs["phase.a"] = ran(tc.ran)
		in := input(c, st)
		in.Observed.Contents = seen(tc.now)
		pp := planned(t, in).Phases[0]
		if pp.Kind[0] != tc.want {
			t.Errorf("ran on %q, is %q: %s, not %s", tc.ran, tc.now, pp.Kind[0], tc.want)
		}
		if tc.want == Rerun && pp.Details[0].Reasons[0].Field != imageBytes {
			t.Errorf("%+v", pp.Details[0].Reasons)
		}
	}
}
