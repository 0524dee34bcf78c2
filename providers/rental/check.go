package rental

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/internal/units"
)

// Run runs a command on a machine as its user: what it printed, and its exit code.
// An error says that the machine was not reached.
type Run func(ctx context.Context, m Machine, command string) (out string, exit int, err error)

// Devices checks that a machine has the GPUs of its offer: as many, of that model
// and with that memory. An offer of one model was seen to deliver another.
func Devices(run Run) Check {
	return func(ctx context.Context, m Machine, o Offer) error {
		if o.GPUs == 0 {
			_, _, err := run(ctx, m, "true")
			return err
		}
		out, exit, err := run(ctx, m, "nvidia-smi --query-gpu=name,memory.total --format=csv,noheader,nounits")
		if err != nil {
			return err
		}
		if exit != 0 {
			return &Unfit{fmt.Sprintf("its nvidia-smi fails with exit %d", exit)}
		}
		return fits(o, out)
	}
}

// short is the share of its memory that a GPU may lack: drivers keep some.
const short = 0.05

func fits(o Offer, out string) error {
	rows := strings.Split(strings.TrimSpace(out), "\n")
	if strings.TrimSpace(out) == "" {
		rows = nil
	}
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

// named reports whether a device is of a model, by the words that tell models apart:
// "A100 SXM4" is "NVIDIA A100-SXM4-80GB", and "RTX 4070" is no "RTX 4070 Ti".
func named(device, model string) bool {
	return slices.Equal(telling(device), telling(model))
}

// Allows reports whether a model of GPU is one of those wanted. "A100" allows
// "A100 80GB SXM4" and not "A100X", "A100 40GB" no "A100 80GB".
func (w Want) Allows(model string) bool {
	return len(w.Models) == 0 || slices.ContainsFunc(w.Models, func(wanted string) bool {
		has := words(model)
		return named(wanted, model) && !slices.ContainsFunc(words(wanted), func(word string) bool { return !slices.Contains(has, word) })
	})
}

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

var beside = regexp.MustCompile(`^(nvidia|geforce|tesla|quadro|rtx|gpu|sxm\d?|pcie|nvl|hbm\d\w?|\d+gb)$`)
