package verify

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

const (
	// maxMetricFile bounds a file that is read into memory for a metric, in
	// bytes. A CSV streams and knows no bound.
	maxMetricFile = 64 << 20
	// maxMetric bounds one value, in bytes.
	maxMetric = 64 << 10
)

// ReadMetric reads a metric from the file at path, which must be the output out and have
// passed. The value is JSON text. A JSON pointer (RFC 6901) gives the value unchanged; a
// column of a CSV's last row, or the first group of a regular expression's last match, gives a
// number where it is one, else text. NaN and infinities, which JSON lacks, are an error.
func ReadMetric(m providers.Metric, out offer.Output, path string) offer.Metric {
	return metricOf(readMetric(m, out, path))
}

func metricOf(text string, err error) offer.Metric {
	if err != nil {
		return offer.Metric{Error: term.CleanLine(err.Error())}
	}
	return offer.Metric{Text: text}
}

func readMetric(m providers.Metric, out offer.Output, path string) (string, error) {
	switch {
	case !out.OK:
		return "", fmt.Errorf("output %q did not pass", out.Name)
	case out.Files > 0:
		return "", fmt.Errorf("output %q is a set of files; a metric is read from one", out.Name)
	}
	f, err := open(path)
	if err != nil {
		return "", fmt.Errorf("output %q: %w", out.Name, err)
	}
	defer f.close()
	if f.mark.Size != out.Size || f.mark.MTime != out.MTime {
		return "", fmt.Errorf("output %q: %w", out.Name, errChanged)
	}
	text, err := extract(m, f)
	if err == nil && len(text) > maxMetric {
		err = fmt.Errorf("the value has %d bytes, at most %d are kept", len(text), maxMetric)
	}
	return text, err
}

func extract(m providers.Metric, f *file) (string, error) {
	if m.Column != "" {
		return lastCell(io.NewSectionReader(f, 0, f.mark.Size), m.Column)
	}
	data, err := f.content()
	if err != nil {
		return "", err
	}
	if m.Regex != "" {
		return lastGroup(data, m.Regex)
	}
	return pointed(data, m.JSON)
}

// content is all of a file, within bounds.
func (f *file) content() ([]byte, error) {
	if f.data != nil {
		return f.data, nil
	}
	if f.mark.Size > maxMetricFile {
		return nil, fmt.Errorf("the file has %d bytes, a metric is read from at most %d", f.mark.Size, maxMetricFile)
	}
	return os.ReadFile(f.path)
}

func lastGroup(data []byte, pattern string) (string, error) {
	re, err := regexp.Compile("(?m)" + pattern)
	if err != nil {
		return "", fmt.Errorf("regex: %w", err)
	}
	var last []int
	if all := re.FindAllSubmatchIndex(data, -1); all != nil {
		last = all[len(all)-1]
	}
	switch {
	case last == nil:
		return "", errors.New("regex: nothing in the file matches")
	case len(last) == 2:
		return valueText(string(data[last[0]:last[1]]))
	case last[2] < last[0]:
		return "", errors.New("regex: its first group is not in the match")
	}
	return valueText(string(data[last[2]:last[3]]))
}

// lastCell is the column's field in the last record.
func lastCell(r io.Reader, column string) (string, error) {
	c := newCSV(r)
	header, err := c.Read()
	if err != nil {
		return "", errors.New("column: the file has no header")
	}
	at := slices.IndexFunc(header, func(h string) bool { return strings.TrimSpace(h) == column })
	if at < 0 {
		return "", fmt.Errorf("column: there is no %q among %s", column, strings.Join(header, ", "))
	}
	cell, rows := "", 0
	for ; ; rows++ {
		record, err := c.Read()
		switch {
		case err == io.EOF && rows == 0:
			return "", errors.New("column: there is no row below the header")
		case err == io.EOF:
			return valueText(cell)
		case err != nil && !errors.Is(err, csv.ErrFieldCount):
			return "", fmt.Errorf("column: %w", csvError(err))
		case at >= len(record):
			return "", fmt.Errorf("column: row %d is too short", rows+1)
		}
		cell = record[at]
	}
}

var numberText = lazyregexp.New(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)

// valueText makes JSON of a field: a number where it is one.
func valueText(s string) (string, error) {
	s = strings.TrimSpace(s)
	if json.Valid([]byte(s)) && numberText.MatchString(s) {
		return s, nil
	}
	if numberText.MatchString(s) { // "+1", ".5", "007"
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return "", fmt.Errorf("%s is beyond the range of numbers", s)
		}
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	}
	if v, err := strconv.ParseFloat(s, 64); err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		return "", notNumber(s)
	}
	text, err := json.Marshal(s)
	return string(text), err
}

// notNumberError is the error of a value that JSON lacks.
type notNumberError string

func (e notNumberError) Error() string {
	return fmt.Sprintf("the value is %s, which is not a number: the computation diverged", string(e))
}

func notNumber(s string) error { return notNumberError(s) }
