package cluster

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxIndexes bounds a list of indexes, which is written in few bytes.
const maxIndexes = 4_000_001 // slurm.conf(5), MaxArraySize: at most 4000001

// ParseIndexes reads the elements of an array, "3", "0-998:2%50", "1,5,7-9", in
// that order; N/A and "" are no element, -1.
func ParseIndexes(s string) ([]int, error) {
	s, _, _ = strings.Cut(strings.Trim(s, "[]"), "%")
	if s == "" || s == "N/A" {
		return []int{-1}, nil
	}
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		span, step, stepped := strings.Cut(part, ":")
		from, to, ranged := strings.Cut(span, "-")
		a, err := strconv.Atoi(from)
		if err != nil {
			return nil, fmt.Errorf("index list %q", s)
		}
		b, by := a, 1
		if ranged {
			if b, err = strconv.Atoi(to); err != nil {
				return nil, fmt.Errorf("index list %q", s)
			}
		}
		if stepped {
			if by, err = strconv.Atoi(step); err != nil || by < 1 {
				return nil, fmt.Errorf("index list %q", s)
			}
		}
		if a < 0 || b < a || b >= maxIndexes || len(out)+(b-a)/by >= maxIndexes {
			return nil, fmt.Errorf("index list %q", s)
		}
		for i := a; i <= b; i += by {
			out = append(out, i)
		}
	}
	return out, nil
}

// FormatIndexes writes indexes, in order, as sbatch --array takes them: "0-2,5".
func FormatIndexes(indexes []int) string {
	var parts []string
	for i := 0; i < len(indexes); {
		k := i
		for k+1 < len(indexes) && indexes[k+1] == indexes[k]+1 {
			k++
		}
		if k > i {
			parts = append(parts, fmt.Sprintf("%d-%d", indexes[i], indexes[k]))
		} else {
			parts = append(parts, fmt.Sprint(indexes[i]))
		}
		i = k + 1
	}
	return strings.Join(parts, ",")
}

// localTime is how Slurm prints a time where SLURM_TIME_FORMAT does not reach
// it, as through a site's own wrappers: of the cluster's time zone.
const localTime = "2006-01-02T15:04:05"

// epoch reads a time, in seconds or as Slurm prints it by default; N/A, Unknown,
// None and the like are none.
func epoch(s string) time.Time {
	s = strings.TrimSpace(s)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n > 0 {
		return time.Unix(n, 0)
	}
	t, err := time.ParseInLocation(localTime, s, time.Local)
	if err != nil {
		return time.Time{}
	}
	return t
}

// number reads a count; other text is 0.
func number(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// Least is the smaller of two limits, where 0 is no limit.
func Least(a, b int) int {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// nameList reads a list of names; ALL, N/A and nothing are no list.
func nameList(s string) []string {
	if s == "" || s == "ALL" || s == "N/A" || s == "NONE" || s == "(null)" {
		return nil
	}
	return strings.Split(s, ",")
}

// columns cuts a line into fields of fixed widths.
func columns(line string, widths []int) []string {
	out := make([]string, len(widths))
	for i, w := range widths {
		n := min(w, len(line))
		out[i], line = strings.TrimSpace(line[:n]), line[n:]
	}
	return out
}

// parseWords reads "Name=value Name=value".
func parseWords(line string) map[string]string {
	out := map[string]string{}
	for _, w := range strings.Fields(line) {
		if name, value, ok := strings.Cut(w, "="); ok {
			out[name] = value
		}
	}
	return out
}

// parseTRES reads "cpu=1,gres/gpu=3,mem=512M".
func parseTRES(s string) map[string]string {
	var out map[string]string
	for part := range strings.SplitSeq(s, ",") {
		if name, value, ok := strings.Cut(part, "="); ok {
			if out == nil {
				out = map[string]string{}
			}
			out[name] = value
		}
	}
	return out
}

// countGPUs are the GPUs of a TRES list. Some sites count them by type only:
// "gres/gpu:a40=1". slurm.conf(5), AccountingStorageTRES.
func countGPUs(tres map[string]string) int {
	if n, ok := tres["gres/gpu"]; ok {
		return number(n)
	}
	sum := 0
	for name, n := range tres {
		if strings.HasPrefix(name, "gres/gpu:") {
			sum += number(n)
		}
	}
	return sum
}

// parseKilo reads a size such as 1234K, 1.50M, 512; -1 if there is none.
func parseKilo(s string) int64 {
	s = strings.TrimSuffix(strings.TrimRight(strings.TrimSpace(s), "nc"), "B") // 2000Mn, 2000Mc: per node, per cpu
	if s == "" {
		return -1
	}
	unit := int64(1)
	if i := strings.IndexByte("KMGTP", s[len(s)-1]); i >= 0 {
		unit, s = int64(1)<<(10*(i+1)), s[:len(s)-1]
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 || f*float64(unit) > 1<<62 {
		return -1
	}
	return int64(f * float64(unit))
}

// parseClock reads [DD-[HH:]]MM:SS[.mmm]; -1 if it is none.
func parseClock(s string) time.Duration {
	days, rest, found := strings.Cut(strings.TrimSpace(s), "-")
	if !found {
		days, rest = "0", days
	}
	d, err := strconv.Atoi(days)
	if err != nil || rest == "" || d < 0 || d > 100_000 {
		return -1
	}
	total := time.Duration(d) * 24 * time.Hour
	parts := strings.Split(rest, ":")
	unit := time.Second
	for i := len(parts) - 1; i >= 0; i-- {
		f, err := strconv.ParseFloat(parts[i], 64)
		if err != nil || f < 0 || f > 1e9 || unit > time.Hour {
			return -1
		}
		total += time.Duration(f * float64(unit))
		unit *= 60
	}
	return total
}

// parseLimit is a time limit as Slurm prints it: UNLIMITED and the like are 0.
// "30" is minutes, "1-0" days and hours. sbatch(1), --time.
func parseLimit(s string) time.Duration {
	s = strings.TrimSpace(s)
	days, rest, dayed := strings.Cut(s, "-")
	if !dayed {
		if !strings.Contains(s, ":") {
			n, err := strconv.Atoi(s)
			if err != nil || n < 0 {
				return 0
			}
			return time.Duration(n) * time.Minute
		}
		return max(parseClock(s), 0)
	}
	switch strings.Count(rest, ":") {
	case 0:
		rest += ":00:00"
	case 1:
		rest += ":00"
	}
	return max(parseClock(days+"-"+rest), 0)
}

// FormatLimit is a time limit as sbatch --time takes it, "1-02:30:00": in whole
// minutes, rounded up, as the smallest is one.
func FormatLimit(d time.Duration) string {
	minutes := int64((d + time.Minute - 1) / time.Minute)
	return fmt.Sprintf("%d-%02d:%02d:00", minutes/(24*60), minutes/60%24, minutes%60)
}

// Quote is a value as #SBATCH takes it: one with spaces is quoted, without
// line ends.
func Quote(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if s != "" && !strings.ContainsAny(s, " \t\"'#\\$`") {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
