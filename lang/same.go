package lang

import "path/filepath"

// Digest is the Campaign.Digest that Load would give, without working out the
// campaign. Decides says whether two loads with this digest, and the same
// options, give the same campaign, if files tell its functions the same (see
// Campaign.Reads): every variable has a value.
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
	return l.digest.sum(), true
}
