package lang

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/muster-run/muster/lang/expr"
)

// KindOf is a digest of the work of a phase's jobs, as written: the command, the setup
// and the image, without values of axes and params.
func KindOf(p *Phase) string {
	h := sha256.New()
	f := p.job.form[Run]
	for _, part := range [][]*expr.Template{{f.command}, f.argv, {f.of("setup")}, {f.of("image")}} {
		for _, t := range part {
			text := ""
			if t != nil {
				text = t.Source()
			}
			h.Write(binary.AppendUvarint(nil, uint64(len(text))))
			h.Write([]byte(text))
		}
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}
