package syntax

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"brackets": strings.Repeat("[", 1000), "chain": "a = 1" + strings.Repeat("+1", 100_000), "nots": "a = " + strings.Repeat("!", 100_000) + "true",
		"indices": "a = b" + strings.Repeat("[c]", 100_000), "ifs": strings.Repeat("%{ if true }\n", 100_000), "parens": "a = (1\n" + strings.Repeat("+1\n", 100_000) + ")",
	} {
		if CheckText([]byte(src)) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := CheckText([]byte(strings.Repeat("a = \"x ${b.c[1]} y\"\n", 100_000))); err != nil {
		t.Error(err)
	}
}

func TestBytesThatAreNoText(t *testing.T) {
	t.Parallel()
	if err := CheckText([]byte("é = 1\nb = \"\xff\"\n")); err == nil || err.Error() != "line 2: the byte 0xff is not valid UTF-8" {
		t.Error(err)
	}
}
