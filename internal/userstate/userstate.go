// Package userstate finds the folder in which muster keeps what belongs to a user and to no
// campaign.
package userstate

import "path/filepath"

// Dir is muster's part of the user's state folder, by the XDG Base Directory Specification 0.8,
// which ignores relative paths; "" where neither XDG_STATE_HOME nor HOME names one. getenv looks
// variables up.
func Dir(getenv func(string) string) string {
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "muster")
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "muster")
	}
	return ""
}
