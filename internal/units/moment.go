package units

import "time"

// FormatTime is a moment to the minute, in the zone of t, which it names:
// "2026-10-01 09:00 UTC". Plans use UTC, so that they are the same everywhere;
// answers of other commands use the zone of the machine.
func FormatTime(t time.Time) string { return t.Format("2006-01-02 15:04 MST") }

// FormatSecond is FormatTime to the second.
func FormatSecond(t time.Time) string { return t.Format("2006-01-02 15:04:05 MST") }
