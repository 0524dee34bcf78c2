// Package ulimit refuses, in one line, to start a muster program whose user may
// have too few threads or too little memory, instead of a dump of goroutines by
// Go's runtime; and shortens such a dump to one line.
//
// A build with cgo tests both limits before Go's runtime starts (before.c). A
// build without cgo does where it starts at entry, and compares them in Check, which
// a program calls first.
package ulimit

import (
	"io"
	"strings"
)

const (
	noThreads = "it could start no more threads: a limit on processes is reached (ulimit -u, or pids.max of a container). End other processes of this user, or raise the limit"
	noMemory  = "it could have no more memory: a limit is reached (ulimit -v or ulimit -d), or the machine has no more. Raise the limit"
)

// dumps are words of Go's runtime as it ends: runtime/os_linux.go, runtime/malloc.go,
// runtime/mpagealloc_64bit.go and runtime/cgo/gcc_libinit.c of Go 1.26.
var dumps = []struct{ words, means string }{
	{"failed to create new OS thread", noThreads},
	{"fatal error: newosproc", noThreads},
	{"pthread_create failed", noThreads},
	{"failed to reserve page summary memory", noMemory},
	{"runtime: out of memory", noMemory},
	{"fatal error: out of memory", noMemory},
	{"cannot reserve arena virtual address space", noMemory},
	{"runtime: cannot allocate memory", noMemory},
}

// Dump is one line for the dump of a Go program that a limit ended; "" where text
// holds none.
func Dump(text string) string {
	for _, d := range dumps {
		if strings.Contains(text, d.words) {
			return d.means
		}
	}
	return ""
}

// wordBytes bounds the input of LastWord: a whole dump.
const wordBytes = 64 << 10

// LastWord is why a process of muster's ended, to follow the message that it did:
// its one line, or one line for its dump. It is empty where messages hold more.
func LastWord(messages io.Reader) string {
	b, _ := io.ReadAll(io.LimitReader(messages, wordBytes))
	said := strings.TrimSpace(string(b))
	if line := Dump(said); line != "" {
		return ": " + line
	}
	if said == "" || strings.Contains(said, "\n") {
		return ""
	}
	return ": " + strings.TrimPrefix(said, "muster: ")
}
