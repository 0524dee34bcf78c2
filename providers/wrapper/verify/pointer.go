package verify

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// pointed is the value at a JSON pointer, as it belongs in the document.
func pointed(data []byte, pointer string) (string, error) {
	if pointer != "" && pointer[0] != '/' {
		return "", fmt.Errorf("json: %q is not a JSON pointer: one begins with /", pointer)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return "", errors.New("json: the file is empty")
	}
	value := json.RawMessage(nulls(data))
	if !json.Valid(value) {
		return "", errors.New("json: the file is not JSON")
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
			return "", fmt.Errorf("the value holds %s, which is not a number", word)
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
	return nil, fmt.Errorf("there is no %q: a single value is", token)
}

// pythonMarks replace the words that Python's json.dump writes and JSON lacks, so that the
// rest of such a file can still be read. A noncharacter distinguishes them from any text.
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
