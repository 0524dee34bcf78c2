package page

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"
)

// CSV writes one row a job, with axes and metrics as columns.
func (r Report) CSV(to io.Writer) error {
	axes, metrics := map[string]bool{}, map[string]bool{}
	for _, j := range r.Jobs {
		for k := range j.Axes {
			axes[k] = true
		}
		for k := range j.Metrics {
			metrics[k] = true
		}
	}
	axisNames, metricNames := slices.Sorted(maps.Keys(axes)), slices.Sorted(maps.Keys(metrics))
	w := csv.NewWriter(to)
	w.Write(csvColumns(axisNames, metricNames))
	for _, j := range r.Jobs {
		row := []string{j.Address, j.Phase}
		for _, k := range axisNames {
			row = append(row, j.Axes[k])
		}
		row = append(row, j.Status, j.Class, strconv.Itoa(j.Attempts), j.Backend, number(j.Seconds), number(j.Planned), number(j.CPU), number(float64(j.MaxRSS)), number(float64(j.GPUMax)), stamp(j.Started), stamp(j.Ended))
		for _, k := range metricNames {
			row = append(row, plainJSON(j.Metrics[k]))
		}
		w.Write(row)
	}
	w.Flush()
	return w.Error()
}

// csvColumns names each column once: an axis or a metric with the name of an earlier column
// gets its kind as a prefix.
func csvColumns(axes, metrics []string) []string {
	own := []string{"status", "class", "attempts", "backend", "seconds", "planned_seconds", "cpu_seconds", "max_rss", "gpu_max_mem", "started", "ended"}
	out := []string{"address", "phase"}
	for _, k := range axes {
		if slices.Contains(out[:2], k) || slices.Contains(own, k) {
			k = "axis." + k
		}
		out = append(out, k)
	}
	out = append(out, own...)
	for _, k := range metrics {
		if slices.Contains(out, k) {
			k = "metric." + k
		}
		out = append(out, k)
	}
	return out
}

// number leaves a cell empty for an unknown value.
func number(f float64) string {
	if f < 0 {
		return ""
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func plainJSON(b json.RawMessage) string {
	var s string
	if json.Unmarshal(b, &s) == nil {
		return s
	}
	return string(b)
}
