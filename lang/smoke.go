package lang

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	"github.com/muster-run/muster/lang/wording"
)

// smokeKeyBytes is how long the folder of a smoke's cell may be.
const smokeKeyBytes = 100

// SmokeFolder is the folder, relative to the workdir, of the outputs and checkpoints of smokes.
const SmokeFolder = ".muster/smoke"

// smokeDir is the folder below the workdir that a cell's smoke writes to:
// .muster/smoke/PHASE/KEY, so that a smoke can never overwrite or feed a run; for a
// canary .muster/smoke/PHASE/canary/KEY, so that it does not resume from its smoke.
// In KEY, bytes other than [A-Za-z0-9._+=,-] are written %XX; one over 100 bytes
// is cut and ended by a hash; without a grid it is _.
func smokeDir(v Variant, phase, key string) string {
	dir := path.Join(SmokeFolder, phase)
	if v == CanaryRun {
		dir = path.Join(dir, "canary")
	}
	return path.Join(dir, smokeKey(key))
}

func smokeKey(key string) string {
	if key == "" {
		return "_"
	}
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(key) {
		if c := key[i]; wording.IsAlnum(c) || strings.IndexByte("._+=,-", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	s := b.String()
	if len(s) <= smokeKeyBytes {
		return s
	}
	sum := sha256.Sum256([]byte(key))
	end := "-" + hex.EncodeToString(sum[:8])
	return s[:smokeKeyBytes-len(end)] + end
}
