package node

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/providers"
)

// WriteFence records who holds the campaign's lease. The number has a file of its own, which
// older versions of muster read.
func (s Spool) WriteFence(f providers.Fence) error {
	for _, w := range []struct{ name, text string }{{"fence.holder", fmt.Sprintln(f.N, f.Holder)}, {"fence", fmt.Sprintln(f.N)}} {
		if err := atomicfile.Write(s.path(w.name), []byte(w.text), 0o600); err != nil {
			return fmt.Errorf("write the fence: %w", err)
		}
	}
	return nil
}

// Fence is the latest holder that was here.
func (s Spool) Fence() (f providers.Fence) {
	b, _ := os.ReadFile(s.path("fence"))
	f.N, _ = strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	b, _ = os.ReadFile(s.path("fence.holder"))
	if n, holder, ok := strings.Cut(strings.TrimSpace(string(b)), " "); ok && n == strconv.FormatUint(f.N, 10) {
		f.Holder = holder
	}
	return f
}
