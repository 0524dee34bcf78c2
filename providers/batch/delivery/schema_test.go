package delivery

import (
	"testing"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm"
	"github.com/muster-run/muster/providers/ssh"
)

// TestSchemas: every attribute is documented and of a known type, and no name
// is there twice.
func TestSchemas(t *testing.T) {
	t.Parallel()
	for _, s := range []offer.Schema{Schema(slurm.Type{}), ssh.Schema()} {
		inspect(t, s.Type+" config", s.Config)
		inspect(t, s.Type+" options", s.Options)
	}
}

func inspect(t *testing.T, where string, b offer.Block) {
	seen := map[string]bool{}
	for _, a := range b.Attrs {
		if seen[a.Name] || a.Doc == "" || a.Doc[len(a.Doc)-1] != '.' || a.Type == "" {
			t.Errorf("%s: attribute %+v", where, a)
		}
		seen[a.Name] = true
	}
	for _, n := range b.Blocks {
		if seen[n.Name] || n.Doc == "" {
			t.Errorf("%s: block %s", where, n.Name)
		}
		seen[n.Name] = true
		inspect(t, where+" "+n.Name, n.Block)
	}
}
