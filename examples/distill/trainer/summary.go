package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

// A result is the output of a student.
type result struct {
	Teacher int   `json:"teacher"` // hidden units of its teacher
	Hidden  int   `json:"hidden"`
	Seed    int64 `json:"seed"`
	Final   final `json:"final"`
}

type final struct {
	Loss      float64 `json:"loss"`
	Accuracy  float64 `json:"accuracy"`
	Agreement float64 `json:"agreement"` // share of flowers on which it agrees with its teacher
}

// A mean is over the seeds of one teacher and student size.
type mean struct {
	teacher, hidden, n  int
	accuracy, agreement float64
}

func summary(args []string) error {
	fs := flag.NewFlagSet("summary", flag.ExitOnError)
	list := fs.String("list", "", "file with one result a line")
	table := fs.String("table", "", "table to write, CSV")
	plot := fs.String("plot", "", "plot to write, SVG")
	fs.Parse(args)
	means, err := readMeans(*list)
	if err != nil {
		return err
	}
	if err := os.WriteFile(*table, []byte(csvTable(means)), 0o644); err != nil {
		return err
	}
	fmt.Print(csvTable(means))
	return os.WriteFile(*plot, []byte(svg(means)), 0o644)
}

func readMeans(list string) ([]mean, error) {
	f, err := os.Open(list)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	byKey := map[[2]int]*mean{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		b, err := os.ReadFile(lines.Text())
		if err != nil {
			return nil, err
		}
		var r result
		if err := json.Unmarshal(b, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", lines.Text(), err)
		}
		key := [2]int{r.Teacher, r.Hidden}
		if byKey[key] == nil {
			byKey[key] = &mean{teacher: r.Teacher, hidden: r.Hidden}
		}
		m := byKey[key]
		m.n++
		m.accuracy += r.Final.Accuracy
		m.agreement += r.Final.Agreement
	}
	var out []mean
	for _, m := range byKey {
		m.accuracy /= float64(m.n)
		m.agreement /= float64(m.n)
		out = append(out, *m)
	}
	slices.SortFunc(out, func(a, b mean) int { return (a.teacher-b.teacher)*1000 + a.hidden - b.hidden })
	return out, nil
}

func csvTable(means []mean) string {
	var b strings.Builder
	b.WriteString("teacher,student,seeds,accuracy,agreement\n")
	for _, m := range means {
		fmt.Fprintf(&b, "%d,%d,%d,%.4f,%.4f\n", m.teacher, m.hidden, m.n, m.accuracy, m.agreement)
	}
	return b.String()
}

// svg draws accuracy over student size, a line for each teacher.
func svg(means []mean) string {
	const w, h, pad = 480, 300, 48
	colors := []string{"#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756"}
	low, high, largest := 1.0, 0.0, 1
	for _, m := range means {
		low, high, largest = min(low, m.accuracy), max(high, m.accuracy), max(largest, m.hidden)
	}
	if high == low {
		low -= 0.01
	}
	x := func(hidden int) float64 { return pad + float64(hidden)/float64(largest)*(w-2*pad) }
	y := func(a float64) float64 { return h - pad - (a-low)/(high-low)*(h-2*pad) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n", w, h)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/><text x="%d" y="20" font-size="13">Accuracy of students by size and teacher</text>`+"\n", w, h, pad)
	fmt.Fprintf(&b, `<path d="M%d %dV%dH%d" fill="none" stroke="#888"/>`+"\n", pad, pad, h-pad, w-pad)
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%.2f</text><text x="%d" y="%d" text-anchor="end">%.2f</text><text x="%d" y="%d">hidden units</text>`+"\n", pad-6, h-pad, low, pad-6, pad+4, high, w/2-30, h-12)
	teacher, line, color := -1, "", -1
	flush := func() {
		if line != "" {
			c := colors[color%len(colors)]
			fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/><text x="%d" y="%d" fill="%s">teacher %d</text>`+"\n", line, c, w-pad-62, pad+16*color, c, teacher)
		}
	}
	for _, m := range means {
		if m.teacher != teacher {
			flush()
			teacher, line, color = m.teacher, "", color+1
		}
		line += fmt.Sprintf("%.1f,%.1f ", x(m.hidden), y(m.accuracy))
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x(m.hidden), y(m.accuracy), colors[color%len(colors)])
	}
	flush()
	b.WriteString("</svg>\n")
	return b.String()
}
