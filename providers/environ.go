package providers

import (
	"slices"
	"strings"
)

// JobEnviron picks from an environment (as os.Environ gives it) the variables
// with which a job on the same machine starts: PATH, HOME, USER, SHELL, LANG,
// LC_*, LD_LIBRARY_PATH, VIRTUAL_ENV and CONDA_*, sorted by name. The rest of
// a person's environment has no part in a result.
func JobEnviron(environ []string) []EnvVar {
	var out []EnvVar
	for _, line := range environ {
		name, value, ok := strings.Cut(line, "=")
		if ok && jobVariable(name) {
			out = append(out, EnvVar{Name: name, Value: value})
		}
	}
	slices.SortFunc(out, func(a, b EnvVar) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func jobVariable(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "SHELL", "LANG", "LD_LIBRARY_PATH", "VIRTUAL_ENV":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "CONDA_")
}
