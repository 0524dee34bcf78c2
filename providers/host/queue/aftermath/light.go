package aftermath

import (
	"os"

	"github.com/muster-run/muster/providers/host/attempt"
)

// What counts as a light check.
const (
	maxLightFiles = 4
	maxLightSize  = 256 << 10 // bytes of one file
)

// Light reports whether the check of an attempt is quickly done: a few small
// files.
func (a *Attempt) Light() bool {
	if len(a.Spec.Outputs) > maxLightFiles {
		return false
	}
	for _, o := range a.Spec.Outputs {
		if o.Kind != "path" && o.Kind != "" {
			return false
		}
		for _, v := range o.Verify {
			if v.Kind == "command" || v.Kind == "sha256" {
				return false
			}
		}
		fi, err := os.Lstat(attempt.InWorkdir(a.Spec.Workdir, o.Path))
		if err == nil && (fi.Size() > maxLightSize || !fi.Mode().IsRegular()) {
			return false
		}
	}
	return true
}
