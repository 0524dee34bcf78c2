package machine

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// logindLimit bounds a question to logind.
const logindLimit = 5 * time.Second

// killedAtLogout says why nothing of this user lives on after logout here, ""
// if it does.
func killedAtLogout() string {
	if !EndsAtLogout() || lingers() {
		return ""
	}
	return "logind ends the processes of a user who logs out (KillUserProcesses=yes); run: loginctl enable-linger"
}

// EndsAtLogout reports whether logind ends the processes of this user's sessions at logout,
// except those of the user's own manager. logind.conf(5), KillUserProcesses= and
// KillExcludeUsers=.
func EndsAtLogout() bool {
	if os.Getenv("XDG_SESSION_ID") == "" && os.Getenv("XDG_RUNTIME_DIR") == "" {
		return false // no session of logind's
	}
	// Without a session's name the manager's own properties are shown. loginctl(1)
	said, err := loginctl("show-session", "--property=KillUserProcesses", "--property=KillExcludeUsers")
	if err != nil {
		said = configured()
	}
	return kills(said, name())
}

// kills reads the settings of logind; the last one counts.
func kills(said, user string) bool {
	on, spared := false, []string{"root"}
	for line := range strings.Lines(said) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "KillUserProcesses":
			on = slices.Contains([]string{"yes", "true", "1", "on"}, value)
		case "KillExcludeUsers":
			spared = strings.Fields(value)
		}
	}
	return on && !slices.Contains(spared, user)
}

// configured is logind's configuration, in the order in which it is read.
func configured() (text string) {
	files := []string{"/usr/lib/systemd/logind.conf", "/etc/systemd/logind.conf"}
	for _, dir := range []string{"/usr/lib", "/run", "/etc"} {
		more, _ := filepath.Glob(dir + "/systemd/logind.conf.d/*.conf")
		files = append(files, more...)
	}
	for _, f := range files {
		b, _ := os.ReadFile(f)
		text += string(b) + "\n"
	}
	return text
}

// lingers reports whether the user's manager runs on without a session.
func lingers() bool {
	if said, err := loginctl("show-user", name(), "--property=Linger"); err == nil {
		return strings.TrimSpace(said) == "Linger=yes"
	}
	_, err := os.Stat("/var/lib/systemd/linger/" + name())
	return err == nil
}

func loginctl(args ...string) (string, error) {
	ctx, stop := context.WithTimeout(context.Background(), logindLimit)
	defer stop()
	out, err := exec.CommandContext(ctx, "loginctl", args...).Output()
	return string(out), err
}

func name() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}
