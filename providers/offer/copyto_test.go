package offer

import (
	"strings"
	"testing"
)

func TestParseCopyTo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]CopyTo{
		"ssh://ada@backup.example/ck":       {SSH: true, User: "ada", Host: "backup.example", Folder: "/ck"},
		"ssh://ada@backup.example:2222/~/c": {SSH: true, User: "ada", Host: "backup.example", Port: "2222", Folder: "/~/c"},
		"s3://bucket":                       {Host: "bucket", Folder: "/"},
		"s3://bucket/a/../b/":               {Host: "bucket", Folder: "/b"},
	} {
		if got, err := ParseCopyTo(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                          "muster copies to",
		"/backup":                   "muster copies to",
		"rsync://a@b/c":             `not to "rsync://"`,
		"ssh://backup/ck":           "ssh://USER@HOST/FOLDER",
		"ssh://ada@backup":          "ssh://USER@HOST/FOLDER",
		"ssh://ada@backup/":         "ssh://USER@HOST/FOLDER",
		"ssh://ada@backup/~":        "ssh://USER@HOST/FOLDER",
		"ssh://ada:secret@b/c":      "it has a password in it",
		"s3://KEY@bucket/c":         "s3://BUCKET",
		"s3:///c":                   "s3://BUCKET",
		"s3://bucket/c?region=x":    "no ?",
		"ssh://ada@backup/ck\x00\n": "it is not an address",
	} {
		_, err := ParseCopyTo(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
