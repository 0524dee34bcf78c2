package decode

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/wording"
)

// EnvNames checks names of environment variables.
func (r *Reader) EnvNames(b *syntax.Block, attr string, env map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		r.EnvName(b.Expr(attr), name)
	}
}

// EnvName checks the name of an environment variable.
func (r *Reader) EnvName(e hcl.Expression, name string) bool {
	ok := name != "" && (name[0] < '0' || name[0] > '9')
	for i := range len(name) {
		ok = ok && (name[i] == '_' || wording.IsAlnum(name[i]))
	}
	if !ok {
		r.Wrong(e, "env", "%q cannot name an environment variable: use letters, digits and _, and begin with a letter.", wording.Clip(name))
	}
	return ok
}
