package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/providers/host/gpu"
)

// A nodeReport is the answer of one node of a job on several, and the other nodes that it
// could not send to.
type nodeReport struct {
	Host       string
	Interfaces map[string]int // MTU by name, of those that are up
	Addresses  []string
	Port       int
	Driver     string // of NVIDIA's GPUs; "" = none
	Switched   bool   // its GPUs are behind NVSwitches
	Fabric     bool   // their fabric manager runs
	Image      string // size and time of the image file; "" = none
	Lost       map[string]string
}

// Times of a check. A node that is slower counts as gone.
const (
	checkWait  = 30 * time.Second // for the others' reports, and for their end
	checkDial  = 5 * time.Second
	checkLook  = 50 * time.Millisecond
	checkBytes = 256 << 10 // sent to each of the others: more than segments of any MTU
)

// mostPeers bounds the nodes to which one node sends.
const mostPeers = 16

// nodeCheck is one node's part in the check of a job's n nodes, which meet in a folder.
func nodeCheck(folder, host, image string, n int) error {
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		return err
	}
	defer listener.Close()
	go answer(listener)
	r := describeNode(host, image)
	r.Port = listener.Addr().(*net.TCPAddr).Port
	if err := writeReport(folder, host+".here", r); err != nil {
		return err
	}
	all, err := awaitReports(folder, ".here", n)
	if err != nil {
		return err
	}
	r.Lost = map[string]string{}
	for _, peer := range peersOf(all, host) {
		if err := sendTo(peer); err != nil {
			r.Lost[peer.Host] = err.Error()
		}
	}
	if err := writeReport(folder, host+".done", r); err != nil {
		return err
	}
	_, err = awaitReports(folder, ".done", n)
	return err
}

// peersOf are the nodes after one, around the circle.
func peersOf(all []nodeReport, host string) (peers []nodeReport) {
	for i := range all {
		if all[i].Host != host {
			continue
		}
		for k := 1; k < len(all) && k <= mostPeers; k++ {
			peers = append(peers, all[(i+k)%len(all)])
		}
	}
	return peers
}

// answer echoes its input.
func answer(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(2 * checkDial))
			_, _ = io.Copy(c, c)
		}()
	}
}

// sendTo sends full segments to a node and reads them back, by the first of its addresses that
// answers.
func sendTo(peer nodeReport) (err error) {
	err = errors.New("it has no address but its loopback's")
	for _, address := range peer.Addresses {
		var c net.Conn
		if c, err = net.DialTimeout("tcp", net.JoinHostPort(address, strconv.Itoa(peer.Port)), checkDial); err != nil {
			continue
		}
		_ = c.SetDeadline(time.Now().Add(checkDial))
		go func() { _, _ = c.Write(make([]byte, checkBytes)) }()
		_, err = io.ReadFull(c, make([]byte, checkBytes))
		c.Close()
		if err == nil {
			return nil
		}
		err = fmt.Errorf("it takes connections at %s, and large packets are lost: %w", address, err)
	}
	return err
}

// describeNode looks at this node.
func describeNode(host, image string) nodeReport {
	r := nodeReport{Host: host, Interfaces: map[string]int{}}
	list, _ := net.Interfaces()
	for _, i := range list {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 || virtual(i.Name) {
			continue
		}
		r.Interfaces[i.Name] = i.MTU
		addresses, _ := i.Addrs()
		for _, a := range addresses {
			if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() {
				r.Addresses = append(r.Addresses, ip.IP.String())
			}
		}
	}
	r.Driver = gpu.Driver()
	if _, err := os.Stat("/proc/driver/nvidia-nvswitch"); err == nil {
		r.Switched, r.Fabric = true, runs("nv-fabricmanager")
	}
	if info, err := os.Stat(image); image != "" && err == nil {
		r.Image = fmt.Sprintf("%d bytes of %s", info.Size(), info.ModTime().UTC().Format(time.RFC3339))
	}
	return r
}

// virtual reports whether an interface leads to containers and virtual machines of its host only.
func virtual(name string) bool {
	for _, prefix := range []string{"docker", "veth", "br-", "virbr", "cni", "flannel", "tun", "tap"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// runs reports whether a program runs here. proc(5): comm has 15 bytes of its name.
func runs(name string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.TrimSpace(string(text)) == name[:min(len(name), 15)] {
			return true
		}
	}
	return false
}

func writeReport(folder, name string, r nodeReport) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return atomicfile.WriteCache(filepath.Join(folder, name), text)
}

// reports are those of a kind that are in the folder, by host.
func reports(folder, kind string) (list []nodeReport) {
	files, _ := filepath.Glob(filepath.Join(folder, "*"+kind))
	for _, f := range files {
		var r nodeReport
		if text, err := os.ReadFile(f); err == nil && json.Unmarshal(text, &r) == nil {
			list = append(list, r)
		}
	}
	return list
}

// awaitReports waits for the reports of n nodes, for checkWait.
func awaitReports(folder, kind string, n int) (list []nodeReport, err error) {
	ctx, stop := context.WithTimeout(context.Background(), checkWait)
	defer stop()
	for {
		if list = reports(folder, kind); len(list) >= n {
			return list, nil
		}
		select {
		case <-ctx.Done():
			return list, nil // the others are checked all the same
		case <-time.After(checkLook):
		}
	}
}
