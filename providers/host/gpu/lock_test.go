package gpu

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"testing"
	"time"
)

const (
	held = "MUSTER_TEST_HOLD_GPU"  // the device that this process is to hold
	list = "MUSTER_TEST_LIST_GPUS" // this process is to say what Open finds
	// serving names the library that this process is to read GPUs with for another.
	serving = "MUSTER_TEST_SERVE_NVML"
)

func TestMain(m *testing.M) {
	if uuid := os.Getenv(held); uuid != "" {
		os.Exit(hold(uuid))
	}
	switch path := os.Getenv(serving); path {
	case "":
	case "fail": // as the loader says it
		fmt.Fprintln(os.Stderr, "muster-nvml: /lib/libc.so.6: version `GLIBC_9.9' not found (required by muster-nvml)")
		os.Exit(1)
	default:
		if err := ServeNVML(path, os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(list) != "" {
		r, err := Open()
		if err != nil {
			os.Stdout.WriteString(err.Error())
			os.Exit(1)
		}
		found, err := r.Devices(context.Background())
		fmt.Printf("%T %d %v", r, len(found), err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// hold plays the queue: it locks a device, starts a job that inherits the
// lock and ends when its standard input does, says so, and waits.
func hold(uuid string) int {
	f, err := Lock(uuid)
	if err != nil {
		return 1
	}
	job := exec.Command("/bin/cat")
	job.Stdin, job.ExtraFiles = os.Stdin, []*os.File{f}
	if job.Start() != nil {
		return 1
	}
	os.Stdout.WriteString("held\n")
	time.Sleep(time.Minute)
	return 0
}

func name(t *testing.T) string {
	return "GPU-test-" + strconv.Itoa(os.Getpid()) + "-" + t.Name()
}

func me(t *testing.T) string {
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

// TestHolderOfNothing: a device that is free, and one whose lock says nothing,
// as an older muster's.
func TestHolderOfNothing(t *testing.T) {
	if who := Holder(name(t)); who != "" {
		t.Errorf("a free device is held by %q", who)
	}
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: "@@muster/gpu/" + name(t), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if who := Holder(name(t)); who != "" {
		t.Errorf("it says %q", who)
	}
}

// The tests here are not parallel: a fork elsewhere holds every descriptor of
// this process for a moment.

func TestLock(t *testing.T) {
	f, err := Lock(name(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(name(t)); !errors.Is(err, ErrHeld) {
		t.Errorf("the second lock: %v", err)
	}
	other, err := Lock(name(t) + "-other")
	if err != nil {
		t.Errorf("another device: %v", err)
	}
	other.Close()
	f.Close()
	if f, err = Lock(name(t)); err != nil {
		t.Errorf("after release: %v", err)
	}
	f.Close()
}

// TestLockOutlivesQueue: the queue is killed, its job keeps the device; the
// job ends, and the device is free.
func TestLockOutlivesQueue(t *testing.T) {
	queue := exec.Command(os.Args[0])
	queue.Env = append(os.Environ(), held+"="+name(t))
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	queue.Stdin = read
	out, err := queue.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := queue.Start(); err != nil {
		t.Fatal(err)
	}
	read.Close()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the queue says %q, %v", line, err)
	}
	if who, want := Holder(name(t)), fmt.Sprintf("user %s, pid %d", me(t), queue.Process.Pid); who != want {
		t.Errorf("held by %q, want %q", who, want)
	}
	queue.Process.Kill()
	queue.Wait()
	if _, err := Lock(name(t)); !errors.Is(err, ErrHeld) {
		t.Errorf("while the job runs: %v", err)
	}
	if who, want := Holder(name(t)), fmt.Sprintf("user %s, by a job whose queue has ended", me(t)); who != want {
		t.Errorf("held by %q, want %q", who, want)
	}
	write.Close() // the job ends
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		f, err := Lock(name(t))
		if err == nil {
			f.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after the job: %v", err)
		}
	}
}
