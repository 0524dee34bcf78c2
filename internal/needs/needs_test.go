package needs

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestAbsent runs below as a test that wants what nobody has.
func TestAbsent(t *testing.T) {
	if os.Getenv("NEEDS_TEST") == "" {
		t.Skip("TestAbsence runs it")
	}
	Program(t, "no-such-program", "nor-this-one")
}

func TestAbsence(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		"": "SKIP: TestAbsent", "0": "SKIP: TestAbsent", "1": "FAIL: TestAbsent",
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAbsent$", "-test.v")
		cmd.Env = append(os.Environ(), "NEEDS_TEST=1", "MUSTER_SYSTEM_TESTS="+setting)
		out, err := cmd.CombinedOutput()
		if text := string(out); !strings.Contains(text, want) || !strings.Contains(text, "no-such-program, nor nor-this-one") || (err != nil) != (setting == "1") {
			t.Errorf("MUSTER_SYSTEM_TESTS=%s: %v\n%s", setting, err, text)
		}
	}
	if path := Program(t, "no-such-program", "sh"); !strings.HasSuffix(path, "/sh") {
		t.Errorf("sh is %q", path)
	}
}
