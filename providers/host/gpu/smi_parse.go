package gpu

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/internal/term"
)

// parseDevices reads the answer to smiFields, with or without MIG.
func parseDevices(out []byte) (list []Device, mig bool, err error) {
	for _, f := range rows(out) {
		if len(f) != 6 && len(f) != 7 {
			return nil, false, unreadable(f)
		}
		index, err := strconv.Atoi(f[0])
		if err != nil || f[1] == "" {
			return nil, false, unreadable(f)
		}
		d := Device{Index: index, UUID: f[1], Name: f[2], Model: Model(f[2]), Healthy: true}
		var total, used bool
		d.Memory, total = mibs(f[3])
		d.Used, used = mibs(f[4])
		d.Utilization = percent(f[5])
		for i, ok := range []bool{total, used} {
			if !ok && broken(f[3+i]) {
				d.Healthy, d.Reason = false, strings.Trim(f[3+i], "[]")
			}
		}
		if !total {
			d.Memory = 0
		}
		if !strings.HasPrefix(d.UUID, "GPU-") {
			d.Healthy, d.Reason = false, "it has no UUID: "+strings.Trim(f[1], "[]")
		}
		mig = mig || len(f) == 7 && f[6] == "Enabled"
		list = append(list, d)
	}
	return list, mig, nil
}

// broken distinguishes a value that is missing because the device does not answer from one
// that it never has.
func broken(value string) bool {
	switch strings.ToLower(strings.Trim(value, "[]")) {
	case "n/a", "not supported", "insufficient permissions", "":
		return false
	}
	return true
}

func unreadable(fields []string) error {
	return fmt.Errorf("%s: cannot read %q", smiName, term.CleanLine(strings.Join(fields, ", ")))
}

// rows splits comma-separated lines; none of our fields contains a comma.
func rows(out []byte) (rows [][]string) {
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		fields := strings.Split(line, ",")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		rows = append(rows, fields)
	}
	return rows
}

// mibs is a figure in MiB as bytes, or -1 and false.
func mibs(s string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSuffix(s, " MiB"), 10, 42)
	if err != nil || n < 0 {
		return -1, false
	}
	return n * mib, true
}

// percent is nil for a figure that is unknown.
func percent(s string) *int {
	n, err := strconv.Atoi(strings.TrimSuffix(s, " %"))
	if err != nil {
		return nil
	}
	return &n
}

// parseApps adds the processes to their devices. A process that the user may not see has no
// number and is left out; the memory in use still shows it.
func parseApps(out []byte, list []Device) error {
	for _, f := range rows(out) {
		if len(f) != 3 {
			return unreadable(f)
		}
		pid, err := strconv.Atoi(f[1])
		if err != nil {
			continue
		}
		used, _ := mibs(f[2])
		for i := range list {
			if list[i].UUID == f[0] {
				list[i].Processes = append(list[i].Processes, look(pid, used))
			}
		}
	}
	return nil
}

var (
	listedGPU   = lazyregexp.New(`^GPU (\d+): .*\(UUID: (GPU-[^)]+)\)`)
	listedSlice = lazyregexp.New(`^\s+MIG (\S+)\s+Device\s+(\d+): \(UUID: (MIG-[^)]+)\)`)
	sliceMemory = lazyregexp.New(`\.(\d+)gb`)
)

// parseSlices reads nvidia-smi -L: the slices by their device's UUID.
func parseSlices(out []byte) map[string][]Device {
	slices := map[string][]Device{}
	parent := ""
	for line := range strings.Lines(string(out)) {
		if m := listedGPU.FindStringSubmatch(line); m != nil {
			parent = m[2]
		}
		m := listedSlice.FindStringSubmatch(line)
		if m == nil || parent == "" {
			continue
		}
		d := Device{UUID: m[3], Name: "MIG " + m[1], MIG: true, Parent: parent, Used: -1}
		d.Index, _ = strconv.Atoi(m[2]) // within its device, until cut
		if g := sliceMemory.FindStringSubmatch(m[1]); g != nil {
			n, _ := strconv.ParseInt(g[1], 10, 32)
			d.Memory = n << 30
		}
		slices[parent] = append(slices[parent], d)
	}
	return slices
}

// cut puts slices in the place of the devices that are cut up.
func cut(list []Device, slices map[string][]Device, uses map[string]map[int]use) (all []Device) {
	for _, d := range list {
		own := slices[d.UUID]
		if len(own) == 0 {
			all = append(all, d)
			continue
		}
		for _, s := range own {
			if u, ok := uses[d.UUID][s.Index]; ok {
				s.Used, s.Processes = u.used, u.processes
			}
			s.Index, s.Name, s.Model = d.Index, d.Name+" "+s.Name, d.Model
			s.Healthy, s.Reason = d.Healthy, d.Reason
			all = append(all, s)
		}
	}
	return all
}
