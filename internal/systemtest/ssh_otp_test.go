package systemtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/lab"
	"github.com/muster-run/muster/internal/program"
)

const theCode = "424242"

// newCoded is a world on hosts that ask for a password and a code, as clusters do.
func newCoded(t *testing.T, campaign string) *remote {
	t.Helper()
	hosts := lab.Hosts(t, 1, "LAB_CODE="+theCode)
	r := newRemote(t, hosts, campaign)
	r.patient()
	file := filepath.Join(os.Getenv("HOME"), ".ssh", "config")
	config, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, bytes.ReplaceAll(config, []byte("BatchMode yes"), nil), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var loginLine = regexp.MustCompile(`h1 wants you to log in: (ssh (?:-F \S+ )?-M -S \S+ h1)\b`)

// loginCommand is the command that muster tells a person to type.
func (r *remote) loginCommand(said string) string {
	r.t.Helper()
	m := loginLine.FindStringSubmatch(said)
	if m == nil {
		r.t.Fatalf("no command to log in with:\n%s", said)
	}
	return m[1]
}

// logIn types a command of muster's in another terminal, with the password and
// the code, and leaves the connection open until the function it returns is called.
func (r *remote) logIn(command string) (kill func()) {
	r.t.Helper()
	askpass := filepath.Join(filepath.Dir(r.dir), "askpass")
	program.Write(r.t, askpass, "#!/bin/sh\ncase $1 in *\"'s password\"*) echo secret;; *) echo "+theCode+";; esac\n")
	before := len(r.host.Typed())
	cmd := exec.Command("sh", "-c", "exec "+strings.Replace(command, "ssh ", "ssh -N ", 1))
	cmd.Env = append(os.Environ(), "SSH_ASKPASS="+askpass, "SSH_ASKPASS_REQUIRE=force")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	kill = func() { _ = cmd.Process.Signal(syscall.SIGKILL); <-ended }
	r.t.Cleanup(kill)
	r.until("the login by hand", func() bool {
		select {
		case <-ended:
			r.t.Fatalf("%s: %s", command, &said)
		default:
		}
		typed := r.host.Typed()
		return len(typed) == before+2 && typed[before+1] == "code right"
	})
	return kill
}

// TestSystemSSHCodeByHand: a host asks for a password and a code, and nobody is at
// muster's terminal. It says once what to type, asks the host no more, and goes
// on by itself when somebody has logged in elsewhere, also after that
// connection was killed. Nothing runs twice.
func TestSystemSSHCodeByHand(t *testing.T) {
	// Requirement: ACC-01, ESC-08
	const n = 4
	r := newCoded(t, gated(n, 0))
	r.host.Exec("mkfifo -m 666 " + r.folder + "/gate")
	said, _ := r.run("plan")
	command := r.loginCommand(flat(said))
	if c := strings.Count(flat(said), "log in"); c != 1 {
		t.Errorf("the plan says %d times that somebody is to log in:\n%s", c, said)
	}
	if typed := r.host.Typed(); len(typed) != 0 {
		t.Errorf("muster itself typed %q", typed)
	}

	kill := r.logIn(command)
	f := r.follow("apply", "-auto-approve")
	r.until("the jobs to run", func() bool { return r.count("start") == n })

	for round := range 2 {
		typed, connections := len(r.host.Typed()), r.host.Connections()
		kill()
		r.until("how to log in", func() bool { return strings.Count(f.said(), "wants you to log in") == round+1 })
		if got := r.loginCommand(f.said()); got != command {
			t.Errorf("apply says %q, and the plan %q", got, command)
		}
		time.Sleep(time.Minute) // a storm would show
		if c := r.host.Connections() - connections; c > 2 || len(r.host.Typed()) != typed {
			t.Errorf("a minute without a login: %d connections, and %q was typed", c, r.host.Typed()[typed:])
		}
		if c := strings.Count(f.said(), "wants you to log in"); c != round+1 {
			t.Errorf("it says %d times how to log in, want %d:\n%s", c, round+1, f.text())
		}
		out, _ := r.run("status", "-refresh")
		if !strings.Contains(flat(out), "unknown") {
			t.Errorf("status says of jobs on a host that nobody is logged in to\n%s", out)
		}
		if round == 1 {
			r.open()
			r.until("the ends, with nobody logged in", func() bool { return r.count("end") == n })
		}
		kill = r.logIn(command)
		r.until("word of the host", func() bool { return strings.Count(f.said(), "answers again") == round+1 })
	}
	r.done(f, n)
	r.onceEach(n)
}

// TestSystemSSHCodeInMidApply: apply begins while nobody can log in, with jobs of
// before, and goes on when somebody has.
func TestSystemSSHCodeInMidApply(t *testing.T) {
	const n = 4
	r := newCoded(t, gated(n, 0))
	r.host.Exec("mkfifo -m 666 " + r.folder + "/gate")
	said, _ := r.run("plan")
	command := r.loginCommand(flat(said))
	kill := r.logIn(command)
	r.want(0, "", "apply", "-auto-approve", "-detach")
	r.until("the jobs to run", func() bool { return r.count("start") == n })
	kill()

	connections := r.host.Connections()
	f := r.follow("apply", "-auto-approve")
	r.until("how to log in", func() bool { return strings.Contains(f.said(), "wants you to log in") })
	time.Sleep(20 * time.Second)
	if c := r.host.Connections() - connections; c > 3 {
		t.Errorf("%d connections without a login", c)
	}
	if c := strings.Count(f.said(), "wants you to log in"); c != 1 {
		t.Errorf("it says %d times how to log in:\n%s", c, f.text())
	}
	r.logIn(command)
	r.open()
	r.done(f, n)
	r.onceEach(n)
}
