//go:build !linux

package attempt

import "os"

// punchHole does nothing: logs are shortened when the job has ended.
func punchHole(*os.File, int64, int64) {}
