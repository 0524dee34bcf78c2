package wrapper

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// apptainer stands in for the runtime: it writes down what it was told, and
// runs the command where it was told to.
const apptainer = `#!/bin/sh
for a; do printf '<%s>' "$a"; done >"$ARGS"
[ "$1" = exec ] || exit 250
shift
while :; do
	case $1 in
	--nv) shift;;
	--pwd) cd "$2" || exit 251; shift 2;;
	--bind) [ -e "$2" ] || exit 252; shift 2;;
	*) break;;
	esac
done
shift
exec "$@"
`

// TestImage holds that a job's command runs in its image as it was written,
// seeing its own folders; and that setup comes before.
func TestImage(t *testing.T) {
	t.Parallel()
	eachShell(t, func(t *testing.T, sh []string) {
		dir := filepath.Join(t.TempDir(), "it's $(a) job")
		bin := filepath.Join(dir, "bin")
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		program.Write(t, filepath.Join(bin, "apptainer"), apptainer)
		args := filepath.Join(dir, "args")
		j := &providers.Job{Token: rand.Text(), Workdir: dir, Dir: dir, Process: offer.Process{Image: "a 'b'.sif"}, Shape: offer.Shape{GPUs: 1},
			Setup: []string{"PATH=" + shell.Enclose(bin) + ":$PATH; export SET=up"}, Env: []providers.EnvVar{{Name: "ARGS", Value: args}}}
		for _, c := range []struct {
			shell string
			argv  []string
		}{
			{shell: "printf %s \"$SET $0 ${#}\" >out; exit 7"},
			{argv: []string{"sh", "-c", `printf %s "$SET $1" >out; exit 7`, "sh", "-x '\"\n$(b)"}},
		} {
			j.Shell, j.Argv = c.shell, c.argv
			f := fill(t, j)
			run(t, sh, f, j, "l", "", Plain(j)).Run()
			rec, err := ReadRecord(f.Record())
			if err != nil || rec.Exit == nil || *rec.Exit != 7 {
				t.Fatalf("%+v %v", rec, err)
			}
			words, want := c.argv, "up -x '\"\n$(b)"
			if c.argv == nil {
				words = []string{"/bin/sh", string(f) + "/cmd"}
				want = "up " + string(f) + "/cmd 0"
			}
			if out, _ := os.ReadFile(filepath.Join(dir, "out")); string(out) != want {
				t.Errorf("the command saw %q, want %q", out, want)
			}
			words = append([]string{"exec", "--nv", "--pwd", dir, "--bind", string(f), "--bind", dir, dir + "/a 'b'.sif"}, words...)
			if got, _ := os.ReadFile(args); string(got) != "<"+strings.Join(words, "><")+">" {
				t.Errorf("the runtime was told %s, want %q", got, words)
			}
		}
	})
}

// TestImageSeesGPUs holds that a job whose image does not see the GPUs of its machine does not
// compute without them.
//
// Requirement: SUB-16
func TestImageSeesGPUs(t *testing.T) {
	t.Parallel()
	eachShell(t, func(t *testing.T, sh []string) {
		for _, c := range []struct {
			name    string
			machine string // what its nvidia-smi does there
			image   string // and in the image
			gpus    int
			runs    bool
		}{
			{"seen", "exit 0", "exit 0", 1, true},
			{"no library in it", "exit 0", "echo \"couldn't find libnvidia-ml.so\"; exit 12", 1, false},
			{"no devices in it", "exit 0", "echo No devices were found; exit 6", 1, false},
			{"no nvidia-smi in it", "exit 0", "echo FATAL: not found; exit 255", 1, true},
			{"none here either", "exit 9", "exit 9", 1, true},
			{"not asked for", "exit 0", "exit 12", 0, true},
		} {
			dir := t.TempDir()
			bin := filepath.Join(dir, "bin")
			if err := os.MkdirAll(bin, 0o755); err != nil {
				t.Fatal(err)
			}
			program.Write(t, filepath.Join(bin, "apptainer"), strings.Replace(apptainer, `exec "$@"`, `INSIDE=1 exec "$@"`, 1))
			program.Write(t, filepath.Join(bin, "nvidia-smi"), "#!/bin/sh\n[ \"$1\" = -L ] || exit 99\nif [ \"$INSIDE\" ]; then "+c.image+"; fi\n"+c.machine+"\n")
			j := &providers.Job{Token: rand.Text(), Workdir: dir, Dir: dir, Process: offer.Process{Image: "x.sif"}, Shape: offer.Shape{GPUs: c.gpus},
				Setup: []string{"PATH=" + shell.Enclose(bin) + ":$PATH"}, Env: []providers.EnvVar{{Name: "ARGS", Value: filepath.Join(dir, "args")}}, Shell: "touch ran"}
			f := fill(t, j)
			cmd := run(t, sh, f, j, "l", "", Plain(j))
			cmd.Run()
			if _, err := os.Stat(filepath.Join(dir, "ran")); (err == nil) != c.runs {
				t.Errorf("%s: it ran: %v", c.name, err == nil)
			}
			if rec, err := ReadRecord(f.Record()); err != nil || rec.Exit == nil || (*rec.Exit == 0) != c.runs {
				t.Errorf("%s: %+v, %v", c.name, rec, err)
			}
		}
	})
}

// TestNothingRunsImages holds that a job does not run outside of its image.
func TestNothingRunsImages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := &providers.Job{Token: rand.Text(), Workdir: dir, Dir: dir, Process: offer.Process{Image: "a.sif"}, Shell: "echo x >ran", Setup: []string{"PATH=/nonexistent"}}
	f := fill(t, j)
	var said strings.Builder
	cmd := run(t, []string{"/bin/sh"}, f, j, "l", "", Plain(j))
	cmd.Stderr = &said
	cmd.Run()
	rec, err := ReadRecord(f.Record())
	if err != nil || rec.Exit == nil || *rec.Exit != 127 || !strings.Contains(said.String(), "nor singularity") {
		t.Errorf("%+v %v: %s", rec, err, &said)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("it ran without its image")
	}
}

// TestRealImage runs a folder as an image by the runtime of this machine. It is
// skipped where there is none, in system tests, too: Debian stable has none.
func TestRealImage(t *testing.T) {
	if _, err := exec.LookPath("apptainer"); err != nil {
		t.Skip("this machine has no apptainer")
	}
	busybox, err := os.ReadFile("/bin/busybox") // Debian: busybox-static
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for _, d := range []string{"img/bin", "img/proc", "img/dev", "img/sys", "img/tmp", "img/etc", "img/root", "img/var/tmp", "img/home"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program.Write(t, filepath.Join(dir, "img/bin/busybox"), busybox)
	for _, tool := range []string{"sh", "cat", "ls"} {
		if err := os.Symlink("busybox", filepath.Join(dir, "img/bin", tool)); err != nil {
			t.Fatal(err)
		}
	}
	j := &providers.Job{Token: rand.Text(), Workdir: dir, Dir: dir, Process: offer.Process{Image: "./img"}, Shell: "[ ! -e /usr/bin/apptainer ] && echo $MUSTER_ADDRESS $OWN >out; exit 7", Address: "phase.p",
		Env: []providers.EnvVar{{Name: "OWN", Value: "a b"}}}
	f := fill(t, j)
	var said strings.Builder
	cmd := run(t, []string{"/bin/sh"}, f, j, "l", "", Plain(j))
	cmd.Stderr = &said
	cmd.Run()
	rec, err := ReadRecord(f.Record())
	if err != nil || rec.Exit == nil || *rec.Exit != 7 {
		t.Fatalf("%+v %v: %s", rec, err, &said)
	}
	if out, _ := os.ReadFile(filepath.Join(dir, "out")); string(out) != "phase.p a b\n" {
		t.Errorf("the command left %q: %s", out, &said)
	}
}
