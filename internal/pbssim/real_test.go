package pbssim

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// realBin has the commands of a real OpenPBS, where there is one.
const realBin = "/opt/pbs/bin"

// realShell runs a line as a user of the host of a real server.
func realShell(name, line string) *exec.Cmd {
	env := []string{"env", "-i", "HOME=/home/" + name, "USER=" + name, "LOGNAME=" + name, "SHELL=/bin/bash", "LANG=C.UTF-8", "TZ=UTC", "PATH=" + realBin + ":/usr/bin:/bin"}
	return exec.Command("runuser", append(append([]string{"-u", name, "--"}, env...), "bash", "-c", line)...)
}

// realStory is the part of the story whose answers do not depend on a server's
// earlier jobs, on its limits, or on how far jobs have come at some moment.
const realStory = `
version nocommand down-qstat down-qstat-refused down-qsub
qsub
!wait 123 F
qsub-directives qsub-stdin qsub-executable qsub-project-account qsub-fails qsub-signals
qsub-array
!wait 129 F
!wait 130 F
` + arrayEnds + `
qsub-array-held qsub-afterok-of-finished-ok qsub-afterok-of-finished-failed qsub-afterany-of-finished qsub-afterok-of-unknown
qsub-hold qsub-begin qsub-never-fits qsub-run qsub-odd-values qsub-odd-quotes qsub-numeric-name qsub-long-name qsub-paused-queue
qsub-output-direct
err-option err-queue err-queue-closed err-queue-not-yours err-queue-route-only err-resource-unknown err-script-missing
err-select-syntax err-variable-quote err-variable-unset err-walltime-queue err-walltime-syntax err-name-bad err-name-too-long
err-depend-syntax err-array-syntax err-array-too-big err-array-cap-without-array qsub-interactive-refused
!wait 140 F
!wait 142 F
!wait 157 F
!wait 148 R
qstat-held-json qstat-waiting-begin-json qstat-queue-stopped-json qstat-odd-values-json qstat-odd-values qstat-odd-values-dsv
qstat-odd-quotes-json qstat-numeric-name-json qstat-long-name
qstat-unknown qstat-unknown-json qstat-bad-id qstat-queue-unknown qstat-finished-without-x qstat-finished-without-x-json
qalter-name qalter-running-refused qrls-not-yours
qdel-array-element qdel-array-range qstat-array-after-element-qdel qdel-array qdel-held qdel-not-yours qdel-running
!wait 148 F
qdel-twice qdel-finished qdel-unknown qdel-bad-id
qstat-x-f3-json qstat-x-seg-json qstat-x-arr-json qstat-x-harr-json qstat-x-hld-json qstat-x-late-json qstat-x-late3-json qstat-x-depu-json
qstat-x-deq-json qstat-x-dir-json qstat-x-array-tasks
qdel-x-history qstat-x-purged
`

// TestSystemRecordings plays a part of the recorded session on a real server, so
// that recordings and stand-in are still what PBS is. It may be skipped: PBS's
// licence keeps it out of CI.
func TestSystemRecordings(t *testing.T) {
	out, err := exec.Command(realBin+"/qstat", "-B").CombinedOutput()
	if err != nil || os.Geteuid() != 0 {
		t.Skipf("SKIPPED: no PBS server answers here to root, so that the recordings were played on its stand-in only (%v: %s)", err, out)
	}
	alice, err := user.Lookup("alice")
	if err != nil {
		t.Skipf("SKIPPED: PBS's host has no user alice: %v", err)
	}
	dir, err := os.MkdirTemp(alice.HomeDir, "lab")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := &player{site: &site{t: t, home: alice.HomeDir, dir: dir, real: true}, all: recordings(t), seen: map[string]bool{}, ids: map[string]string{}}
	for name, text := range sessionScripts {
		p.script(name, text)
	}
	if err := os.Mkdir(filepath.Join(dir, "out"), 0o755); err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(alice.Uid)
	gid, _ := strconv.Atoi(alice.Gid)
	for _, name := range append([]string{"", "out"}, keys(sessionScripts)...) {
		if err := os.Chown(filepath.Join(dir, name), uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		alive, _, _ := p.as("root", "qselect -u alice")
		for _, id := range strings.Fields(alive) {
			if m := jobID.FindStringSubmatch(id); m != nil && p.ids[m[1]] != "" {
				p.as("root", "qdel '"+id+"'")
			}
		}
	})
	p.playAll(realStory)
	if len(p.seen) < 80 {
		t.Errorf("only %d recordings were played", len(p.seen))
	}
}

func keys(m map[string]string) (list []string) {
	for k := range m {
		list = append(list, k)
	}
	return list
}

var (
	jobID  = regexp.MustCompile(`\b(\d+)((?:\[[^\]]*\])?\.pbs1)`)
	fileID = regexp.MustCompile(`(\.[eo])(\d+)\b`)
	spaces = regexp.MustCompile(` {2,}|-{2,}`)
)

// learn takes the id that a real server gave to a recorded job.
func (p *player) learn(got, want string) {
	g, w := jobID.FindStringSubmatch(got), jobID.FindStringSubmatch(want)
	if p.real && g != nil && w != nil && g[0] == strings.TrimSpace(got) {
		p.ids[g[1]] = w[1]
	}
}

// actual is a command with the ids of a real server, recordedIDs the reverse.
func (p *player) actual(line string) string {
	return jobID.ReplaceAllStringFunc(line, func(id string) string {
		m := jobID.FindStringSubmatch(id)
		for theirs, recorded := range p.ids {
			if recorded == m[1] {
				return theirs + m[2]
			}
		}
		return id
	})
}

func (p *player) recordedIDs(text string) string {
	text = spaces.ReplaceAllString(text, " ")
	for _, re := range []*regexp.Regexp{jobID, fileID} {
		text = re.ReplaceAllStringFunc(text, func(id string) string {
			m := re.FindStringSubmatch(id)
			if recorded := p.ids[m[1]]; recorded != "" {
				return recorded + m[2]
			}
			if recorded := p.ids[m[2]]; recorded != "" {
				return m[1] + recorded
			}
			return id
		})
	}
	return text
}
