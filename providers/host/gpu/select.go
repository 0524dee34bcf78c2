package gpu

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Selection names devices: by index, as nvidia-smi counts, or by UUID,
// which may be cut short as CUDA allows. A device that is cut into slices
// stands for them all. Nil is every device.
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

// Wrong says what of a selection can name no device, "" if all could.
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

func names(name string, d Device) bool {
	if n, err := strconv.Atoi(name); err == nil {
		return n == d.Index
	}
	return len(name) >= minUUID && (strings.HasPrefix(d.UUID, name) || d.Parent != "" && strings.HasPrefix(d.Parent, name))
}
