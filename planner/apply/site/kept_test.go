package site

import "testing"

func TestWithoutASensitiveValue(t *testing.T) {
	t.Parallel()
	for pointer, want := range map[string]string{
		"/token":     `{"a/b":2,"list":["x","y"],"ssh":{"host":"h","key":"k"}}`,
		"/ssh/key":   `{"a/b":2,"list":["x","y"],"ssh":{"host":"h"},"token":"t"}`,
		"/list/1":    `{"a/b":2,"list":["x",null],"ssh":{"host":"h","key":"k"},"token":"t"}`,
		"/a~1b":      `{"list":["x","y"],"ssh":{"host":"h","key":"k"},"token":"t"}`,
		"/not/there": `{"a/b":2,"list":["x","y"],"ssh":{"host":"h","key":"k"},"token":"t"}`,
	} {
		got := without([]byte(`{"a/b":2,"list":["x","y"],"ssh":{"host":"h","key":"k"},"token":"t"}`), pointer)
		if string(got) != want {
			t.Errorf("without %s: %s", pointer, got)
		}
	}
	if got := without([]byte(`{"token":`), "/token"); got != nil {
		t.Errorf("a broken document is kept: %s", got)
	}
}
