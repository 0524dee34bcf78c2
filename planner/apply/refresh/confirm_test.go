package refresh

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A lab has files, by where they are among; a place without any cannot be
// looked at.
type lab struct {
	asked
	digests map[string]map[string]string
}

func (l *lab) Schema(context.Context) (offer.Schema, error) {
	return offer.Schema{Type: "local", Can: offer.Capabilities{Remote: true}}, nil
}

func (l *lab) Verify(_ context.Context, r providers.VerifyRequest) (out []offer.Output, _ error) {
	files, there := l.digests[r.Backend]
	if !there {
		return nil, errors.New("the connection broke")
	}
	for _, o := range r.Outputs {
		digest, ok := files[o.Path]
		out = append(out, offer.Output{Name: o.Name, Path: o.Path, OK: ok, Digest: digest})
	}
	return out, nil
}

// TestCopiesAreLookedAtWhereTheOriginalIsGone: an output that was moved is
// missing only when no copy of it is whole either.
func TestCopiesAreLookedAtWhereTheOriginalIsGone(t *testing.T) {
	t.Parallel()
	h1, h2, h3 := providers.At("local.local", "h1"), providers.At("local.local", "h2"), providers.At("local.local", "h3")
	for name, c := range map[string]struct {
		digests  map[string]map[string]string
		copies   []state.Copy
		uncopied bool
	}{
		"the copy is whole":           {map[string]map[string]string{h1: {}, h2: {"c": "d"}}, []state.Copy{{Backend: h2, Path: "c", Digest: "d"}}, false},
		"the copy is gone":            {map[string]map[string]string{h1: {}, h2: {}}, []state.Copy{{Backend: h2, Path: "c", Digest: "d"}}, true},
		"the copy is another file":    {map[string]map[string]string{h1: {}, h2: {"c": "x"}}, []state.Copy{{Backend: h2, Path: "c", Digest: "d"}}, true},
		"its host broke off":          {map[string]map[string]string{h1: {}}, []state.Copy{{Backend: h2, Path: "c", Digest: "d"}}, false},
		"its host does not answer":    {map[string]map[string]string{h1: {}, h3: {}}, []state.Copy{{Backend: h3, Path: "c", Digest: "d"}}, false},
		"its backend is not asked":    {map[string]map[string]string{h1: {}}, []state.Copy{{Backend: "ssh.gone", Path: "c", Digest: "d"}}, false},
		"one of two is whole":         {map[string]map[string]string{h1: {"e": "d"}, h2: {}}, []state.Copy{{Backend: h2, Path: "c", Digest: "d"}, {Backend: h1, Path: "e", Digest: "d"}}, false},
		"the original is there":       {map[string]map[string]string{h1: {"o": "d"}, h2: {}}, []state.Copy{{Backend: h2, Path: "c", Digest: "d"}}, false},
		"there never was another one": {map[string]map[string]string{h1: {}, h2: {}}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &lab{asked: asked{pools: []offer.Pool{{Name: "h1", Filesystem: "h1"}, {Name: "h2", Filesystem: "h2"}}}, digests: c.digests}
			address := `phase.a["seed=1"]`
			st := &state.State{Version: state.SchemaVersion, Jobs: map[string]*state.Job{address: {Address: address, Phase: "a", Status: state.Completed,
				Attempts: []state.Attempt{{N: 1, Backend: "local.local", Pool: "h1"}},
				Outputs:  []state.Output{{Name: "o", Backend: "local.local", Workdir: "/w", Path: "o", Digest: "d", Size: 1, Copies: c.copies}}}}}
			cam, diags := lang.LoadFiles(map[string][]byte{"t.muster.hcl": []byte("campaign \"t\" {}\n" + phase("seed = [1]", "    output \"o\" { path = \"o\" }"))},
				lang.LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			r := Observe(t.Context(), Input{Campaign: cam, State: st, Refresh: true, Provider: func(string) (providers.Provider, error) { return p, nil }})
			if got := slices.Contains(r.Observed.Uncopied[address], "o"); got != c.uncopied {
				t.Errorf("uncopied %t: %+v", got, r.Observed)
			}
		})
	}
}
