package rental

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/failure"
)

// Run runs a command on a machine as its user, and returns its output and its exit code. An
// error says that the machine was not reached.
type Run func(ctx context.Context, m Machine, command string) (out string, exit int, err error)

// A Need is a machine's requirements beyond its offer.
type Need struct {
	CUDA   string // its driver must support this version: "12.6"; "" = any
	Folder string // where jobs write
	Free   int64  // bytes that must be free there
	// Programs are those without which muster cannot work there; "a|b" is any of them.
	Programs []string
}

// Found is the measurements of a check.
type Found struct {
	Driver    string   `json:"driver,omitempty"`
	CUDA      string   `json:"cuda,omitempty"`       // newest that the driver supports
	Free      int64    `json:"free,omitempty"`       // bytes of disk
	DiskSpeed int64    `json:"disk_speed,omitempty"` // bytes a second, written and synced
	NetSpeed  int64    `json:"net_speed,omitempty"`  // bytes a second from the machine to muster
	Warnings  []string `json:"warnings,omitempty"`   // findings that do not make it unfit
	// Unfit is why no job starts on a machine that is kept for the results on it.
	Unfit string `json:"unfit,omitempty"`
}

func (f Found) String() string {
	var parts []string
	if f.Unfit != "" {
		parts = append(parts, "kept for its results alone, since "+f.Unfit)
	}
	if f.Driver != "" {
		parts = append(parts, "driver "+f.Driver)
	}
	if f.CUDA != "" {
		parts = append(parts, "CUDA "+f.CUDA)
	}
	if f.Free > 0 {
		parts = append(parts, units.FormatSize(f.Free)+" free")
	}
	if f.DiskSpeed > 0 {
		parts = append(parts, "disk "+units.FormatSize(f.DiskSpeed)+"/s")
	}
	if f.NetSpeed > 0 {
		parts = append(parts, "network "+units.FormatSize(f.NetSpeed)+"/s")
	}
	return strings.Join(append(parts, f.Warnings...), ", ")
}

//go:embed check.sh
var checkScript string

// Bounds of a machine's check.
const (
	// samples, hot and throttled: gpu_health of RGT looks five times, and calls a GPU
	// bad that is at 83 °C or more with its clock under 70 % of its highest.
	samples   = 5
	hot       = 83 // °C
	throttled = 0.7
	// leastDiskSpeed and leastNetSpeed are bytes a second. A disk or a link below them
	// makes an hour of a job out of copying 100 GB, or 0.5 GB.
	leastDiskSpeed = 32 << 20
	leastNetSpeed  = 128 << 10
	probed         = 64 << 20 // bytes that check.sh writes
	sent           = 1 << 20  // bytes that the machine sends
)

// Inspect checks a machine: an Unfit names its defect.
func Inspect(run Run, need Need, now func() time.Time) Check {
	return func(ctx context.Context, m Machine, o Offer) (Found, error) {
		args := []string{"check", need.Folder, strconv.Itoa(o.GPUs), strconv.Itoa(samples)}
		for _, p := range need.Programs {
			args = append(args, strings.Split(p, "|")...)
		}
		for i := range args {
			args[i] = shell.Quote(args[i])
		}
		out, exit, err := run(ctx, m, "sh -c "+shell.Quote(checkScript)+" "+strings.Join(args, " "))
		if err != nil {
			return Found{}, err
		}
		if exit != 0 {
			return Found{}, &Unfit{fmt.Sprintf("the check of it fails with exit %d", exit)}
		}
		f, err := read(out, need, o)
		if err != nil {
			return f, err
		}
		began := now()
		if _, _, err := run(ctx, m, fmt.Sprintf("head -c %d /dev/urandom", sent)); err != nil {
			return f, err
		}
		if took := now().Sub(began); took > 0 {
			f.NetSpeed = int64(sent / took.Seconds())
		}
		if f.NetSpeed > 0 && f.NetSpeed < leastNetSpeed {
			return f, &Unfit{fmt.Sprintf("it sends %s a second here, and muster wants %s", units.FormatSize(f.NetSpeed), units.FormatSize(leastNetSpeed))}
		}
		return f, nil
	}
}

// read parses the output of check.sh.
func read(out string, need Need, o Offer) (f Found, err error) {
	said := map[string][]string{}
	for line := range strings.Lines(out) {
		word, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		said[word] = append(said[word], value)
	}
	if err := lacks(said["lacks"], need.Programs); err != nil {
		return f, err
	}
	if o.GPUs > 0 {
		if err := f.devices(said, need, o); err != nil {
			return f, err
		}
	}
	return f, f.disk(said, need)
}

// lacks is an Unfit where none of the programs of a need is there.
func lacks(missing, programs []string) error {
	for _, p := range programs {
		any := strings.Split(p, "|")
		if !slices.ContainsFunc(any, func(name string) bool { return !slices.Contains(missing, name) }) {
			return &Unfit{"its image has no " + strings.Join(any, " or ") + ", which muster needs"}
		}
	}
	return nil
}

// devices checks the GPUs: as many as in the offer, of that model and with that memory,
// a driver that is new enough, and no sign that one is broken.
func (f *Found) devices(said map[string][]string, need Need, o Offer) error {
	if code := first(said["smi"]); code != "0" {
		return &Unfit{fmt.Sprintf("its nvidia-smi fails with exit %s", code)}
	}
	var rows []string
	for _, row := range said["gpu"] {
		if at := strings.LastIndex(row, ", "); at > 0 && strings.Count(row, ", ") >= 2 {
			f.Driver, row = row[at+2:], row[:at]
		}
		if row != "" {
			rows = append(rows, row)
		}
	}
	if err := fits(o, rows); err != nil {
		return err
	}
	f.CUDA = first(said["cuda"])
	if need.CUDA != "" && f.CUDA != "" && older(f.CUDA, need.CUDA) {
		return &Unfit{fmt.Sprintf("its driver %s supports CUDA %s, and the jobs need %s", f.Driver, f.CUDA, need.CUDA)}
	}
	for _, x := range said["xid"] {
		n, err := strconv.Atoi(x)
		switch {
		case err != nil:
			f.Warnings = append(f.Warnings, "its kernel's log cannot be read")
		case failure.Lethal(n) != "":
			return &Unfit{fmt.Sprintf("its driver reported Xid %d: %s", n, failure.Lethal(n))}
		default:
			f.Warnings = append(f.Warnings, "Xid "+x)
		}
	}
	return tooHot(said["heat"])
}

// tooHot is an Unfit where a GPU is hot and slowed down each time it was looked at.
func tooHot(heat []string) error {
	cool, worst := map[string]bool{}, map[string]string{}
	for _, row := range heat {
		v := strings.Split(row, ", ")
		if len(v) != 4 {
			continue
		}
		celsius, err1 := strconv.ParseFloat(v[1], 64)
		clock, err2 := strconv.ParseFloat(v[2], 64)
		most, err3 := strconv.ParseFloat(v[3], 64)
		if err1 != nil || err2 != nil || err3 != nil || celsius < hot || clock >= most*throttled {
			cool[v[0]] = true
			continue
		}
		worst[v[0]] = fmt.Sprintf("its GPU %s is at %s °C and runs at %s of %s MHz", v[0], v[1], v[2], v[3])
	}
	for _, gpu := range sortedKeys(worst) {
		if !cool[gpu] {
			return &Unfit{worst[gpu]}
		}
	}
	return nil
}

// disk checks free space and speed.
func (f *Found) disk(said map[string][]string, need Need) error {
	kib, err := strconv.ParseInt(first(said["free"]), 10, 64)
	if f.Free = kib << 10; err == nil && f.Free < need.Free {
		return &Unfit{fmt.Sprintf("its disk has %s free, and %s is needed", units.FormatSize(f.Free), units.FormatSize(need.Free))}
	}
	began, ended, _ := strings.Cut(first(said["wrote"]), " ")
	if began == "nothing" {
		return &Unfit{"nothing can be written to " + need.Folder}
	}
	from, err1 := strconv.ParseFloat(began, 64)
	to, err2 := strconv.ParseFloat(ended, 64)
	if err1 != nil || err2 != nil {
		return nil
	}
	f.DiskSpeed = int64(probed / max(to-from, 0.01)) // uptime counts hundredths
	if f.DiskSpeed < leastDiskSpeed {
		return &Unfit{fmt.Sprintf("its disk writes %s a second, and muster wants %s", units.FormatSize(f.DiskSpeed), units.FormatSize(leastDiskSpeed))}
	}
	return nil
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// older reports whether a version is before another: "12.4" is before "12.10".
func older(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range y {
		var m, n int
		if i < len(x) {
			m, _ = strconv.Atoi(x[i])
		}
		if n, _ = strconv.Atoi(y[i]); m != n {
			return m < n
		}
	}
	return false
}

// cudaOf is the version of CUDA that an image says in its name, "" where it does not:
// "pytorch/pytorch:2.8.0-cuda12.6-cudnn9-runtime", "nvidia/cuda:12.4.1-base".
func cudaOf(image string) string {
	if m := cudaTag.FindStringSubmatch(image); m != nil {
		return m[1]
	}
	return ""
}

var versionOfCUDA = lazyregexp.New(`^\d+(\.\d+)*$`)

var cudaTag = lazyregexp.New(`cuda[-:]?(\d\d\.\d+)`)

// short is the share of its memory that a GPU may lack: drivers keep some.
const short = 0.05

func fits(o Offer, rows []string) error {
	if len(rows) != o.GPUs {
		return &Unfit{fmt.Sprintf("it has %s, and its offer says %d", units.Count(len(rows), "GPU"), o.GPUs)}
	}
	for _, row := range rows {
		name, memory, _ := strings.Cut(row, ", ")
		mib, err := strconv.ParseInt(strings.TrimSpace(memory), 10, 64)
		switch {
		case err != nil:
			return &Unfit{fmt.Sprintf("its nvidia-smi prints %q", row)}
		case !named(name, o.GPU):
			return &Unfit{fmt.Sprintf("its GPU is %s, and its offer says %s", name, o.GPU)}
		case float64(mib<<20) < float64(o.GPUMemory)*(1-short):
			return &Unfit{fmt.Sprintf("its GPU has %d MiB, and its offer says %d", mib, o.GPUMemory>>20)}
		}
	}
	return nil
}

// named reports whether a device has a model, by the words that distinguish models:
// "A100 SXM4" is "NVIDIA A100-SXM4-80GB", and "RTX 4070" is no "RTX 4070 Ti".
func named(device, model string) bool {
	return slices.Equal(telling(device), telling(model))
}

// Allows reports whether a model of GPU is one of those wanted. "A100" allows
// "A100 80GB SXM4" and not "A100X", "A100 40GB" no "A100 80GB"; the maker's name may be
// there or not.
func (w Want) Allows(model string) bool {
	return len(w.Models) == 0 || slices.ContainsFunc(w.Models, func(wanted string) bool {
		has := words(model)
		return named(wanted, model) && !slices.ContainsFunc(words(wanted), func(word string) bool { return !slices.Contains(has, word) && !slices.Contains(makers, word) })
	})
}

var makers = []string{"nvidia", "geforce", "tesla"}

func words(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == ' ' || r == '-' || r == '_' })
}

// telling are the words of a name less those of its maker, its memory and how it is
// built in, which are not in every name of the same model.
func telling(name string) (out []string) {
	for _, w := range words(name) {
		if !beside.MatchString(w) {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return out
}

var beside = lazyregexp.New(`^(nvidia|geforce|tesla|quadro|rtx|gpu|sxm\d?|pcie|nvl|hbm\d\w?|\d+gb)$`)
