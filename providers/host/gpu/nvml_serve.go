package gpu

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// An answer is a line that a program which reads GPUs for another says: one
// once it has begun, then one for each line that it is sent.
type answer struct {
	Devices []Device `json:"devices,omitempty"`
	None    bool     `json:"none,omitempty"` // no NVML here
	Err     string   `json:"err,omitempty"`
}

// ServeNVML reads GPUs through the library at path, or the system's, for a
// program that cannot load it: each line of in is answered by one on out. It
// returns when in ends.
func ServeNVML(path string, in io.Reader, out io.Writer) error {
	say := json.NewEncoder(out)
	r, err := OpenNVML(path)
	if err != nil {
		return say.Encode(answer{None: errors.Is(err, errNoNVML), Err: err.Error()})
	}
	defer r.Close()
	if err := say.Encode(answer{}); err != nil {
		return fmt.Errorf("tell GPUs: %w", err)
	}
	asked := bufio.NewScanner(in)
	for asked.Scan() {
		var a answer
		if a.Devices, err = r.Devices(context.Background()); err != nil {
			a.Err = err.Error()
		}
		if err := say.Encode(a); err != nil {
			return fmt.Errorf("tell GPUs: %w", err)
		}
	}
	return asked.Err()
}
