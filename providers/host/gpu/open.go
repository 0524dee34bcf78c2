package gpu

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// errNoNVML says that NVML is not there: not in this build, not on this
// machine, or without a driver below it.
var errNoNVML = errors.New("no NVML here")

// Open finds the way to read GPUs here: NVML where the build and the machine
// have it, else nvidia-smi, else there are none. Neither having a library nor
// a driver nor nvidia-smi is a machine without GPUs; a driver that does not
// answer is an error.
func Open() (Reader, error) {
	r, err := OpenNVML("")
	if err == nil {
		return r, nil
	}
	if !errors.Is(err, errNoNVML) {
		return nil, err
	}
	if path, err := exec.LookPath(smiName); err == nil {
		return OpenSMI(path), nil
	}
	return None{}, nil
}

// driverLoaded reports whether the driver has made its device files.
func driverLoaded() bool {
	if _, err := os.Stat("/dev/nvidiactl"); err == nil {
		return true
	}
	found, _ := filepath.Glob("/dev/nvidia[0-9]*")
	return len(found) > 0
}
