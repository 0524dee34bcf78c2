package verify

import (
	"bytes"
	"cmp"
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

// ReadMetric reads a metric from the file at path, which must be the output
// out and have passed. The value is JSON text: a JSON pointer (RFC 6901) gives
// it as it stands, a column of a CSV's last row or the first group of a
// regular expression's last match as a number where it is one, else as text.
// NaN and infinities, which JSON lacks, are told as an error.
func ReadMetric(m providers.Metric, out offer.Output, path string) offer.Metric {
	text, err := readMetric(m, out, path)
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

var numberText = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)

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

func notNumber(s string) error {
	return fmt.Errorf("the value is %s, which is no number: the computation diverged", s)
}

// pointed is the value at a JSON pointer, as it stands in the document.
func pointed(data []byte, pointer string) (string, error) {
	if pointer != "" && pointer[0] != '/' {
		return "", fmt.Errorf("json: %q is no JSON pointer: it begins with /", pointer)
	}
	value := json.RawMessage(nulls(data))
	if !json.Valid(value) {
		return "", errors.New("json: the file is no JSON")
	}
	for done, rest := "", pointer; rest != ""; {
		token, after, more := strings.Cut(rest[1:], "/")
		var err error
		if value, err = child(value, unpoint.Replace(token)); err != nil {
			return "", fmt.Errorf("json: %s in %s", err, cmp.Or(done, "the document"))
		}
		done += "/" + token
		if rest = ""; more {
			rest = "/" + after
		}
	}
	for word, mark := range pythonMarks {
		if bytes.Equal(bytes.TrimSpace(value), []byte(mark)) {
			return "", notNumber(word)
		}
		if bytes.Contains(value, []byte(mark)) {
			return "", fmt.Errorf("the value holds %s, which is no number", word)
		}
	}
	var out bytes.Buffer
	if err := json.Compact(&out, value); err != nil {
		return "", fmt.Errorf("json: %w", err)
	}
	return out.String(), nil
}

// unpoint: RFC 6901, section 4.
var unpoint = strings.NewReplacer("~1", "/", "~0", "~")

// child is one step into a value.
func child(value json.RawMessage, token string) (json.RawMessage, error) {
	switch trimmed := bytes.TrimSpace(value); trimmed[0] {
	case '{':
		var m map[string]json.RawMessage
		if err := json.Unmarshal(value, &m); err != nil {
			return nil, err
		}
		if v, ok := m[token]; ok {
			return v, nil
		}
		return nil, fmt.Errorf("there is no member %q", token)
	case '[':
		var list []json.RawMessage
		if err := json.Unmarshal(value, &list); err != nil {
			return nil, err
		}
		n, err := strconv.Atoi(token)
		if err != nil || n < 0 || n >= len(list) || strconv.Itoa(n) != token {
			return nil, fmt.Errorf("there is no element %q among %d", token, len(list))
		}
		return list[n], nil
	}
	return nil, fmt.Errorf("there is no %q: a single value stands", token)
}

// pythonMarks stand for the words that Python's json.dump writes and JSON
// lacks, so that the rest of such a file can still be read. A noncharacter
// keeps them from being anybody's text.
var pythonMarks = map[string]string{
	"NaN": "\"\uFFFFNaN\"", "Infinity": "\"\uFFFFInfinity\"", "-Infinity": "\"\uFFFF-Infinity\"",
}

// nulls puts pythonMarks for those words outside of strings; it returns data
// itself if there are none.
func nulls(data []byte) []byte {
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return data
	}
	var out bytes.Buffer
	inText := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inText && c == '\\' && i+1 < len(data):
			out.WriteByte(c)
			i++
		case c == '"':
			inText = !inText
		case !inText:
			if word := pythonWord(data[i:]); word != "" {
				out.WriteString(pythonMarks[word])
				i += len(word) - 1
				continue
			}
		}
		out.WriteByte(data[i])
	}
	return out.Bytes()
}

func pythonWord(b []byte) string {
	for _, w := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(b, []byte(w)) {
			return w
		}
	}
	return ""
}
