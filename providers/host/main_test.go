package host

import (
	"context"
	"os"
	"testing"
)

// The test binary stands in for muster: started again with this variable it
// is `muster provider queue`.
const beQueue = "MUSTER_TEST_QUEUE"

func TestMain(m *testing.M) {
	if os.Getenv(beQueue) != "" {
		os.Exit(Main(context.Background(), os.Args[1:]))
	}
	os.Exit(m.Run())
}
