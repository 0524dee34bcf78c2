package arrays

import (
	"fmt"
	"strings"
)

// maxName bounds a job name; Slurm itself takes 1024 bytes, screens show few.
const maxName = 40

// Name is the job name of a part of what is handed over together. It is found
// again: letters, digits, ._- only, as all else comes back changed.
func Name(phase, token string, part int) string {
	clean := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '-'
	}, phase)
	return fmt.Sprintf("%.*s.%.12s.%d", maxName, clean, token, part)
}
