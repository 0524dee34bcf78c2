package door

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strconv"

	"github.com/muster-run/muster/providers/host/boot"
)

// place names what stands behind a door: this user's home on this machine, in
// this boot. Two doors of one place have one queue, whatever names of hosts
// lead to them.
func place() string {
	host, _ := os.Hostname()
	home, _ := os.UserHomeDir()
	sum := sha256.Sum256([]byte(boot.ID() + "\n" + host + "\n" + strconv.Itoa(os.Getuid()) + "\n" + home))
	return hex.EncodeToString(sum[:8])
}
