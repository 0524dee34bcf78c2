package gpu

import (
	"os"
	"path/filepath"
	"strings"
)

// Driver is the version of the NVIDIA driver of this machine, "" without one.
func Driver() string { return linux.driver() }

func (s system) driver() string {
	text, err := os.ReadFile(filepath.Join(s.sys, "module/nvidia/version"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
