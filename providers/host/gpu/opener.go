package gpu

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/host/process"
)

const (
	// openerAge is the age from which a process with an open device counts as one that does
	// not compute: a younger one may not have begun.
	openerAge = 2 * time.Minute
	// openerUsed is the memory in use, in bytes, below which a device counts as unused:
	// drivers keep some for themselves.
	openerUsed = 100 << 20
)

// system is where the kernel shows devices and processes; tests have their own.
type system struct {
	proc, dev, sys string
	young          time.Duration
}

var linux = system{"/proc", "/dev", "/sys", openerAge}

// watchers have every device open and compute on none. In /proc a name ends
// after 15 bytes. proc(5), comm.
var watchers = []string{"nvidia-persiste", "nv-hostengine", "dcgm-exporter", "nvtop", "Xorg", "muster-nvml"}

// addOpeners adds, to devices whose memory is in use by no process that the
// driver names and that lives, the processes that have the device file open.
// Those of other users are seen by root alone.
func (s system) addOpeners(list []Device) {
	if !slices.ContainsFunc(list, Device.unexplained) {
		return
	}
	minors, open := s.minors(), s.openers()
	for i := range list {
		d := &list[i]
		minor, ok := minors[d.UUID]
		if !ok || !d.unexplained() {
			continue
		}
		for _, pid := range open[filepath.Join(s.dev, "nvidia"+minor)] {
			d.Openers = append(d.Openers, look(pid, -1))
		}
	}
}

// unexplained reports whether memory of a device is in use by nothing that lives.
func (d Device) unexplained() bool { return !d.MIG && d.Zombie(openerUsed) != "" }

// minors are the numbers of the device files, by UUID: the driver's
// /proc/driver/nvidia/gpus/*/information has one "Name: value" a line.
func (s system) minors() map[string]string {
	out := map[string]string{}
	files, _ := filepath.Glob(filepath.Join(s.proc, "driver/nvidia/gpus/*/information"))
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		var uuid, minor string
		for line := range strings.Lines(string(text)) {
			switch name, value, _ := strings.Cut(line, ":"); name {
			case "GPU UUID":
				uuid = strings.TrimSpace(value)
			case "Device Minor":
				minor = strings.TrimSpace(value)
			}
		}
		if uuid != "" && minor != "" {
			out[uuid] = minor
		}
	}
	return out
}

// openers are the processes that have a device file open, by file.
func (s system) openers() map[string][]int {
	out := map[string][]int{}
	links, _ := filepath.Glob(filepath.Join(s.proc, "[0-9]*/fd/*"))
	for _, link := range links {
		file, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(file, filepath.Join(s.dev, "nvidia")) {
			continue
		}
		dir := filepath.Dir(filepath.Dir(link))
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() || slices.Contains(out[file], pid) || s.age(pid) < s.young {
			continue
		}
		name, _ := os.ReadFile(filepath.Join(dir, "comm"))
		if !slices.Contains(watchers, strings.TrimSpace(string(name))) {
			out[file] = append(out[file], pid)
		}
	}
	return out
}

// age is how long ago a process began, -1 if it is gone.
func (s system) age(pid int) time.Duration {
	ticks, err := process.StartTime(pid)
	if err != nil {
		return -1
	}
	return monotonic.Uptime() - time.Duration(ticks)*tick
}

// tick is the unit of a process's start time: USER_HZ is 100 on every
// architecture that muster runs on. proc(5), starttime.
const tick = 10 * time.Millisecond
