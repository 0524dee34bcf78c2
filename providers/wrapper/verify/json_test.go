package verify

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// FuzzJSON compares the scanner with encoding/json, whole and byte by byte.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e+3,"\u00e9",true,false,null]}`, `"é"`, `[]`, `{}`, ` 0 `, `01`, `NaN`, `[1,]`, `{"a"}`, "\"\x80\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		one := scanner{buf: data, end: len(data)}
		two := scanner{r: iotest.OneByteReader(bytes.NewReader(data)), buf: make([]byte, 8)}
		want := json.Valid(data) && utf8.Valid(data)
		for _, s := range []*scanner{&one, &two} {
			err := s.value()
			if err == nil {
				if _, end := s.skip(); end == nil {
					err = s.unexpected(' ')
				}
			}
			if (err == nil) != want {
				t.Fatalf("%q: %v, want valid %t", data, err, want)
			}
		}
	})
}
