package gpu

import (
	"bytes"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/term"
)

// look reads a process on a device from /proc.
func look(pid int, used int64) Process {
	p := Process{PID: pid, User: owner(pid), Used: used}
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		p.Gone = unix.Kill(pid, 0) == unix.ESRCH // else it is there, and hidden from us
		return p
	}
	if i := bytes.LastIndexByte(stat, ')'); i >= 0 && len(stat) > i+2 {
		p.Defunct = stat[i+2] == 'Z' || stat[i+2] == 'X'
	}
	line, _ := os.ReadFile(dir + "/cmdline")
	p.Command = command(line)
	return p
}

// command is a program and the script that it runs, without other arguments: those may be
// private.
func command(cmdline []byte) string {
	words := strings.Split(strings.TrimRight(string(cmdline), "\x00"), "\x00")
	short := filepath.Base(words[0])
	for _, w := range words[1:] {
		if !strings.HasPrefix(w, "-") {
			if strings.ContainsAny(filepath.Ext(w), "./") { // a script, of an interpreter
				short += " " + filepath.Base(w)
			}
			break
		}
	}
	const most = 60
	if short = term.CleanLine(short); len(short) > most {
		short = short[:most] + "…"
	}
	if words[0] == "" {
		return ""
	}
	return strings.ToValidUTF8(short, "")
}

// owner is the user of a process, by name where it has one.
func owner(pid int) string {
	uid, ok := uidOf("/proc/" + strconv.Itoa(pid))
	if !ok {
		return ""
	}
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return uid
}

func uidOf(path string) (string, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return "", false
	}
	return uidText(info)
}

// String is a process as the holder of a device.
func (p Process) String() string {
	who := p.User
	if who == "" {
		who = "unknown user"
	}
	var more []string
	switch {
	case p.Gone:
		who = "a process that is not visible here"
	case p.Defunct:
		more = append(more, "defunct")
	case p.Command != "":
		more = append(more, p.Command)
	}
	if p.Used > 0 {
		more = append(more, fmt.Sprintf("%d MiB", p.Used>>20))
	}
	said := fmt.Sprintf("%s (pid %d)", who, p.PID)
	if len(more) > 0 {
		said += ": " + strings.Join(more, ", ")
	}
	return said
}

// Zombie describes memory of a device that no running process accounts for, "" if there is
// none. Up to freeMax bytes do not count.
func (d Device) Zombie(freeMax int64) string {
	if d.Used <= freeMax || !d.Healthy {
		return ""
	}
	for _, p := range d.Processes {
		if !p.Gone && !p.Defunct {
			return ""
		}
	}
	said := fmt.Sprintf("GPU %s has %d MiB in use", d.ID(), d.Used>>20)
	switch {
	case len(d.Processes) > 0:
		said += " by " + holders(d.Processes) + ", left behind by one that died or of another container"
	case len(d.Openers) == 0:
		said += " by no process that can be seen: left behind by one that died, or of another container"
	default:
		said += " by no process that the driver names"
	}
	if len(d.Openers) > 0 {
		said += "; its device is open in " + holders(d.Openers)
	}
	return said
}

func holders(list []Process) string {
	who := make([]string, len(list))
	for i, p := range list {
		who[i] = p.String()
	}
	return strings.Join(who, " and ")
}
