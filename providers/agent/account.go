package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strconv"

	"github.com/muster-run/muster/providers/host/monotonic"
)

// account names this user's home on this machine, in this boot. Two agents of one
// account have one queue, whatever host names reach them.
func account() string {
	host, _ := os.Hostname()
	home, _ := os.UserHomeDir()
	sum := sha256.Sum256([]byte(monotonic.ID() + "\n" + host + "\n" + strconv.Itoa(os.Getuid()) + "\n" + home))
	return hex.EncodeToString(sum[:8])
}
