package gpu

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDriver(t *testing.T) {
	t.Parallel()
	s := system{sys: t.TempDir()}
	if v := s.driver(); v != "" {
		t.Errorf("without a driver: %q", v)
	}
	file := filepath.Join(s.sys, "module/nvidia/version")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("570.124.06\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if v := s.driver(); v != "570.124.06" {
		t.Errorf("driver %q", v)
	}
}
