package refresh

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A deaf backend answers everything but what is there.
type deaf struct {
	asked
	listed int
}

func (d *deaf) Schema(context.Context) (offer.Schema, error) {
	return offer.Schema{Type: "local", Can: offer.Capabilities{Remote: true}}, nil
}

func (d *deaf) List(context.Context, string, []string) ([]providers.FileInfo, error) {
	d.listed++
	return nil, errors.New("the connection broke")
}

// TestCopyThatCannotBeLookedAt makes its backend no unreachable one: it
// answered, and is asked again before jobs start there.
func TestCopyThatCannotBeLookedAt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.py"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, diags := lang.LoadFiles(map[string][]byte{"t.muster.hcl": []byte("campaign \"t\" {}\nsource { include = [\"a.py\"] }\n" + phase("seed = [1]", ""))},
		lang.LoadOptions{Dir: dir, Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	d := &deaf{asked: asked{pools: []offer.Pool{{Total: 4, CPUs: 4}}}}
	r := Observe(t.Context(), Input{Campaign: c, State: &state.State{Version: state.SchemaVersion}, Copies: true, Provider: func(string) (providers.Provider, error) { return d, nil }})
	if d.listed == 0 || len(r.Observed.Unreachable) != 0 || len(r.Observed.Findings) != 0 {
		t.Errorf("looked %d times: %+v", d.listed, r.Observed)
	}
}
