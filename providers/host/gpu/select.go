package gpu

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Selection names devices: by index, as nvidia-smi counts, or by UUID, which may be cut
// short as CUDA allows. The name of a device includes all its slices. Nil is every device.
type Selection []string

// UnmarshalJSON takes numbers, too.
func (s *Selection) UnmarshalJSON(b []byte) error {
	var list []any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&list); err != nil {
		return err
	}
	*s = nil
	for _, v := range list {
		*s = append(*s, strings.TrimSpace(fmt.Sprint(v)))
	}
	return nil
}

// Wrong says which name of a selection cannot be a device, "" if all could.
func (s Selection) Wrong() string {
	for _, name := range s {
		n, err := strconv.Atoi(name)
		if err == nil && n >= 0 || len(name) >= minUUID && (strings.HasPrefix(name, "GPU-") || strings.HasPrefix(name, "MIG-")) {
			continue
		}
		return fmt.Sprintf("%q is neither an index nor a UUID (GPU-…, MIG-…)", name)
	}
	return ""
}

// minUUID is how much of a UUID is needed: "GPU-" and four digits.
const minUUID = 8

// Has reports whether a device is selected.
func (s Selection) Has(d Device) bool {
	return len(s) == 0 || slices.ContainsFunc(s, func(name string) bool { return names(name, d) })
}

// Absent are the names of devices that are not there.
func (s Selection) Absent(list []Device) (absent []string) {
	for _, name := range s {
		if !slices.ContainsFunc(list, func(d Device) bool { return names(name, d) }) {
			absent = append(absent, name)
		}
	}
	return absent
}

// Utilization is the percentage for which each of the selected devices was busy; nil = unknown
// for one of them.
func (s Selection) Utilization(list []Device) (percent []int) {
	for _, d := range list {
		switch {
		case !s.Has(d):
		case d.Utilization == nil:
			return nil
		default:
			percent = append(percent, *d.Utilization)
		}
	}
	if len(s.Absent(list)) > 0 {
		return nil
	}
	return percent
}

func names(name string, d Device) bool {
	if n, err := strconv.Atoi(name); err == nil {
		return n == d.Index
	}
	return len(name) >= minUUID && (strings.HasPrefix(d.UUID, name) || d.Parent != "" && strings.HasPrefix(d.Parent, name))
}
