package systemtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A process of a world, by what it does.
type process struct {
	pid  int
	role string // "engine", "provider", "queue", "wrapper"
}

// processes finds what belongs to this world: programs that are its binary,
// and jobs whose environment names its spool.
func (w *world) processes() []process {
	var out []process
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if role := w.role(filepath.Join("/proc", e.Name())); role != "" {
			out = append(out, process{pid, role})
		}
	}
	return out
}

// commandLines are those of all processes of this machine, as proc(5) has them. A glob
// would list the whole folder of each process, which takes twenty times as long.
func commandLines() map[int]string {
	out := map[int]string{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if text, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline")); err == nil {
			out[pid] = string(text)
		}
	}
	return out
}

func (w *world) role(proc string) string {
	if state(proc) == "Z" {
		return ""
	}
	if exe, err := os.Readlink(filepath.Join(proc, "exe")); err == nil && strings.TrimSuffix(exe, " (deleted)") == w.bin {
		args, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
		switch words := strings.Split(string(args), "\x00"); {
		case len(words) > 2 && words[1] == "provider" && words[2] == "serve":
			return "provider"
		case len(words) > 2 && words[1] == "provider":
			return "queue"
		}
		return "engine"
	}
	if env, err := os.ReadFile(filepath.Join(proc, "environ")); err == nil && strings.Contains(string(env), "MUSTER_JOB="+w.spool) {
		return "wrapper"
	}
	return ""
}

// state is the letter of proc(5): a zombie is dead, only not yet collected.
func state(proc string) string {
	b, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil {
		return "Z"
	}
	rest := string(b[strings.LastIndexByte(string(b), ')')+1:])
	if f := strings.Fields(rest); len(f) > 0 {
		return f[0]
	}
	return "Z"
}
