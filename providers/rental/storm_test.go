package rental_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	sim "github.com/muster-run/muster/internal/cloudsim"
	simvast "github.com/muster-run/muster/internal/cloudsim/vastai"
	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/providers/host"
	"github.com/muster-run/muster/providers/rental"
	"github.com/muster-run/muster/providers/vastai"
)

// speed is how many seconds of the cloud pass in one of the storm's.
const speed = 120

func TestMain(m *testing.M) {
	if os.Getenv(beQueue) != "" {
		os.Exit(host.Main(context.Background(), os.Args[1:]))
	}
	if at := strings.Fields(os.Getenv("RENTAL_TEST_CHILD")); len(at) == 3 {
		began, err := strconv.ParseInt(at[2], 10, 64)
		if err != nil {
			panic(err)
		}
		k := fast(at[0], at[1], time.Unix(0, began))
		fmt.Println("begins")
		for {
			_, _ = turn(context.Background(), k) // the next turn tries again
		}
	}
	var err error
	if machines, err = os.MkdirTemp("", "mt"); err != nil { // sockets want short paths
		panic(err)
	}
	code := m.Run()
	endMachines()
	os.Exit(code)
}

// machines is the folder of all machines of this process.
var machines string

// endMachines kills what still runs on the machines: queues that a provider started again while
// its test ended, and jobs of machines that a cloud took away.
func endMachines() {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		panic(err)
	}
	for _, path := range all {
		text, _ := os.ReadFile(path)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if strings.Contains(string(text), machines+"/") && pid != os.Getpid() {
			_ = unix.Kill(-pid, unix.SIGKILL) // each leads its session
		}
	}
	_ = os.RemoveAll(machines)
}

// fast is a keeper whose time is that of a cloud that began at a moment.
func fast(url, dir string, began time.Time) *rental.Keeper {
	now := func() time.Time { return start.Add(time.Since(began) * speed) }
	cloud := vastai.New(rental.Access{Service: "Vast.ai", URL: url, Key: "key", Now: now, Sleep: func(ctx context.Context, d time.Duration) error {
		time.Sleep(d / speed)
		return ctx.Err()
	}})
	k, err := rental.Open(rental.Config{Cloud: cloud, Terms: vastai.Platform{}.Facts().Terms, Dir: dir, Lineage: "abc", Now: now, Check: func(context.Context, rental.Machine, rental.Offer) (rental.Found, error) { return rental.Found{}, nil }})
	if err != nil {
		panic(err)
	}
	return k
}

func turn(ctx context.Context, k *rental.Keeper) (t rental.Turned, err error) {
	defer time.Sleep(5 * time.Millisecond)
	return k.Turn(ctx)
}

// Muster is killed at random moments while it rents and releases: no machine is
// rented twice, none stays without being told, and each bill is the cloud's.
func TestStormOfKills(t *testing.T) {
	t.Parallel()
	storm(t, 40)
}

func TestNightlyStormOfKills(t *testing.T) {
	needs.Nightly(t, "kills muster 200 times")
	storm(t, 200)
}

func storm(t *testing.T, kills int) {
	accounts, err := sim.NewAccounts("key account=me credit=1000\n")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	v := simvast.New(&sim.World{Clock: sim.NewClock(start, speed), Accounts: accounts, Machines: sim.NoMachines{}})
	server := sim.NewServer(v.World, v)
	server.Latency = 3 * time.Millisecond
	web := httptest.NewServer(server)
	t.Cleanup(func() { web.CloseClientConnections(); web.Close(); v.Close() })
	w := &world{T: t, clock: v.Clock, url: web.URL, dir: t.TempDir()}

	draw := rand.New(rand.NewPCG(1, 2))
	for n := range kills {
		k := fast(w.url, w.dir, began)
		for _, r := range k.Rentals() {
			if r.Step == rental.Ready && draw.IntN(3) == 0 {
				if err := k.Release(r.Token, "idle"); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n%4 == 0 {
			cheap := want
			cheap.Models = []string{"A100 SXM4"}
			cheap.MostUSDPerHour = want.MostUSDPerHour.Add(want.MostUSDPerHour)
			if _, err := k.Rent(cheap); err != nil {
				t.Fatal(err)
			}
		}
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), fmt.Sprintf("RENTAL_TEST_CHILD=%s %s %d", w.url, w.dir, began.UnixNano()))
		said, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		_, _ = said.Read(make([]byte, 1)) // a busy machine may take longer to start it than it lives
		time.Sleep(time.Duration(20+draw.IntN(300)) * time.Millisecond)
		_ = child.Process.Kill()
		_ = child.Wait() // it was killed
	}
	k := fast(w.url, w.dir, began)
	for _, r := range k.Rentals() {
		if err := k.Release(r.Token, "the end"); err != nil {
			t.Fatal(err)
		}
	}
	var seen rental.Turned
	for over := false; !over; {
		if seen, err = turn(t.Context(), k); err != nil {
			t.Log(err)
			continue
		}
		over = true
		for _, r := range k.Rentals() {
			over = over && r.Over() && (r.ID == "" || r.USD != "")
		}
	}
	known, told := map[string]rental.Rental{}, map[string]bool{}
	for _, r := range k.Rentals() {
		if r.ID != "" {
			if known[r.ID].Token != "" {
				t.Errorf("machine %s has two rentals", r.ID)
			}
			known[r.ID] = r
		}
	}
	for _, o := range seen.Orphans {
		told[o.ID] = true
	}
	rented := 0
	for _, a := range w.truth() {
		id := fmt.Sprint(a.ID)
		r, ok := known[id]
		switch {
		case !ok && !told[id]:
			t.Errorf("machine %s is nobody's, and nobody was told", id)
		case ok && (!a.Gone || r.USD != a.USD.Round(3).String()):
			t.Errorf("machine %s: gone %t, cost %s, on record %s", id, a.Gone, a.USD, r.USD)
		}
		rented++
	}
	if rented == 0 {
		t.Error("nothing was rented")
	}
	t.Logf("%d kills, %d machines, %d orphans", kills, rented, len(told))
}
