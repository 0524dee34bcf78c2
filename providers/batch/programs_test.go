package batch

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/batch/programs"
)

// otherArch is a processor that this machine has not.
func otherArch() string {
	if runtime.GOARCH == "arm64" {
		return "amd64"
	}
	return "arm64"
}

// TestForeignNodes: a script for a partition whose nodes have another
// processor than the login node runs on each node the program that is for it.
func TestForeignNodes(t *testing.T) {
	t.Parallel()
	other := otherArch()
	nodes := "NodeName=n1 Arch=" + programs.Machines[runtime.GOARCH] + " Partitions=amilan OS=Linux 6.1 #1 SMP\nNodeName=n2 Arch=" + programs.Machines[other] +
		" CoresPerSocket=72 Partitions=amilan,gh200 \nNodeName=n3 State=DOWN Partitions=amilan\n"
	bench := func(t *testing.T, carried func(string) ([]byte, error)) *bench {
		k := newBench(t)
		k.f.answer = func(argv []string) *command.Result {
			if slices.Contains(argv, "nodes") {
				return &command.Result{Out: []byte(nodes)}
			}
			return nil
		}
		if carried != nil {
			k.s.options.Programs = carried
		}
		k.restart()
		return k
	}
	runs := func(t *testing.T, script string) {
		t.Helper()
		dir := t.TempDir()
		text := strings.NewReplacer("exec ", "echo ").Replace(script)
		for machine, want := range map[string]string{programs.Machines[other]: "muster-host-linux-" + other, programs.Machines[runtime.GOARCH]: "provider node -batch"} {
			program.Write(t, filepath.Join(dir, "uname"), "#!/bin/sh\necho "+machine+"\n")
			cmd := exec.Command("bash", "-c", text)
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), want) || strings.Count(string(out), "-batch") != 1 {
				t.Errorf("on %s it runs %s (%v), want %s\n%s", machine, out, err, want, script)
			}
		}
	}

	t.Run("carried", func(t *testing.T) {
		t.Parallel()
		k := bench(t, func(arch string) ([]byte, error) { return []byte("for " + arch), nil })
		k.submit("a", k.jobs("a", 1, nil)...)
		runs(t, k.f.scripts[0])
		text, err := os.ReadFile(filepath.Join(k.b.Workdir, programs.Path(other, []byte("for "+other))))
		if err != nil || string(text) != "for "+other {
			t.Errorf("the program is %q, %v", text, err)
		}
	})
	t.Run("pushed", func(t *testing.T) {
		t.Parallel()
		k := bench(t, nil)
		pools, err := k.s.Pools(t.Context(), k.b.Name)
		if err != nil || !slices.Equal(programs.Foreign(pools), []string{other}) {
			t.Fatalf("%v, %v", programs.Foreign(pools), err)
		}
		if out := k.submit("a", k.jobs("a", 1, nil)...); out[0].Err == nil || out[0].Err.Class != providers.Internal && out[0].Err.Class != providers.Invalid {
			t.Errorf("without the program: %+v", out[0].Err)
		}
		path := filepath.Join(k.b.Workdir, programs.Path(other, []byte("x")))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		k.submit("b", k.jobs("b", 1, nil)...)
		runs(t, k.f.scripts[0])
		if fi, err := os.Stat(path); err != nil || fi.Mode()&0o111 == 0 {
			t.Errorf("what was pushed is no program: %v, %v", fi.Mode(), err)
		}
	})
}
