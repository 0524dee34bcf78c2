package ulimit

import (
	"strings"
	"testing"
)

func TestDump(t *testing.T) {
	for text, want := range map[string]string{
		"runtime: failed to create new OS thread (have 5 already; errno=11)\nfatal error: newosproc\n\ngoroutine 1": noThreads,
		"runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort\nPC=0x7f84":           noThreads,
		"fatal error: failed to reserve page summary memory\n\nruntime stack:":                                      noMemory,
		"runtime: out of memory: cannot allocate 67108864-byte block (7929856 in use)":                              noMemory,
		"panic: runtime error: index out of range":                                                                  "",
		"": "",
	} {
		if got := Dump(text); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

func TestLastWord(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "",
		"muster: it needs 12 threads\n":   ": it needs 12 threads",
		"one line\nand another\n":         "",
		"noise\nfatal error: newosproc\n": ": " + noThreads,
		"fatal error: out of memory\n" + strings.Repeat("x\n", 1<<20): ": " + noMemory,
	} {
		if got := LastWord(strings.NewReader(text)); got != want {
			t.Errorf("%.40q: %q, not %q", text, got, want)
		}
	}
}
