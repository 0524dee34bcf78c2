package site

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/subprocess"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
)

const (
	secretTimeout = 30 * time.Second // for a command that gives a secret
	secretMax     = 1 << 20          // bytes
)

// Secret reads a secret where it lives: a variable of this process, a file,
// or a command's output. A final newline is not part of it. The error never
// holds any of the value. A relative path begins at dir, the campaign's folder, where
// commands run, too.
func Secret(dir string, s lang.Secret) (string, error) {
	switch {
	case s.Env != "":
		v := os.Getenv(s.Env)
		if v == "" { // an empty secret is a forgotten one
			return "", fmt.Errorf("the variable %s is not set, or is empty", s.Env)
		}
		return v, nil
	case s.File != "":
		return secretFile(dir, s.File)
	case len(s.Command) > 0:
		return secretCommand(dir, s.Command)
	}
	return "", errors.New("it has no source: give env, file or command")
}

// secretPath is where the file of a secret is.
func secretPath(dir, path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return filepath.Join(dir, path), nil
	}
	home, err := os.UserHomeDir()
	return home + "/" + rest, err
}

func secretFile(dir, path string) (string, error) {
	path, err := secretPath(dir, path)
	if err != nil {
		return "", err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return clean(b)
}

// toldMax is the most of a program's last error line that is shown, columns.
const toldMax = 160

func secretCommand(dir string, argv []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), secretTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out, told bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &told
	err := subprocess.Leave(cmd) // an agent of its own may keep the store open
	if ctx.Err() != nil {
		return "", fmt.Errorf("%s did not answer within %s", argv[0], secretTimeout)
	}
	if err != nil {
		text := strings.TrimSpace(told.String())
		if value := strings.TrimSpace(out.String()); value != "" {
			text = strings.ReplaceAll(text, value, "(the secret)")
		}
		if line := term.Fit(term.CleanLine(text[strings.LastIndex(text, "\n")+1:]), toldMax); line != "" {
			err = fmt.Errorf("%w: %s", err, line)
		}
		return "", fmt.Errorf("run %s: %w", argv[0], err)
	}
	return clean(out.Bytes())
}

func clean(b []byte) (string, error) {
	if len(b) > secretMax {
		return "", errors.New("it is larger than 1 MiB")
	}
	if strings.ContainsRune(string(b), 0) {
		return "", errors.New("it holds a NUL byte")
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

// Readable says why a secret could not be read when a job is submitted: a variable
// that is not set, or a file or a program that is not there. It reads no value of
// a file and runs nothing.
func Readable(dir string, s lang.Secret) error {
	switch {
	case s.Env != "" || len(s.Command) == 0 && s.File == "":
		_, err := Secret(dir, s)
		return err
	case s.File != "":
		path, err := secretPath(dir, s.File)
		if err == nil {
			_, err = os.Stat(path)
		}
		return err
	}
	_, err := exec.LookPath(s.Command[0])
	return err
}
