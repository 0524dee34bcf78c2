package arrays

import (
	"fmt"
	"strings"
)

// maxName bounds a job name; sbatch takes 1024 bytes and qsub 236, screens show few.
const maxName = 40

// Name is the job name of a part of a submission. muster searches for it, so that
// it has only letters, digits, "_", "-" and ".": schedulers change other
// characters.
func Name(phase, token string, part int) string {
	clean := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '-'
	}, phase)
	return fmt.Sprintf("%.*s.%.12s.%d", maxName, clean, token, part)
}
