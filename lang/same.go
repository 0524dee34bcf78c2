package lang

import (
	"path/filepath"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/muster-run/muster/lang/expr"
)

// Digest is the Campaign.Digest that Load would give, without working out the
// campaign. Decides says whether two loads with this digest, and the same
// options, give the same campaign: no function in it reads files, and every
// variable has a value.
func Digest(o LoadOptions) (digest string, decides bool) {
	if abs, err := filepath.Abs(o.Dir); err == nil {
		o.Dir = abs
	}
	l := newLoader(o)
	l.ReadDir(o.Dir)
	if len(l.Campaign) == 0 || l.Broken {
		return "", false
	}
	l.top = l.Blocks()
	l.variables()
	if len(l.Sure)+len(l.Perhaps) > 0 {
		return "", false
	}
	for _, v := range l.c.Variables {
		if !v.Known {
			return "", false
		}
	}
	for _, f := range l.Campaign {
		if readsFiles(f.Body) {
			return "", false
		}
	}
	return l.digest.sum(), true
}

func readsFiles(body *hclsyntax.Body) (reads bool) {
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		call, ok := n.(*hclsyntax.FunctionCallExpr)
		reads = reads || ok && expr.ReadsFiles(call.Name)
		return nil
	})
	return reads
}
