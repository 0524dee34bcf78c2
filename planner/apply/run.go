package apply

import "context"

// Run applies a plan under the lease that the session holds. When ctx ends,
// it stops driving and leaves jobs alone; the outcome says what still runs.
func Run(ctx context.Context, c Config) (Outcome, error) { return Outcome{}, nil }
