package gpu

import (
	"encoding/xml"
	"fmt"
	"strconv"
)

// report is the part of nvidia-smi -q -x that muster reads: the use of each slice, and the
// slice of each process.
type report struct {
	GPUs []struct {
		UUID   string `xml:"uuid"`
		Slices []struct {
			Index    int    `xml:"index"`
			Instance string `xml:"gpu_instance_id"`
			Used     string `xml:"fb_memory_usage>used"`
		} `xml:"mig_devices>mig_device"`
		Processes []struct {
			Instance string `xml:"gpu_instance_id"`
			PID      string `xml:"pid"`
			Used     string `xml:"used_memory"`
		} `xml:"processes>process_info"`
	} `xml:"gpu"`
}

// use is the use of one slice.
type use struct {
	used      int64
	processes []Process
}

// parseReport reads the use of slices, by their device's UUID and the number
// that nvidia-smi -L gives them.
func parseReport(out []byte) (map[string]map[int]use, error) {
	var r report
	if err := xml.Unmarshal(out, &r); err != nil {
		return nil, fmt.Errorf("%s -q -x: %w", smiName, err)
	}
	all := map[string]map[int]use{}
	for _, g := range r.GPUs {
		all[g.UUID] = map[int]use{}
		for _, s := range g.Slices {
			u := use{}
			u.used, _ = mibs(s.Used)
			for _, p := range g.Processes {
				pid, err := strconv.Atoi(p.PID)
				if err != nil || p.Instance != s.Instance {
					continue
				}
				used, _ := mibs(p.Used)
				u.processes = append(u.processes, look(pid, used))
			}
			all[g.UUID][s.Index] = u
		}
	}
	return all, nil
}
