package vm

import (
	"testing"
	"time"

	"github.com/muster-run/muster/internal/needs"
)

// TestNightlyBoot: each processor, and clocks that are wrong. TestSystemSSHClock and
// TestSystemSSHArm64 boot the same machines on each change.
func TestNightlyBoot(t *testing.T) {
	needs.Nightly(t, "boots two virtual machines")
	for arch, want := range map[string]string{"amd64": "x86_64", "arm64": "aarch64"} {
		t.Run(arch, func(t *testing.T) {
			began := time.Now()
			m := Boot(t, Options{Name: "vm", Arch: arch, Skew: -72 * time.Hour})
			t.Logf("booted within %v", time.Since(began).Round(time.Second))
			if got := m.Exec("uname -m"); got != want {
				t.Errorf("its processor is %s, want %s", got, want)
			}
			m.Turn(96 * time.Hour)
			if off := time.Until(m.Clock()) - 24*time.Hour; off.Abs() > time.Minute {
				t.Errorf("a clock that was three days behind and is turned on by four is off by %v", off)
			}
		})
	}
}
