package file

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/state/store"
)

// The lease file is JSON in two lines. The first has a fixed length and is
// overwritten in place: a sign of life, and the number of the last event
// acknowledged. In place, because this costs microseconds and no fsync, holds
// when the process dies, and works on a full disk. The second never changes.
const (
	markFormat = `{"held":%d,"acked":%20d,"heartbeat":"%s",`
	markSum    = `"mark":"%08x",` + "\n"
	markTime   = "2006-01-02T15:04:05.000000000Z"
)

var markLen = len(mark(store.Lease{}, false))

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// terms are the constant part of a lease.
type terms struct {
	ID       string    `json:"id"`
	Fence    uint64    `json:"fence"`
	Who      string    `json:"who"`
	Host     string    `json:"host"`
	Machine  string    `json:"machine,omitempty"`
	Boot     string    `json:"boot,omitempty"`
	PID      int       `json:"pid"`
	PIDStart uint64    `json:"pid_start"`
	Since    time.Time `json:"since"`
	Purpose  string    `json:"purpose"`
}

// mark is the first line.
func mark(l store.Lease, held bool) string {
	bit := 0
	if held {
		bit = 1
	}
	text := fmt.Sprintf(markFormat, bit, l.Acked, l.Heartbeat.UTC().Format(markTime))
	return text + fmt.Sprintf(markSum, crc32.Checksum([]byte(text), castagnoli))
}

// leaseBytes is a whole lease file.
func leaseBytes(l store.Lease, held bool) ([]byte, error) {
	text, err := json.Marshal(terms{l.ID, l.Fence, l.Who, l.Host, l.Machine, l.Boot, l.PID, l.PIDStart, l.Since.UTC().Round(0), l.Purpose})
	if err != nil {
		return nil, fmt.Errorf("encode lease: %w", err)
	}
	text = text[1 : len(text)-1]
	return fmt.Appendf([]byte(mark(l, held)), `%s,"crc":"%08x"}`+"\n", text, crc32.Checksum(text, castagnoli)), nil
}

// parseLease takes a lease file apart. Why is its error.
func parseLease(data []byte) (l store.Lease, held bool, why string) {
	if len(data) < markLen {
		return l, false, "it is cut off"
	}
	var first struct {
		Held      int
		Acked     uint64
		Heartbeat time.Time
	}
	head, rest := string(data[:markLen]), string(data[markLen:])
	sumAt := markLen - len(fmt.Sprintf(markSum, 0))
	if head[sumAt:] != fmt.Sprintf(markSum, crc32.Checksum([]byte(head[:sumAt]), castagnoli)) {
		return l, false, "the checksum of its first line does not match"
	}
	if err := json.Unmarshal([]byte(strings.TrimSuffix(head[:sumAt], ",")+"}"), &first); err != nil {
		return l, false, "its first line is not JSON"
	}
	text, sum, ok := strings.Cut(rest, `,"crc":"`)
	if !ok || sum != fmt.Sprintf(`%08x"}`+"\n", crc32.Checksum([]byte(text), castagnoli)) {
		return l, false, "the checksum of its second line does not match"
	}
	var t terms
	if err := json.Unmarshal([]byte("{"+text+"}"), &t); err != nil {
		return l, false, "its second line is not JSON"
	}
	l = store.Lease{
		ID: t.ID, Fence: t.Fence, Who: t.Who, Host: t.Host, Machine: t.Machine, Boot: t.Boot, PID: t.PID, PIDStart: t.PIDStart,
		Since: t.Since, Heartbeat: first.Heartbeat, Purpose: t.Purpose, Acked: first.Acked,
	}
	return l, first.Held == 1, ""
}

// found is a lease file as it was read.
type found struct {
	lease store.Lease
	held  bool
	info  fs.FileInfo
}

// readLease reads the lease; nil if there is none. Its first line may be read
// while it is being overwritten, so damage is believed only if it stays.
func (ls *leases) readLease(path string) (*found, error) {
	for try := 1; ; try++ {
		data, info, err := ls.slurp(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read lease: %w", err)
		}
		l, held, why := parseLease(data)
		if why == "" {
			return &found{l, held, info}, nil
		}
		if try == 5 {
			return nil, &store.CorruptError{Path: path, Offset: 0, Why: why, Way: fmt.Sprintf(
				"If no muster writes to this state, on any host, run \"muster force-unlock %s\". It sets the damaged lease aside; the records stay.", damagedID(data))}
		}
		time.Sleep(time.Duration(try) * ls.opt.patience)
	}
}

// damagedID is the id by which an unreadable lease is unlocked.
func damagedID(data []byte) string {
	return "damaged-" + strconv.FormatUint(uint64(crc32.Checksum(data, castagnoli)), 16)
}

// slurp reads a file and says which it was.
func (d *directory) slurp(path string) ([]byte, fs.FileInfo, error) {
	f, err := d.fs.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	data := make([]byte, 0, info.Size()+512)
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return data, info, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}
